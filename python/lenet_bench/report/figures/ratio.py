"""Each rung against the baseline, with what is known of the ratio and what may be said of it."""

from __future__ import annotations

from collections.abc import Iterator

from .. import units
from ..markup import Markup
from ..measured import Entry, Measured
from .figure import Figure
from .rows import Lane, Painter, guides, lanes, legend_of
from .scales import Scale, logarithmic
from .svg import bar, line, shape, tipped

#: What each verdict looks like: the number of a shape, and how it is filled.
_LOOKS = {
    "baseline": (1, "dot"),
    "faster": (3, "dot"),
    "slower": (0, "dot"),
    "same": (1, "dot"),
    "ambiguous": (0, "hollow"),
}


def ratio(measured: Measured) -> Figure | None:
    """A point and an interval an entry."""
    entries = [entry for entry in measured.entries if entry.summary.ratio is not None]
    if not any(entry.summary.verdict != "baseline" for entry in entries):
        return None
    rows = measured.rows(entries)
    lowest = min(entry.summary.ratio_low or entry.summary.ratio or 1 for entry in entries)
    highest = max(entry.summary.ratio_high or entry.summary.ratio or 1 for entry in entries)
    margin = max(run.result.rules.margin for run in measured.runs)
    verdicts = list(dict.fromkeys(e.summary.verdict or "ambiguous" for e in entries))

    def draw(width: float) -> Markup:
        legend, height = legend_of([(v, _painter(v)) for v in verdicts], width, 0)
        placed = lanes(rows, _spelt, width, legend=legend, legend_height=height, head="ratio")
        scale = logarithmic(min(lowest, 0.97), max(highest, 1.03), placed.left, placed.right)
        low, high = scale(1 / (1 + margin)), scale(1 + margin)
        marks = [
            bar(low, placed.top, high - low, placed.bottom - placed.top, "band"),
            guides(placed),
            line(scale(1), placed.top, scale(1), placed.bottom, "zero"),
            *(_marks(lane, scale) for lane in placed.lanes),
        ]
        return placed.draw(scale, "times the baseline, logarithmic", units.round_ratio, marks)

    return Figure(
        key="ratio",
        title="Against the baseline",
        caption=(
            "The median against the baseline's, taken round by round, and its interval: over the "
            "starts of the processes, which is what really repeats. Within the grey band "
            f"({units.share(margin)}) two rungs are called the same. {_baselines(measured)}"
        ),
        says=_says(entries),
        draw=draw,
        columns=("rung", "series", "ratio", "interval", "verdict"),
        rows=tuple(
            (
                entry.name,
                entry.where,
                units.ratio(entry.summary.ratio),
                interval(entry),
                entry.summary.verdict or units.NONE,
            )
            for row in rows
            for entry in row
        ),
    )


def interval(entry: Entry) -> str:
    """3.48-3.63."""
    s = entry.summary
    if s.ratio_low is None or s.ratio_high is None or s.verdict == "baseline":
        return units.NONE
    return f"{units.ratio(s.ratio_low)}-{units.ratio(s.ratio_high)}"


def _spelt(entry: Entry) -> str:
    return units.ratio(entry.summary.ratio)


def _painter(verdict: str) -> Painter:
    return lambda x, y: _dot(x, y, verdict)


def _dot(x: float, y: float, verdict: str) -> Markup:
    number, fill = _LOOKS[verdict]
    colour = "same" if verdict == "baseline" else verdict
    return shape(x, y, number, f"{fill} {colour}", 4.5)


def _marks(lane: Lane, scale: Scale) -> Markup:
    s, verdict = lane.entry.summary, lane.entry.summary.verdict or "ambiguous"
    marks = []
    if s.ratio_low is not None and s.ratio_high is not None and verdict != "baseline":
        colour = f"line {verdict}"
        marks.append(line(scale(s.ratio_low), lane.y, scale(s.ratio_high), lane.y, colour))
    marks.append(_dot(scale(s.ratio or 1), lane.y, verdict))
    spelt = units.ratio(s.ratio)
    return tipped(f"{lane.entry.spoken}: {spelt} ({interval(lane.entry)}), {verdict}", *marks)


def _baselines(measured: Measured) -> str:
    named = [
        f"{entry.name} in {entry.series.run.label}" if len(measured.runs) > 1 else entry.name
        for entry in measured.entries
        if entry.summary.verdict == "baseline"
    ]
    return f"The baseline is {', '.join(named)}." if named else ""


def _says(entries: list[Entry]) -> str:
    def told() -> Iterator[str]:
        for verdict in ("faster", "same", "slower", "ambiguous"):
            names = [entry.spoken for entry in entries if entry.summary.verdict == verdict]
            if names:
                yield f"{verdict.capitalize()}: {', '.join(names)}."

    return " ".join(told())
