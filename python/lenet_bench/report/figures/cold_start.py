"""The way to the first answer, in its parts."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

from ...results import ColdStart
from .. import units
from ..markup import Markup
from ..measured import Entry, Measured
from .figure import Figure
from .rows import Lane, Painter, lanes, legend_of
from .scales import Scale, linear
from .svg import bar, tipped

_LEAST = 0.4  # of a part that is drawn

#: Each part, as it is named and as it follows.
PARTS: tuple[tuple[str, Callable[[ColdStart], float]], ...] = (
    ("process", lambda start: start.process_s),
    ("import", lambda start: start.import_s),
    ("weights", lambda start: start.weights_s),
    ("build", lambda start: start.build_s),
    ("first inference", lambda start: start.first_s),
)


def cold_start(measured: Measured) -> Figure | None:
    """A bar an entry, the parts' medians one after the other."""
    entries = sorted((e for e in measured.entries if e.rung.cold_starts), key=_total)
    if not entries:
        return None
    rows = measured.rows(entries)
    longest = max(map(_total, entries))

    def draw(width: float) -> Markup:
        legend, height = legend_of(
            [(name, _painter(n)) for n, (name, _) in enumerate(PARTS)], width, 0
        )
        placed = lanes(rows, _spelt, width, legend=legend, legend_height=height)
        scale = linear(longest, placed.left, placed.right)
        marks = [_bars(lane, scale) for lane in placed.lanes]
        return placed.draw(scale, "seconds from nothing to the first answer", _tick, marks)

    first, last = entries[0], entries[-1]
    return Figure(
        key="cold-start",
        title="Cold start",
        caption=(
            "From the start of a process to its first answer: Python, NumPy and this package; "
            "importing the API; reading and checking the weights; building the network from "
            "them; the first inference. Medians over the starts, so the parts of one bar need "
            "not add up to the median of the whole exactly."
        ),
        says=(
            f"From {units.seconds(_total(first))} ({first.spoken}) to "
            f"{units.seconds(_total(last))} ({last.spoken})."
        ),
        draw=draw,
        columns=("rung", "series", "starts", *(name for name, _ in PARTS), "sum"),
        rows=tuple(_row(entry) for row in rows for entry in row),
    )


def parts(entry: Entry) -> list[float]:
    """The median of each part over the starts, in seconds."""
    return [median(part(start) for start in entry.rung.cold_starts) for _, part in PARTS]


def _total(entry: Entry) -> float:
    return sum(parts(entry))


def _spelt(entry: Entry) -> str:
    return units.seconds(_total(entry))


def _tick(value: float) -> str:
    return f"{value:.3g} s"


def _row(entry: Entry) -> tuple[str, ...]:
    told = [units.time(part * 1e6) for part in (*parts(entry), _total(entry))]
    series = entry.where
    return (entry.name, series, str(len(entry.rung.cold_starts)), *told)


def _painter(number: int) -> Painter:
    return lambda x, y: bar(x - 5, y - 5, 10, 10, f"part-{number}")


def _bars(lane: Lane, scale: Scale) -> Markup:
    begin, bars = 0.0, []
    y = lane.y - lane.thickness / 2
    for number, part in enumerate(parts(lane.entry)):
        x, end = scale(begin), scale(begin + part)
        begin += part
        if end - x >= _LEAST:
            gap = 0.8 if end - x > 3 else 0.0  # between two parts, for those who see no colours
            bars.append(bar(x, y, end - x - gap, lane.thickness, f"part-{number}"))
    told = zip(PARTS, parts(lane.entry), strict=True)
    each = ", ".join(f"{name} {units.time(part * 1e6)}" for (name, _), part in told)
    return tipped(f"{lane.entry.spoken}: {each}", *bars)
