"""The time of one image: the second figure of 2018."""

from __future__ import annotations

from collections.abc import Iterator

from .. import units
from ..markup import Markup
from ..measured import Measured
from .figure import Figure
from .rows import Lane, guides, lanes
from .scales import Scale, logarithmic
from .svg import line, mark, tipped


def processing_time(measured: Measured) -> Figure | None:
    """A dot an entry: a logarithmic axis has no zero that a bar could begin at."""
    entries = [entry for entry in measured.entries if entry.summary.p50_us]
    if not entries:
        return None
    rows = measured.rows(entries)
    lowest = min(entry.summary.p50_us or 0 for entry in entries)
    highest = max(entry.summary.p99_us or entry.summary.p50_us or 0 for entry in entries)

    def draw(width: float) -> Markup:
        placed = lanes(rows, lambda entry: units.time(entry.summary.p50_us), width, head="median")
        scale = logarithmic(lowest, highest, placed.left, placed.right)
        marks = [guides(placed), *(mark for lane in placed.lanes for mark in _marks(lane, scale))]
        return placed.draw(scale, "time of one image, logarithmic", units.round_time, marks)

    first, last = entries[0], entries[-1]
    return Figure(
        key="processing-time",
        title="Processing time",
        caption=(
            "One call with one image, from a NumPy array in host memory to the ten probabilities "
            "there, copies and synchronisation included: the dot is the median, its line goes to "
            "the 99th percentile where there are calls enough to know it."
        ),
        says=(
            f"From {units.time(first.summary.p50_us)} ({first.spoken}) to "
            f"{units.time(last.summary.p50_us)} ({last.spoken}); the fastest is first."
        ),
        draw=draw,
        columns=("rung", "series", "p50", "p90", "p99"),
        rows=tuple(
            (
                entry.name,
                entry.where,
                units.time(entry.summary.p50_us),
                units.time(entry.summary.p90_us),
                units.time(entry.summary.p99_us),
            )
            for row in rows
            for entry in row
        ),
    )


def _marks(lane: Lane, scale: Scale) -> Iterator[Markup]:
    summary, number = lane.entry.summary, lane.entry.series.number
    middle = summary.p50_us or 0
    tip = f"{lane.entry.spoken}: median {units.time(middle)}, p99 {units.time(summary.p99_us)}"
    whisker = summary.p99_us and line(
        scale(middle), lane.y, scale(summary.p99_us), lane.y, f"whisker series-{number}"
    )
    yield tipped(tip, *([whisker] if whisker else []), mark(scale(middle), lane.y, number))
