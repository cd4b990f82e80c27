"""Lines of code against latency: what one pays against what one gets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from .. import units
from ..markup import Markup
from ..measured import Entry, Measured
from .figure import Figure
from .rows import series_legend
from .scales import Scale, across, logarithmic, up
from .svg import drawing, fit, label, line, mark, path, text_width, tipped

_TALL, _TALL_NARROW = 520.0, 560.0
_NARROW = 500.0
_LABEL_HEIGHT = 14.0
_CROWDED = 30.0  # of the width a point: with less, rungs are named and not their variants
_MARK = 7.0
_FAR, _FAR_NARROW = 72, 36  # how far at most: a phone would be all lines
_NEAR = 6  # how far a name is moved before it is set above or below its point


@dataclass(frozen=True)
class Box:
    """A rectangle that something covers."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        """Whether the two share a place."""
        beside = self.right <= other.left or other.right <= self.left
        return not (beside or self.bottom <= other.top or other.bottom <= self.top)

    def meets_any(self, others: Sequence[Box]) -> bool:
        """Whether it shares a place with one of them."""
        return any(self.meets(other) for other in others)

    def within(self, room: Box) -> bool:
        """Whether all of it is there."""
        beside = self.left < room.left or self.right > room.right
        return not (beside or self.top < room.top or self.bottom > room.bottom)


@dataclass(frozen=True, eq=False)
class Point:
    """An entry's place."""

    entry: Entry
    x: float
    y: float


def tradeoff(measured: Measured) -> Figure | None:
    """A point an entry."""
    entries = [e for e in measured.entries if e.lines_of_code and e.summary.p50_us]
    if len({entry.exhibit for entry in entries}) < 2:
        return None
    front = _front(entries)

    def draw(width: float) -> Markup:
        return _draw(entries, front, width)

    best = ", ".join(entry.spoken for entry in front)
    return Figure(
        key="tradeoff",
        title="Lines of code against processing time",
        caption=(
            "Shorter to the left, faster to the bottom, both logarithmic. Along the dashed line "
            "nothing is both shorter and faster; variants of a rung share its code and stand "
            "above each other. Where there is no room for a name, pointing at a mark or tapping it "
            "tells it, and so does the table; +1 is one more way that stands as near."
        ),
        says=f"{len(entries)} points. Nothing is both shorter and faster than: {best}.",
        draw=draw,
        columns=("rung", "series", "lines of code", "p50", "nothing shorter is faster"),
        rows=tuple(
            (
                entry.name,
                entry.where,
                units.count(entry.lines_of_code),
                units.time(entry.summary.p50_us),
                "yes" if entry in front else "",
            )
            for entry in entries
        ),
    )


def _front(entries: Sequence[Entry]) -> list[Entry]:
    """Those to which no other is both shorter and faster, from the fastest to the shortest."""
    front: list[Entry] = []
    for entry in sorted(entries, key=lambda e: (e.summary.p50_us or 0, e.lines_of_code or 0)):
        if not front or (entry.lines_of_code or 0) < (front[-1].lines_of_code or 0):
            front.append(entry)
    return front


def _draw(entries: Sequence[Entry], front: Sequence[Entry], width: float) -> Markup:
    tall = _TALL_NARROW if width < _NARROW else _TALL
    series = {entry.series.number: entry.series for entry in entries}
    parts: list[Markup] = []
    top = 22.0
    if len(series) > 1:
        legend, height = series_legend([series[n] for n in sorted(series)], width, 0)
        parts += legend
        top += height
    times = [entry.summary.p50_us or 0 for entry in entries]
    counts = [entry.lines_of_code or 0 for entry in entries]
    bottom = top + tall - 62
    down = logarithmic(min(times), max(times), bottom, top)
    left = 8 + max(text_width(units.round_time(tick)) for tick in down.ticks())
    room_for_names = 0.4 if width < _NARROW else 0.8
    along = logarithmic(min(counts) * room_for_names, max(counts) * 1.06, left, width - 8)
    parts += [*up(down, left, width - 8, units.round_time)]
    parts += [*across(along, top, bottom, units.count)]
    points = [_point(entry, along, down) for entry in entries]
    stairs = _stairs([_point(entry, along, down) for entry in front], width - 8)
    parts += [*_stems(points), path(stairs, "front")]
    room = Box(left + 2, top - 4, width - 2, bottom - 2)
    parts += _labels(points, [*_along(stairs), *_beside(points)], room)
    parts += [_mark(point) for point in points]
    parts.append(label(0, top - 14, "median time of one image", "soft small"))
    parts.append(label(width - 8, bottom + 29, "lines of code", "end soft small"))
    return drawing(width, bottom + 38, parts)


def _point(entry: Entry, along: Scale, down: Scale) -> Point:
    return Point(entry, along(entry.lines_of_code or 1), down(entry.summary.p50_us or 1))


def _mark(point: Point) -> Markup:
    entry = point.entry
    time, count = units.time(entry.summary.p50_us), entry.lines_of_code
    return tipped(
        f"{entry.spoken}: {count} lines, {time}", mark(point.x, point.y, entry.series.number)
    )


def _stems(points: Sequence[Point]) -> Iterator[Markup]:
    """A line through the variants of each exhibit in each series."""
    for group in _exhibits(points):
        ys = [point.y for point in group]
        yield line(group[0].x, min(ys), group[0].x, max(ys), "leader")


def _exhibits(points: Sequence[Point]) -> list[list[Point]]:
    """The points of each exhibit in each series, where there are several."""
    groups: dict[tuple[str, int], list[Point]] = {}
    for point in points:
        groups.setdefault((point.entry.exhibit, point.entry.series.number), []).append(point)
    return [group for group in groups.values() if len(group) > 1]


def _beside(points: Sequence[Point]) -> Iterator[Box]:
    """What the stems cover."""
    for group in _exhibits(points):
        ys = [point.y for point in group]
        yield Box(group[0].x - 2, min(ys), group[0].x + 2, max(ys))


def _stairs(points: Sequence[Point], right: float) -> list[tuple[float, float]]:
    """The front's corners: at each length the fastest that is no longer."""
    corners = [(right, points[0].y), (points[0].x, points[0].y)]
    for one, other in pairwise(points):
        corners += [(one.x, other.y), (other.x, other.y)]
    return corners


def _along(corners: Sequence[tuple[float, float]]) -> Iterator[Box]:
    """What a line through the corners covers."""
    for (x, y), (to_x, to_y) in pairwise(corners):
        yield Box(min(x, to_x) - 2, min(y, to_y) - 2, max(x, to_x) + 2, max(y, to_y) + 2)


def _labels(points: Sequence[Point], lines: Sequence[Box], room: Box) -> list[Markup]:
    """Names where they hide neither a mark nor a line nor each other."""
    taken = [Box(p.x - _MARK, p.y - _MARK, p.x + _MARK, p.y + _MARK) for p in points]
    taken += lines
    wide = room.right - room.left
    leaders: list[Markup] = []
    names: list[Markup] = []
    for point, name in _named(points, crowded=len(points) > wide / _CROWDED):
        text = fit(name, 0.7 * wide)
        far = _FAR if wide > _NARROW else _FAR_NARROW
        places = (box for box in _places(point, text_width(text), far) if box.within(room))
        if box := next((box for box in places if not box.meets_any(taken)), None):
            taken.append(box)
            leaders += _leader(point, box)
            names.append(_written(point, box, text))
    return [*leaders, *names]


def _written(point: Point, box: Box, text: str) -> Markup:
    """The label, on that side of its place that its point is on."""
    y = (box.top + box.bottom) / 2
    if box.right < point.x:
        return label(box.right, y, text, "small end")
    if box.left > point.x:
        return label(box.left, y, text, "small")
    return label((box.left + box.right) / 2, y, text, "small middle")


def _named(points: Sequence[Point], *, crowded: bool) -> Iterator[tuple[Point, str]]:
    """The points and their names, the lowest first; of a crowd each exhibit's fastest before all.

    Variants that stand too close for a line of text each share one: "fused +1".
    """
    groups: dict[str, list[Point]] = {}
    for point in sorted(points, key=lambda point: -point.y):
        groups.setdefault(point.entry.exhibit, []).append(point)
    named = [one for group in groups.values() for one in _sharing(group)]
    heads = [group[0] for group in groups.values()] if crowded else []
    yield from (one for one in named if one[0] in heads)
    yield from (one for one in named if one[0] not in heads)


def _sharing(group: Sequence[Point]) -> Iterator[tuple[Point, str]]:
    """A name for each of an exhibit's points, or for several that stand on each other."""
    while group:
        head, *others = group
        close = [p for p in others if p.x == head.x and head.y - p.y < _LABEL_HEIGHT]
        yield head, head.entry.name + (f" +{len(close)}" if close else "")
        group = [point for point in others if point not in close]


def _places(point: Point, width: float, furthest: int) -> Iterator[Box]:
    """Where a label may stand, the nearest first."""
    half = _LABEL_HEIGHT / 2
    for far in range(0, furthest, _NEAR):
        for rise in (0, far, -far, 2 * far, -2 * far) if far else (0,):
            y = point.y + rise
            for x in (point.x + 9 + far / 2, point.x - 9 - far / 2 - width):
                yield Box(x, y - half, x + width, y + half)
        for y in (point.y - 15, point.y + 15) if far == _NEAR else ():
            yield Box(point.x - width / 2, y - half, point.x + width / 2, y + half)


def _leader(point: Point, box: Box) -> Iterator[Markup]:
    """A line to the label where it does not stand beside its point."""
    x = min(max(point.x, box.left), box.right)
    y = min(max(point.y, box.top + 3), box.bottom - 3)
    if abs(x - point.x) > 12 or abs(y - point.y) > 12:
        yield line(point.x, point.y, x, y, "leader")
