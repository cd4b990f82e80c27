"""Tables: aligned by rich, without the columns for which a terminal has no room."""

from __future__ import annotations  # rich is imported once there is a table to print

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ...texts import printable
from .screen import Screen

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text as RichText

_BETWEEN = 2  # columns of the terminal between two of the table
_SHORTEST_BAR, _LONGEST_BAR = 8, 30
_SCALE = 50  # times the shortest: longer bars are cut, so that the shortest is visible


class Cell(NamedTuple):
    """Some text and how it looks: style names with spaces between, "bold green"."""

    text: str
    style: str = ""


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
        """The cells, in the column's style where they have none."""
        return [Cell(cell, self.style) if isinstance(cell, str) else cell for cell in self.cells]

    @cached_property
    def width(self) -> int:
        """The width of the widest cell."""
        return max(len(text) for text in (self.title, *(cell.text for cell in self.styled)))


def table(
    screen: Screen,
    columns: Sequence[Column],
    *,
    bars: Sequence[float | None] = (),
    headings: Mapping[int, str] = MappingProxyType({}),
    margin: str = "",
) -> Iterator[str]:
    """The lines of a table as wide as the screen, its first column's text folded if it must be.

    `bars` has a figure for each row, drawn where there is room; `headings` stand above the rows of
    those numbers.
    """
    from rich.table import Table

    room = screen.columns - len(margin)
    wider = max((len(heading) - columns[0].width for heading in headings.values()), default=0)
    free = room - max(0, wider)  # headings stand in the first column
    columns = fitting(columns, free)
    left = free - _width(columns) - _BETWEEN
    known = [figure for figure in bars if figure]
    if known and left >= _SHORTEST_BAR:
        drawn = _bars(screen, bars, min(left, _LONGEST_BAR))
        columns = [*columns, Column("", drawn, left=True, style="cyan")]
    drawing = Table(box=None, pad_edge=False, padding=(0, _BETWEEN, 0, 0), header_style="dim")
    drawing.show_header = any(column.title for column in columns)
    for number, column in enumerate(columns):
        drawing.add_column(
            _rich(column.title),
            justify="left" if column.left else "right",
            no_wrap=number > 0 and not column.left,
            overflow="fold",
        )
    for number, cells in enumerate(zip(*(column.styled for column in columns), strict=True)):
        if number in headings:
            drawing.add_row(_rich(headings[number], "bold cyan"))
        drawing.add_row(*(_rich(*cell) for cell in cells))
    yield from (f"{margin}{line}".rstrip() for line in lines_of(drawing, screen, room))


def lines_of(drawing: Table, screen: Screen, columns: int) -> Iterator[str]:
    from rich.console import Console

    text = io.StringIO()
    console = Console(
        file=text,
        width=columns,
        force_terminal=screen.colour,
        color_system="standard" if screen.colour else None,
        no_color=not screen.colour,
        legacy_windows=False,
    )
    console.print(drawing)
    yield from (line.rstrip() for line in text.getvalue().splitlines())


def fitting(columns: Sequence[Column], room: int) -> list[Column]:
    """The columns that fit; one with only dashes is always left out."""
    kept = [c for c in columns if not c.leaves or any(cell.text not in "-" for cell in c.styled)]
    while _width(kept) > room and any(column.leaves for column in kept):
        kept.remove(max(kept, key=lambda column: column.leaves))
    return kept


def _width(columns: Sequence[Column]) -> int:
    return sum(column.width for column in columns) + _BETWEEN * (len(columns) - 1)


def _bars(screen: Screen, figures: Sequence[float | None], columns: int) -> list[str]:
    """A bar for each figure, proportional to it; one beyond the scale ends in an arrow."""
    known = [figure for figure in figures if figure]
    longest = min(max(known), _SCALE * min(known))
    lengths = [(figure or 0.0) / longest for figure in figures]
    return [screen.bar(one, columns - 1) + ("▸" if one > 1 else "") for one in lengths]


def _rich(text: str, style: str = "") -> RichText:
    from rich.text import Text as RichText

    return RichText(printable(text, keep=""), style)
