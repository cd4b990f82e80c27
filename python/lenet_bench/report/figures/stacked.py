"""Bars of parts, one after the other: what a sum is made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

from .. import units
from ..markup import Markup
from ..measured import Entry, Row
from .rows import Lane, Painter, lanes, legend_of
from .scales import Scale, linear
from .svg import bar, tipped

_LEAST = 0.4  # of a part that is drawn; a bar's largest always is
_GAP = 0.8  # between two parts, for those who see no colours
_NO_GAP = 3.0  # in parts that are smaller than this

#: The parts of an entry, in microseconds, in the order of their names.
Split = Callable[[Entry], Sequence[float]]


def stacked(
    rows: Sequence[Row], names: Sequence[str], split: Split, axis: str, width: float
) -> Markup:
    """A bar an entry; its sum is written on the right."""
    legend, height = legend_of([(name, _painter(n)) for n, name in enumerate(names)], width, 0)

    def total(entry: Entry) -> str:
        return units.time(sum(split(entry)))

    placed = lanes(rows, total, width, legend=legend, legend_height=height)
    longest = max(sum(split(entry)) for row in rows for entry in row)
    scale = linear(longest, placed.left, placed.right)
    bars = [_bars(lane, names, split(lane.entry), scale) for lane in placed.lanes]
    return placed.draw(scale, axis, units.round_time, bars)


def _painter(number: int) -> Painter:
    return lambda x, y: bar(x - 5, y - 5, 10, 10, f"part-{number}")


def _bars(lane: Lane, names: Sequence[str], parts: Sequence[float], scale: Scale) -> Markup:
    y, bars = lane.y - lane.thickness / 2, []
    for number, (part, end) in enumerate(zip(parts, accumulate(parts), strict=True)):
        x, wide = scale(end - part), scale(end) - scale(end - part)
        if wide >= _LEAST or part == max(parts):
            gap = _GAP if wide > _NO_GAP else 0.0
            bars.append(bar(x, y, wide - gap, lane.thickness, f"part-{number}"))
    told = zip(names, parts, strict=True)
    each = ", ".join(f"{name} {units.time(part)}" for name, part in told)
    return tipped(f"{lane.entry.spoken}: {each}", *bars)
