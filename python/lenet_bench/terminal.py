"""Draw in a terminal: bars, tables and pictures, in what the stream at hand can show."""

from __future__ import annotations  # NumPy is not imported to print a help page

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple, TextIO

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_DENSITIES = " .:-=+*#%@"
_EIGHTHS = " ▏▎▍▌▋▊▉"
_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_WITHOUT_TERMINAL = 80
_BETWEEN = "  "  # two columns of a table
_WIDEST_SPREAD = 50  # of bars to scale: the shortest of 24 columns is then half of one


class Text(NamedTuple):
    """Some text and how it looks: style names with spaces between, "bold green"."""

    text: str
    style: str = ""


@dataclass(frozen=True)
class Screen:
    """What a stream can show."""

    columns: int
    colour: bool
    unicode: bool

    @classmethod
    def of(cls, stream: TextIO) -> Screen:
        """The screen behind a stream; NO_COLOR and FORCE_COLOR decide over the colours."""
        return cls(
            columns=max(40, shutil.get_terminal_size((_WITHOUT_TERMINAL, 24)).columns),
            colour=_shows_colour(stream),
            unicode=_shows_blocks(stream),
        )

    def paint(self, text: str, style: str = "") -> str:
        """The text in that style, where the screen has colours."""
        if not (style and text and self.colour):
            return text
        return f"\x1b[{';'.join(_STYLES[word] for word in style.split())}m{text}\x1b[0m"

    def choose(self, fine: str, plain: str) -> str:
        """The fine spelling where the screen shows it, else the ASCII one."""
        return fine if self.unicode else plain

    def bar(self, fraction: float, columns: int) -> str:
        """A bar over that fraction of the columns."""
        fraction = min(max(fraction, 0.0), 1.0)
        if not self.unicode:
            return "#" * round(fraction * columns)
        eighths = round(fraction * columns * 8)
        whole, rest = divmod(eighths, 8)
        return "█" * whole + (_EIGHTHS[rest] if rest else "")

    def bars(self, values: Sequence[float], columns: int) -> list[str]:
        """Bars against the largest, twice as long for twice as much; empty ones where that fails.

        Beyond a certain spread most bars would be slivers. A logarithm would not mend that: it
        has no zero to begin at, so a bar's length would mean nothing.
        """
        largest, smallest = max(values), min(values)
        if not 0 < largest <= _WIDEST_SPREAD * smallest:
            return [""] * len(values)
        return [self.bar(value / largest, columns) for value in values]

    def wrap(self, text: str, style: str = "", *, hanging: str = "  ") -> list[str]:
        """Lines of the screen's width; a name with a hyphen, or an option, stays whole."""
        lines = wrap(text, self.columns, subsequent_indent=hanging, break_on_hyphens=False)
        return [self.paint(printable(line), style) for line in lines]

    def picture(self, image: NDArray[np.float32]) -> list[str]:
        """A picture from 0 (dark) to 1 (bright), an even number of rows: two of them to a line."""
        pairs = zip(image[::2].clip(0, 1), image[1::2].clip(0, 1), strict=True)
        if self.colour and self.unicode:
            return [_half_blocks(upper, lower) for upper, lower in pairs]
        return [_densities((upper + lower) / 2) for upper, lower in pairs]

    def table(self, rows: Sequence[Sequence[Text]], right: str = "") -> Iterator[str]:
        """Aligned lines; the letters of `right` ("lrr") say which columns are set to the right."""
        rows = [[Text(printable(cell.text), cell.style) for cell in row] for row in rows]
        widths = _widths(rows)
        for row in rows:
            cells = []
            for number, (cell, width) in enumerate(zip(row, widths, strict=True)):
                to_right = right[number : number + 1] == "r"
                text = cell.text.rjust(width) if to_right else cell.text.ljust(width)
                cells.append(self.paint(text, cell.style))
            yield _BETWEEN.join(cells).rstrip()


def table_width(rows: Iterable[Sequence[Text]]) -> int:
    """How much of a screen `Screen.table` takes for these rows."""
    widths = _widths(rows)
    return sum(widths) + len(_BETWEEN) * (len(widths) - 1)


def printable(name: str) -> str:
    """A file's name, or one in it, that cannot break a line, move the cursor or fail to encode."""
    return "".join(character if character.isprintable() else "�" for character in name)


def shorten(text: str, columns: int, ellipsis: str = "…") -> str:
    """The text within so many columns, its end kept: a path ends with what tells it apart."""
    if len(text) <= columns:
        return text
    return ellipsis + text[len(text) - columns + len(ellipsis) :]


def _widths(rows: Iterable[Sequence[Text]]) -> list[int]:
    return [max(len(cell.text) for cell in column) for column in zip(*rows, strict=True)]


def _half_blocks(upper: NDArray[np.float32], lower: NDArray[np.float32]) -> str:
    """Each cell's upper half is its character, its lower half the background."""
    cells = (f"\x1b[38;5;{_grey(u)};48;5;{_grey(v)}m▀" for u, v in zip(upper, lower, strict=True))
    return "".join(cells) + "\x1b[0m"


def _grey(value: float) -> int:
    return 232 + round(float(value) * 23)  # the 24 greys of the 256 colours


def _densities(values: NDArray[np.float32]) -> str:
    return "".join(_DENSITIES[round(float(value) * (len(_DENSITIES) - 1))] for value in values)


def _shows_colour(stream: TextIO) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


def _shows_blocks(stream: TextIO) -> bool:
    try:
        "█▏✓▸µ…".encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
