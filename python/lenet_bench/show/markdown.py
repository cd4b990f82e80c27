"""A comparison as Markdown, for documents and pull requests."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from ..results import Result, Row
from .rows import cells, rates, reduced_cells, refusals
from .sentences import (
    IN_LESS,
    absent,
    by_precision,
    conditions,
    failed,
    footnote,
    left_out,
    timed,
    without_median,
)
from .terminal.screen import plain

_LEFT = ("backend", "verdict", "computes in")
_MEANS_SOMETHING = re.compile(r"([\\*\[\]<>|])")


def comparison(result: Result, named: Sequence[str] = ()) -> Iterator[str]:
    """The lines of a document: what was measured, the table, what failed and every warning."""
    yield escaped(conditions(result))
    yield ""
    full, reduced = by_precision(timed(result))
    if full:
        yield from _ranked(full, cells)
    elif not reduced:
        yield "No backend could be timed."
    if full and reduced:
        yield ""
    if reduced:
        yield IN_LESS
        yield ""
        yield from _ranked(reduced, reduced_cells)
    if by_batch := rates(result):
        yield ""
        yield from table(by_batch[0], by_batch[1:], _LEFT)
    sentences = [f"{one.name}: {one.status}: {one.reason}" for one in failed(result, named)]
    sentences += refusals(result)
    sentences += filter(None, [without_median(result), left_out(result), footnote(result)])
    sentences += [f"warning: {warning}" for warning in result.warnings]
    sentences += filter(None, [absent(result, named)])
    yield ""
    yield from (f"- {escaped(sentence)}" for sentence in sentences)


def _ranked(rows: Sequence[Row], cells: Callable[[Row], dict[str, str]]) -> Iterator[str]:
    found = [(one.name, cells(one)) for one in rows]
    titles = ("backend", *found[0][1])
    yield from table(titles, ((name, *row.values()) for name, row in found), _LEFT)


def table(
    titles: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[str]
) -> Iterator[str]:
    """The lines of a table without its empty columns, right-aligned but for those on the `left`."""
    columns = zip(titles, *rows, strict=True)
    filled = [(title, *cells) for title, *cells in columns if any(cell != "-" for cell in cells)]
    header, *lines = zip(*filled, strict=True)
    yield _line(header)
    yield f"|{'|'.join('---' if title in left else '--:' for title in header)}|"
    yield from map(_line, lines)


def escaped(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return _MEANS_SOMETHING.sub(r"\\\1", plain(" ".join(text.split())))


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(escaped, cells))} |"
