"""What a rung takes: memory, room on the disk, memory of its device."""

from __future__ import annotations

from collections.abc import Callable

from .. import units
from ..markup import Markup
from ..measured import Entry, Measured
from .figure import Figure
from .rows import lanes
from .scales import linear
from .svg import bar, line, tipped


def memory(measured: Measured) -> Figure | None:
    """The most that the process held at once."""
    floors = [
        run.result.floor.resources.peak_rss_mib
        for run in measured.runs
        if run.result.floor and run.result.floor.resources
    ]
    floor = min((mib for mib in floors if mib), default=None)
    empty = f" An empty rung takes {units.mebibytes(floor)}, the stroke." if floor else ""
    return _bars(
        measured,
        lambda entry: entry.rung.resources.peak_rss_mib if entry.rung.resources else None,
        key="memory",
        title="Memory",
        caption=f"The most that a process held at once, Python and NumPy included.{empty}",
        axis="peak resident memory",
        floor=floor,
    )


def disk(measured: Measured) -> Figure | None:
    """What its packages take when they are installed."""
    return _bars(
        measured,
        lambda entry: entry.rung.installed_mib,
        key="disk",
        title="Room on the disk",
        caption="What the packages of the API take when they are installed, with what they need.",
        axis="installed",
    )


def device_memory(measured: Measured) -> Figure | None:
    """What the process holds on its device."""
    return _bars(
        measured,
        lambda entry: entry.rung.gpu.memory_mib if entry.rung.gpu else None,
        key="device-memory",
        title="Memory of the GPU",
        caption="What the process held on its device.",
        axis="memory of the device",
    )


def _bars(
    measured: Measured,
    value: Callable[[Entry], float | None],
    *,
    key: str,
    title: str,
    caption: str,
    axis: str,
    floor: float | None = None,
) -> Figure | None:
    values = {id(e): told for e in measured.entries if (told := value(e)) is not None}
    if not values:
        return None
    known = [entry for entry in measured.entries if id(entry) in values]
    known.sort(key=lambda entry: values[id(entry)])
    rows = measured.rows(known)

    def spelt(entry: Entry) -> str:
        return units.mebibytes(values[id(entry)])

    def draw(width: float) -> Markup:
        placed = lanes(rows, spelt, width)
        scale = linear(max(values.values()), placed.left, placed.right)
        marks = [
            tipped(
                f"{lane.entry.spoken}: {spelt(lane.entry)}",
                bar(
                    scale.begin,
                    lane.y - lane.thickness / 2,
                    scale(values[id(lane.entry)]) - scale.begin,
                    lane.thickness,
                    f"series-{lane.entry.series.number}",
                ),
            )
            for lane in placed.lanes
        ]
        if floor:
            marks.append(line(scale(floor), placed.top, scale(floor), placed.bottom, "front"))
        return placed.draw(scale, f"{axis}, MiB", units.count, marks)

    least, most = known[0], known[-1]
    return Figure(
        key=key,
        title=title,
        caption=caption,
        says=f"From {spelt(least)} ({least.spoken}) to {spelt(most)} ({most.spoken}).",
        draw=draw,
        columns=("rung", "series", axis),
        rows=tuple((entry.name, entry.where, spelt(entry)) for row in rows for entry in row),
    )
