"""Tables: aligned, without the columns for which a terminal has no room."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ...texts import printable
from .screen import Screen, shorten

_BETWEEN = 2  # columns of the terminal between two of the table


class Cell(NamedTuple):
    """Some text and how it looks: style names with spaces between, "bold green"."""

    text: str
    style: str = ""


#: Of an answer that is near enough, or not.
VERDICTS = {True: Cell("✓", "green"), False: Cell("✗ too far", "red")}


@dataclass(frozen=True)
class Column:
    """A column: its title, and a cell for each row."""

    title: str
    cells: Sequence[str | Cell]
    left: bool = False  # aligned to the left
    style: str = ""  # of the cells that have none
    leaves: int = 0  # in a narrow terminal the column with the highest number is dropped first

    @cached_property
    def styled(self) -> list[Cell]:
        """The cells as they are printed, in the column's style where they have none."""
        cells = (Cell(cell, self.style) if isinstance(cell, str) else cell for cell in self.cells)
        return [Cell(printable(cell.text, keep=""), cell.style) for cell in cells]

    @cached_property
    def width(self) -> int:
        """The width of the widest cell."""
        return max(len(text) for text in (self.title, *(cell.text for cell in self.styled)))


def table(screen: Screen, columns: Sequence[Column], margin: str = "") -> Iterator[str]:
    """The lines of a table as wide as the screen, its first column's text cut if it must be."""
    room = screen.columns - len(margin)
    columns = fitting(columns, room)
    widths = [column.width for column in columns]
    widths[0] = max(1, widths[0] - max(0, _width(columns) - room))
    if any(column.title for column in columns):
        titles = [Cell(column.title, "dim") for column in columns]
        yield margin + _line(screen, columns, widths, titles)
    for cells in zip(*(column.styled for column in columns), strict=True):
        yield margin + _line(screen, columns, widths, cells)


def _line(
    screen: Screen, columns: Sequence[Column], widths: Sequence[int], cells: Sequence[Cell]
) -> str:
    parts = []
    for column, width, cell in zip(columns, widths, cells, strict=True):
        text = shorten(cell.text, width)
        painted, blank = screen.paint(text, cell.style), " " * (width - len(text))
        parts.append(painted + blank if column.left else blank + painted)
    return (" " * _BETWEEN).join(parts).rstrip()


def fitting(columns: Sequence[Column], room: int) -> list[Column]:
    """The columns that fit; one with only dashes is always left out."""
    kept = [c for c in columns if not c.leaves or any(cell.text not in "-" for cell in c.styled)]
    while _width(kept) > room and any(column.leaves for column in kept):
        kept.remove(max(kept, key=lambda column: column.leaves))
    return kept


def _width(columns: Sequence[Column]) -> int:
    return sum(column.width for column in columns) + _BETWEEN * (len(columns) - 1)
