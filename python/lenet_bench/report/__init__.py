"""Draw a result: in a terminal, as JSON, CSV and Markdown. Nothing is measured here."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from ..results import Result, digest
from ..terminal import Screen
from . import markdown, spreadsheet, terminal


def comparison(
    results: Sequence[Result], form: str | None, screen: Screen, named: Sequence[str] = ()
) -> Iterator[str]:
    """The lines of these results in a form: json, csv, markdown or, for None, the terminal's.

    JSON is an object a result; CSV is one table of them all.
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
        if form == "markdown":
            yield from markdown.comparison(result, named)
        else:
            yield from terminal.table(result, screen, named)


def render(
    *results: Result,
    form: Literal["text", "json", "csv", "markdown"] = "text",
    columns: int = 100,
) -> str:
    """Some results as `compare` and `report` print them, without colours."""
    screen = Screen(columns, colour=False, unicode=True)
    lines = comparison(results, None if form == "text" else form, screen)
    return "".join(f"{line}\n" for line in lines)


def write_report(results: Mapping[str, Result], path: str | os.PathLike[str]) -> None:
    """One page of some results, by the names that they shall have; it works without a network."""
    from .figures import figures
    from .measured import gather
    from .page import page
    from .page.file import write_page

    measured = gather(list(results.items()))
    write_page(Path(path), page(measured, figures(measured)))
