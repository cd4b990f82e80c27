"""Images a second by how many are given at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from .. import units
from ..markup import Markup
from ..measured import Entry, Measured
from .figure import Figure
from .rows import Lane, Painter, guides, lanes, legend_of, series_legend
from .scales import Scale, across, logarithmic, up
from .svg import drawing, fit, label, line, mark, path, text_width, tipped

_MANY = 16  # curves from which nobody can follow one: then each rung has a row of its own
_CURVES = (
    "Images a second when so many are given in one call, by the median call; both axes are "
    "logarithmic. A curve that rises straight gains all that a batch can give."
)
_BY_RUNG = (
    "Images a second when so many are given in one call, by the median call: the larger the mark, "
    "the larger the batch. A long line gains much from a batch, a short one nothing."
)
_SMALLEST, _LARGEST = 2.0, 6.0  # marks
_LABEL = 14.0  # from one label to the next
_LEAST_TALL = 380.0


def throughput(measured: Measured) -> Figure | None:
    """A curve an entry; one image a call is the single-image median."""
    entries = [entry for entry in measured.entries if entry.rung.batches]
    if not entries:
        return None
    entries.sort(key=lambda entry: -curve(entry)[-1][1])

    many = len(entries) > _MANY

    def draw(width: float) -> Markup:
        return _by_rung(measured, entries, width) if many else _curves(entries, width)

    best = max(entries, key=lambda entry: max(rate for _, rate in curve(entry)))
    size, rate = max(curve(best), key=lambda point: point[1])
    sizes = sorted({size for entry in entries for size, _ in curve(entry)})
    return Figure(
        key="throughput",
        title="Throughput by batch",
        caption=_BY_RUNG if many else _CURVES,
        says=f"The highest is {units.rate(rate)}, {best.spoken} with {size} images a call.",
        draw=draw,
        columns=("rung", "series", *(f"{size} a call" for size in sizes)),
        rows=tuple(_row(entry, sizes) for entry in entries),
    )


def curve(entry: Entry) -> list[tuple[int, float]]:
    """Batch sizes and images a second, smallest first."""
    rates = {batch.size: batch.images_per_s for batch in entry.rung.batches if batch.samples_ns}
    if entry.summary.p50_us:
        rates.setdefault(1, 1e6 / entry.summary.p50_us)
    return sorted(rates.items())


def _row(entry: Entry, sizes: Sequence[int]) -> tuple[str, ...]:
    rates = dict(curve(entry))
    series = entry.where
    return (entry.name, series, *(units.rate(rates.get(size)) for size in sizes))


def _curves(entries: Sequence[Entry], width: float) -> Markup:
    series = {entry.series.number: entry.series for entry in entries}
    points = [point for entry in entries for point in curve(entry)]
    parts: list[Markup] = []
    top = 22.0
    if len(series) > 1:
        legend, height = series_legend([series[n] for n in sorted(series)], width, 0)
        parts += legend
        top += height
    bottom = top + max(_LEAST_TALL - 62, _LABEL * len(entries))
    rates, sizes = [rate for _, rate in points], [size for size, _ in points]
    down = logarithmic(min(rates), max(rates), bottom, top)
    left = 8 + max(text_width(units.round_rate(tick)) for tick in down.ticks())
    names = min(max(text_width(entry.name) for entry in entries), width * 0.36)
    right = width - names - 30
    along = logarithmic(min(sizes), max(sizes), left + 6, right)
    parts += [*up(down, left, right, units.round_rate)]
    parts += [*across(along, top, bottom, units.count, ticks=sorted(set(sizes)))]
    parts += [_curve(entry, along, down) for entry in entries]
    parts += _names(entries, along, down, top, bottom, names, width, marked=len(series) > 1)
    parts.append(label(0, top - 14, "images a second", "soft small"))
    parts.append(label(right, bottom + 29, "images a call", "end soft small"))
    return drawing(width, bottom + 38, parts)


def _by_rung(measured: Measured, entries: Sequence[Entry], width: float) -> Markup:
    """A row a rung, the best first: its batch sizes on one axis."""
    sizes = sorted({size for entry in entries for size, _ in curve(entry)})
    marks = dict(zip(sizes, np.linspace(_SMALLEST, _LARGEST, len(sizes)).tolist(), strict=True))
    legend, height = legend_of(
        [(f"{size} a call", _painter(marks[size])) for size in sizes], width, 0
    )
    best = sorted(entries, key=_best, reverse=True)
    placed = lanes(
        measured.rows(best),
        lambda entry: units.rate(_best(entry)),
        width,
        legend=legend,
        legend_height=height,
        head="the best",
    )
    rates = [rate for entry in entries for _, rate in curve(entry)]
    scale = logarithmic(min(rates), max(rates), placed.left, placed.right)
    drawn = [_strip(lane, scale, marks) for lane in placed.lanes]
    axis = "images a second, logarithmic"
    return placed.draw(scale, axis, units.round_rate, [guides(placed), *drawn])


def _best(entry: Entry) -> float:
    return max(rate for _, rate in curve(entry))


def _painter(size: float) -> Painter:
    return lambda x, y: mark(x, y, 0, size=size)


def _strip(lane: Lane, scale: Scale, marks: Mapping[int, float]) -> Markup:
    entry, number = lane.entry, lane.entry.series.number
    places = [scale(rate) for _, rate in curve(entry)]
    dots = [
        mark(scale(rate), lane.y, number, size=marks[size]) for size, rate in reversed(curve(entry))
    ]
    whisker = line(min(places), lane.y, max(places), lane.y, f"whisker series-{number}")
    return tipped(_told(entry), whisker, *dots)


def _told(entry: Entry) -> str:
    rates = ", ".join(f"{units.rate(rate)} with {size}" for size, rate in curve(entry))
    return f"{entry.spoken}: {rates}"


def _curve(entry: Entry, along: Scale, down: Scale) -> Markup:
    number = entry.series.number
    places = [(along(size), down(rate)) for size, rate in curve(entry)]
    dots = [mark(x, y, number, size=3.2) for x, y in places]
    return tipped(_told(entry), path(places, f"line series-{number}"), *dots)


def _names(
    entries: Sequence[Entry],
    along: Scale,
    down: Scale,
    top: float,
    bottom: float,
    room: float,
    width: float,
    *,
    marked: bool,
) -> Iterator[Markup]:
    """Each curve's name at its end, moved until none stands on another."""
    ends = [(along(curve(e)[-1][0]), down(curve(e)[-1][1]), e) for e in entries]
    ends.sort(key=lambda end: end[1])
    places = apart([y for _, y, _ in ends], _LABEL, top, bottom)
    for (x, y, entry), place in zip(ends, places, strict=True):
        yield line(x + 4, y, width - room - (11 if marked else 4), place, "leader")
        yield label(width - room, place, fit(entry.name, room), "small")
        if marked:
            yield mark(width - room - 7, place, entry.series.number, size=3)


def apart(places: Sequence[float], least: float, top: float, bottom: float) -> list[float]:
    """Rising places moved as little as may be until they are so far apart, within both ends."""
    moved: list[float] = []
    for n, place in enumerate(places):
        moved.append(max(place, moved[-1] + least if n else top))
    ceiling = bottom
    for n in reversed(range(len(moved))):
        moved[n] = min(moved[n], ceiling)
        ceiling = moved[n] - least
    return moved
