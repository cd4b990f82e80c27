"""A comparison in the requested form: for the terminal, JSON, CSV or Markdown."""

import json
from collections.abc import Iterator, Sequence
from typing import Literal

from ..results import Result, digest
from . import markdown, spreadsheet
from .terminal.comparison import comparison as in_terminal
from .terminal.screen import Screen


def comparison(
    results: Sequence[Result],
    form: str | None,
    screen: Screen,
    named: Sequence[str] = (),
    *,
    unfolded: bool = False,
    titles: Sequence[str] = (),
) -> Iterator[str]:
    """The lines of these results in a form: json, csv, markdown or, for None, the terminal's.

    JSON has an object for each result; CSV is one table of all. Several results have titles.
    """
    if form == "csv":
        yield from spreadsheet.comparison(results)
        return
    for number, result in enumerate(results):
        if form == "json":
            yield json.dumps(digest(result), indent=2)
            continue
        if number:
            yield ""
        if len(results) > 1 and titles:
            title = titles[number]
            yield from [f"## {markdown.escaped(title)}", ""] if form else screen.wrap(title, "bold")
        if form == "markdown":
            yield from markdown.comparison(result, named)
        else:
            yield from in_terminal(result, screen, named, unfolded=unfolded)


def render(
    *results: Result,
    form: Literal["text", "json", "csv", "markdown"] = "text",
    columns: int = 100,
) -> str:
    """Some results as `compare` and `report` print them, without colours."""
    screen = Screen(columns, colour=False)
    lines = comparison(results, None if form == "text" else form, screen, unfolded=True)
    return "".join(f"{line}\n" for line in lines)
