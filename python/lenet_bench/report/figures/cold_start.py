"""The way to the first answer, in its parts."""

from __future__ import annotations

from statistics import median

from .. import units
from ..markup import Markup
from ..measured import Entry, Measured
from .figure import Figure
from .stacked import stacked

_PARTS = {
    "process": "process_s",
    "import": "import_s",
    "weights": "weights_s",
    "build": "build_s",
    "first inference": "first_s",
}


def cold_start(measured: Measured) -> Figure | None:
    """A bar an entry, the parts' medians one after the other."""
    entries = sorted((e for e in measured.entries if e.rung.cold_starts), key=_total_us)
    if not entries:
        return None
    rows = measured.rows(entries)

    def draw(width: float) -> Markup:
        return stacked(rows, list(_PARTS), _parts_us, "from nothing to the first answer", width)

    first, last = entries[0], entries[-1]
    return Figure(
        key="cold-start",
        title="Cold start",
        caption=(
            "From the start of a process to its first answer: Python, NumPy and this package; "
            "importing the API; reading and checking the weights; building the network from "
            "them; the first inference. Each part is its median over the starts, so that their "
            "sum need not be the median of the sums exactly."
        ),
        says=(
            f"From {units.time(_total_us(first))} ({first.spoken}) to "
            f"{units.time(_total_us(last))} ({last.spoken})."
        ),
        draw=draw,
        columns=("rung", "series", "starts", *_PARTS, "sum"),
        rows=tuple(_row(entry) for row in rows for entry in row),
    )


def _parts_us(entry: Entry) -> list[float]:
    """The median of each part over the starts."""
    starts = entry.rung.cold_starts
    return [1e6 * median(getattr(start, part) for start in starts) for part in _PARTS.values()]


def _total_us(entry: Entry) -> float:
    return sum(_parts_us(entry))


def _row(entry: Entry) -> tuple[str, ...]:
    told = [units.time(us) for us in (*_parts_us(entry), _total_us(entry))]
    return (entry.name, entry.where, str(len(entry.rung.cold_starts)), *told)
