"""Lines of code: the first figure of 2018."""

from __future__ import annotations

from ...backends import find
from ...errors import LenetBenchError
from .. import units
from ..markup import Markup
from ..measured import Entry, Measured
from .figure import Figure
from .rows import lanes
from .scales import linear
from .svg import bar, tipped


def lines_of_code(measured: Measured) -> Figure | None:
    """One bar an exhibit: its variants share it, and it is the same on every machine."""
    exhibits: dict[str, Entry] = {}
    for entry in measured.entries:
        if entry.lines_of_code and entry.exhibit not in exhibits:
            exhibits[entry.exhibit] = entry
    if not exhibits:
        return None
    counts = {name: entry.lines_of_code or 0 for name, entry in exhibits.items()}
    names = sorted(counts, key=lambda name: (counts[name], name))

    def draw(width: float) -> Markup:
        rows = [(_as_exhibit(exhibits[name]),) for name in names]
        placed = lanes(rows, lambda entry: units.count(counts[entry.name]), width, marked=False)
        scale = linear(max(counts.values()), placed.left, placed.right)
        marks = [
            tipped(
                f"{lane.entry.name}: {counts[lane.entry.name]} lines of code",
                bar(
                    scale.begin,
                    lane.y - lane.thickness / 2,
                    scale(counts[lane.entry.name]) - scale.begin,
                    lane.thickness,
                    "series-0",
                ),
            )
            for lane in placed.lanes
        ]
        return placed.draw(scale, "lines of code", units.count, marks)

    least, most = names[0], names[-1]
    return Figure(
        key="lines-of-code",
        title="Lines of code",
        caption=(
            "What one writes for this network in each API: lines that hold code, without blank "
            "ones, comments and lines of brackets only. The shortest is first."
        ),
        says=(
            f"Bars from {counts[least]} lines ({least}) to {counts[most]} lines ({most}), of "
            f"{len(names)} exhibits."
        ),
        draw=draw,
        columns=("rung", "lines of code", "written against"),
        rows=tuple((name, units.count(counts[name]), _against(name)) for name in names),
    )


def _as_exhibit(entry: Entry) -> Entry:
    return Entry(entry.exhibit, entry.series, entry.rung, entry.summary)


def _against(name: str) -> str:
    try:
        return find(name)[0].summary
    except LenetBenchError:
        return units.NONE
