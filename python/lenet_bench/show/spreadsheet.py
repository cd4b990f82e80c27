"""Comparisons as CSV (RFC 4180), a row for each backend with its machine and date."""

import csv
import io
from collections.abc import Iterator, Sequence

from ..results import Result, rows
from .machine import processor
from .terminal.screen import plain


def comparison(results: Sequence[Result]) -> Iterator[str]:
    """The lines, a header first. A missing figure is an empty cell."""
    found = [
        {
            "started": result.started,
            "machine": processor(result.machine),
            "threads": result.rules.threads,
            **row,
        }
        for result in results
        for row in rows(result)
    ]
    text = io.StringIO()
    if found:
        writer = csv.DictWriter(text, list(found[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)
    yield from plain(text.getvalue()).split("\n")[:-1]
