"""Tables and text as Markdown."""

import re
from collections.abc import Iterable, Iterator, Sequence

from ..texts import printable

_MEANS_SOMETHING = re.compile(r"([\\*\[\]<>|])")


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
    return _MEANS_SOMETHING.sub(r"\\\1", printable(" ".join(text.split())))


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(escaped, cells))} |"
