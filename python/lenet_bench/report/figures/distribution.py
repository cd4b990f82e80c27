"""How long the calls took, each of them: densities on a logarithmic axis."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .. import units
from ..markup import Markup
from ..measured import Entry, Measured
from .figure import WIDE, Figure
from .rows import Lane, guides, lanes
from .scales import Scale, logarithmic
from .svg import line, path, shape, tipped

_BIN = 1.5  # of the drawing's units
_SMOOTHING = 1.6  # bins
_FAR = 99.9  # the percentile at which the axis may end
_NEAR = 0.1


def distribution(measured: Measured) -> Figure | None:
    """A strip an entry."""
    entries = [entry for entry in measured.entries if len(entry.samples_us)]
    if not entries:
        return None
    rows = measured.rows(entries)
    ends = [np.percentile(entry.samples_us, (_NEAR, _FAR)) for entry in entries]
    lowest, highest = min(low for low, _ in ends), max(high for _, high in ends)

    def draw(width: float) -> Markup:
        wide = width >= WIDE
        values, head = (_middle_and_tail, "median · p99") if wide else (_middle, "median")
        placed = lanes(rows, values, width, head=head, thickness=18)
        scale = logarithmic(lowest, highest, placed.left, placed.right)
        marks = [guides(placed), *(_strip(lane, scale) for lane in placed.lanes)]
        return placed.draw(scale, "time of one image, logarithmic", units.round_time, marks)

    return Figure(
        key="distribution",
        title="Every call",
        caption=(
            "How the times of single calls are distributed: the hump is where most of them lie, "
            "the vertical stroke the median, the hollow mark the 99th percentile, the line "
            "covers all calls but the fastest and the slowest thousandth, which would squash the "
            "axis; they are in the table."
        ),
        says=_says(entries),
        draw=draw,
        columns=("rung", "series", "calls", "minimum", "p50", "p90", "p99", "p99.9", "slowest"),
        rows=tuple(_row(entry) for row in rows for entry in row),
    )


def _middle_and_tail(entry: Entry) -> str:
    return f"{units.time(entry.summary.p50_us)} · {units.time(entry.summary.p99_us)}"


def _middle(entry: Entry) -> str:
    return units.time(entry.summary.p50_us)


def _says(entries: list[Entry]) -> str:
    tails = [
        (e.summary.p99_us / e.summary.p50_us, e)
        for e in entries
        if e.summary.p50_us and e.summary.p99_us
    ]
    if not tails:
        return f"{len(entries)} strips; none has calls enough for a 99th percentile."
    (least, steady), (most, unsteady) = min(tails, key=_first), max(tails, key=_first)
    return (
        f"The 99th percentile is {units.ratio(least)} times the median for {steady.spoken}, the "
        f"steadiest, and {units.ratio(most)} times for {unsteady.spoken}, the least steady."
    )


def _first(pair: tuple[float, Entry]) -> float:
    return pair[0]


def _row(entry: Entry) -> tuple[str, ...]:
    s = entry.summary
    times = (s.minimum_us, s.p50_us, s.p90_us, s.p99_us, s.p999_us, float(entry.samples_us.max()))
    series = entry.where
    return (entry.name, series, units.count(s.samples), *map(units.time, times))


def _strip(lane: Lane, scale: Scale) -> Markup:
    entry, number = lane.entry, lane.entry.series.number
    summary, samples = entry.summary, entry.samples_us
    low, high = np.percentile(samples, (_NEAR, _FAR))
    base, height = lane.y + lane.thickness / 2, lane.thickness
    marks = [line(scale(low), base, scale(high), base, f"hair series-{number}")]
    marks.append(_hump(samples, scale, base, height, number))
    if summary.p50_us:
        x = scale(summary.p50_us)
        marks.append(line(x, base - height, x, base, f"line series-{number}"))
    if summary.p99_us:
        marks.append(shape(scale(summary.p99_us), base, number, f"hollow series-{number}", 2.8))
    slowest = units.time(float(samples.max()))
    tip = (
        f"{entry.spoken}: median {units.time(summary.p50_us)}, p99 {units.time(summary.p99_us)}, "
        f"slowest {slowest}, {units.count(summary.samples)} calls"
    )
    return tipped(tip, *marks)


def _hump(
    samples: NDArray[np.float64], scale: Scale, base: float, height: float, number: int
) -> Markup:
    """The smoothed histogram, its highest bin as high as the strip."""
    bins = int((scale.end - scale.begin) / _BIN)
    edges = np.geomspace(scale.low, scale.high, bins + 1)
    counts, _ = np.histogram(samples, edges)
    around = np.arange(-4, 5)
    kernel = np.exp(-0.5 * (around / _SMOOTHING) ** 2)
    smooth = np.convolve(counts, kernel / kernel.sum(), "same")
    shares = smooth / (smooth.max() or 1.0)
    return path(_outline(shares, scale, base, height), f"density series-{number}", closed=True)


def _outline(
    shares: NDArray[np.float64], scale: Scale, base: float, height: float
) -> Iterator[tuple[float, float]]:
    """Only where there is something to see: most of an axis of four decades is empty."""
    seen = np.flatnonzero(shares * height > 0.15)
    first, last = int(seen[0]), int(seen[-1])
    yield scale.begin + first * _BIN, base
    for n in range(first, last + 1):
        flat = first < n < last and shares[n - 1] == shares[n] == shares[n + 1]
        if not flat:
            yield scale.begin + (n + 0.5) * _BIN, base - height * float(shares[n])
    yield scale.begin + (last + 1) * _BIN, base
