"""What figures with a row a rung share: names on the left, or above where the page is narrow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..markup import Markup, element
from ..measured import Entry, Row, Series
from .scales import Scale, across
from .svg import LINE, drawing, fit, label, mark, text_width

#: Draws a legend's mark around a point.
Painter = Callable[[float, float], Markup]

_NARROW = 500.0
_WIDEST_NAME = 250.0
_OVERHANG = 8.0  # beyond the end of the axis: half a dot, half a number
_MANY = 14  # lanes from which the axis is written above them too


@dataclass(frozen=True)
class Lane:
    """The place of one entry."""

    entry: Entry
    y: float  # its middle
    thickness: float


@dataclass(frozen=True)
class Lanes:
    """The places of all entries, and between which x they are drawn."""

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float
    lanes: tuple[Lane, ...]
    furniture: tuple[Markup, ...]  # names, values, legend

    def draw(
        self, scale: Scale, axis: str, spell: Callable[[float], str], marks: Sequence[Markup]
    ) -> Markup:
        """The figure: axis, furniture, marks."""
        twice = len(self.lanes) > _MANY
        grid = across(scale, self.top, self.bottom, spell, twice=twice)
        title = label(self.right, self.bottom + 29, fit(axis, self.width - 10), "end soft small")
        return drawing(self.width, self.height, [*grid, *marks, *self.furniture, title])


def lanes(
    rows: Sequence[Row],
    values: Callable[[Entry], str],
    width: float,
    *,
    legend: Sequence[Markup] = (),
    legend_height: float = 0.0,
    marked: bool = True,
    head: str = "",
    thickness: float | None = None,
) -> Lanes:
    """Lay the rows out; each lane has its value written on the right.

    `head` says what these are. Where there are several series each lane has its mark, unless it
    is of none (not `marked`).
    """
    entries = [entry for row in rows for entry in row]
    series = {entry.series.number: entry.series for entry in entries}
    several = marked and len(series) > 1
    narrow = width < _NARROW
    longest = max((text_width(row[0].name) for row in rows), default=0.0)
    names = 0.0 if narrow else min(longest, _WIDEST_NAME) + 12
    left = names + (16.0 if several else 2.0)
    widest = max([text_width(head), *(text_width(values(entry)) for entry in entries)])
    above = narrow and not several  # there the values stand beside the names
    right = width - (_OVERHANG if above else widest + 10)
    furniture = list(legend)
    y = legend_height
    if several:
        drawn, tall = series_legend([series[n] for n in sorted(series)], width, y)
        furniture += drawn
        y += tall
    if len(entries) > _MANY or (head and not above):
        y += 22.0
        furniture.append(label(width, y - 10, head, "end soft small"))
    y += 0.0 if len(entries) > _MANY else 6.0
    top = y
    placed = []
    thickness = thickness or (13.0 if several else 15.0)
    for row in rows:
        if narrow:
            room = width - (widest + 10) * above
            furniture.append(label(0, y + 9, fit(row[0].name, room), "strong"))
            y += 18.0
        height = (thickness + 3) * len(row)
        if not narrow:
            name = fit(row[0].name, _WIDEST_NAME)
            furniture.append(label(names - 12, y + 3 + height / 2, name, "end"))
            y += 3.0
        for entry in row:
            middle = y + (thickness + 3) / 2
            placed.append(Lane(entry, middle, thickness))
            value_y = middle - (thickness + 3) / 2 - 9 if above else middle
            furniture.append(label(width, value_y, values(entry), "end"))
            if several:
                furniture.append(mark(left - 9, middle, entry.series.number, size=3.5))
            y += thickness + 3
        y += 7.0 if narrow else 3.0
    return Lanes(width, y + 38, left, right, top, y, tuple(placed), tuple(furniture))


def series_legend(series: Sequence[Series], width: float, top: float) -> tuple[list[Markup], float]:
    """Each series' mark and name, in as many lines as they need; and the height of those."""
    return legend_of([(one.label, _painter(one)) for one in series], width, top)


def legend_of(
    items: Sequence[tuple[str, Painter]], width: float, top: float
) -> tuple[list[Markup], float]:
    """Marks with their names; the height that they take."""
    x, y = 0.0, top + LINE / 2
    drawn = []
    for name, draw in items:
        name = fit(name, width - 24)
        wide = text_width(name) + 34
        if x and x + wide - 16 > width:
            x, y = 0.0, y + LINE + 2
        drawn += [draw(x + 6, y), label(x + 16, y, name)]
        x += wide
    return drawn, y + LINE / 2 + 6 - top


def _painter(series: Series) -> Painter:
    return lambda x, y: mark(x, y, series.number, size=4)


def guides(placed: Lanes) -> Markup:
    """A dotted line from each name to its value, for the eye."""
    lines = (f"M{placed.left:.1f} {lane.y:.1f}H{placed.right:.1f}" for lane in placed.lanes)
    return element("path", d="".join(lines), class_="guide")
