"""The columns of the page's tables: titles, values, formats and explanations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ... import units
from ..figures.rows import COLD, GPU_CALL, Record


@dataclass(frozen=True)
class PageColumn:
    title: str
    key: str
    spell: Callable[[Any], str]
    explained: str


class PageCell(NamedTuple):
    text: str
    value: float | str  # by which a column is sorted


def _word(value: str | None) -> str:
    return value or units.NONE


MAIN = (
    PageColumn("median", "us", units.time, "median time of one image"),
    PageColumn("its interval", "low", units.time, "the 95 % interval of the median"),
    PageColumn("ratio", "ratio", units.ratio, "the median divided by the baseline's"),
    PageColumn("interval", "ratio_low", units.ratio, "the 95 % interval of the ratio"),
    PageColumn("verdict", "verdict", _word, "the verdict from the interval of the ratio"),
    PageColumn("lines", "lines", units.count, "lines of code that the backend takes"),
    PageColumn(
        "cold start", "cold", units.seconds, "from the start of a process to its first answer"
    ),
    PageColumn("memory", "memory", units.mebibytes, "the peak memory of the process"),
    PageColumn("disk", "disk", units.mebibytes, "the installed packages"),
    PageColumn("images/s", "rate", units.rate, "the best throughput of all batch sizes"),
    PageColumn("energy", "energy", lambda mj: f"{units.digits(mj)} mJ", "of the GPU, an inference"),
    PageColumn("p90", "p90", units.time, "90 % of the calls are faster"),
    PageColumn("p95", "p95", units.time, "95 % of the calls are faster"),
    PageColumn("p99", "p99", units.time, "99 % of the calls are faster"),
    PageColumn("p99.9", "p999", units.time, "99.9 % of the calls are faster"),
    PageColumn("slowest", "slowest", units.time, "the slowest call"),
    PageColumn("mean", "mean", units.time, "mean time of one image"),
    PageColumn("fastest", "minimum", units.time, "the fastest call"),
    PageColumn("CPU time", "cpu", units.time, "CPU time of all threads, a call"),
    PageColumn("threads", "threads", units.count, "threads that used CPU time"),
    PageColumn(
        "GPU memory", "device_memory", units.mebibytes, "the memory of the process on the GPU"
    ),
    PageColumn("starts", "starts", units.count, "processes that were started and timed"),
    PageColumn("calls", "calls", units.count, "timed calls"),
)
REDUCED = (
    PageColumn("computes in", "precision", _word, "the precision"),
    PageColumn("off by", "off", "{:.1e}".format, "its largest difference from the reference here"),
    *MAIN,
)
_EXPLAINED = {
    "process": "Python, NumPy and this package",
    "import": "importing the API",
    "weights": "reading and checking the weights",
    "build": "building the network from them",
    "first": "the first call",
}
COLD_START = (
    *(PageColumn(part, part, lambda s: units.time(1e6 * s), _EXPLAINED[part]) for part in COLD),
    PageColumn("sum", "cold", lambda s: units.time(1e6 * s), "the median of the sums"),
)
GPU = (
    *(PageColumn(part, part, units.time, "of one call") for part in GPU_CALL),
    PageColumn("enqueue", "enqueue", units.time, "until the host had enqueued the call"),
)


def batches(rows: Sequence[Record]) -> tuple[PageColumn, ...]:
    sizes = sorted({size for row in rows for size in row["rates"]})
    names = {f"{size} a call": f"rate-{size}" for size in sizes}
    return tuple(
        PageColumn(name, key, units.rate, "images a second") for name, key in names.items()
    )


def with_rates(row: Record) -> Record:
    """The row with its throughput by size as columns."""
    return row | {f"rate-{size}": rate for size, rate in row["rates"].items()}


def known(columns: Sequence[PageColumn], rows: Sequence[Record]) -> list[PageColumn]:
    """The columns with a value in some row."""
    return [one for one in columns if any(row.get(one.key) is not None for row in rows)]


def cells(row: Record, columns: Sequence[PageColumn]) -> list[PageCell]:
    return [_cell(row, column) for column in columns]


def _cell(row: Record, column: PageColumn) -> PageCell:
    value = row.get(column.key)
    if value is None:
        return PageCell(units.NONE, "")
    if column.key == "ratio_low":
        return PageCell(units.interval(value, row["ratio_high"]), value)
    if column.key == "low":
        return PageCell(units.times(value, row["high"]), value)
    return PageCell(column.spell(value), value)
