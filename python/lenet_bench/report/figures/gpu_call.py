"""A call on the GPU, taken apart by the GPU's own clock."""

from __future__ import annotations

from .. import units
from ..markup import Markup
from ..measured import Entry, Measured
from .figure import Figure
from .stacked import stacked

_PARTS = ("copy in", "kernels", "copy out", "host")


def gpu_call(measured: Measured) -> Figure | None:
    """A bar an entry that was profiled."""
    entries = sorted((e for e in measured.entries if _profile(e)), key=lambda e: sum(_parts_us(e)))
    if not entries:
        return None
    rows = measured.rows(entries)

    def draw(width: float) -> Markup:
        return stacked(rows, _PARTS, _parts_us, "one call in a profiled run", width)

    first, last = entries[0], entries[-1]
    return Figure(
        key="gpu-call",
        title="A call on the GPU",
        caption=(
            "Where the time of one call goes, in a profiled run of its own that is in no other "
            "figure: the image's copy to the GPU, its kernels and the copy back by the GPU's "
            "clock; the rest is what the host adds by enqueueing and waiting."
        ),
        says=(
            f"The kernels take {units.time(_parts_us(first)[1])} of "
            f"{units.time(sum(_parts_us(first)))} with {first.spoken}, and "
            f"{units.time(_parts_us(last)[1])} of {units.time(sum(_parts_us(last)))} with "
            f"{last.spoken}."
        ),
        draw=draw,
        columns=("rung", "series", *_PARTS, "enqueueing", "sum"),
        rows=tuple(_row(entry) for row in rows for entry in row),
    )


def _profile(entry: Entry) -> dict[str, float]:
    return dict((entry.rung.gpu and entry.rung.gpu.profile_us) or {})


def _parts_us(entry: Entry) -> list[float]:
    profile = _profile(entry)
    on_the_gpu = [profile.get(name, 0.0) for name in ("h2d_us", "kernels_us", "d2h_us")]
    return [*on_the_gpu, max(0.0, profile.get("total_us", 0.0) - sum(on_the_gpu))]


def _row(entry: Entry) -> tuple[str, ...]:
    parts = _parts_us(entry)
    told = (*parts, _profile(entry).get("enqueue_us"), sum(parts))
    return (entry.name, entry.where, *map(units.time, told))
