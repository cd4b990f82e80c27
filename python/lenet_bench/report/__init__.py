"""Draw a result: in a terminal, as JSON, CSV and Markdown. Nothing is measured here."""

import json
from collections.abc import Iterator, Sequence

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
