"""The columns of the page's tables: titles, values, formats and explanations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ... import units
from ..figures.rows import COLD, GPU_CALL, Record


@dataclass(frozen=True)
class Column:
    title: str
    key: str
    spell: Callable[[Any], str]
    explained: str


class Cell(NamedTuple):
    text: str
    value: float | str  # by which a column is sorted


def _word(value: str | None) -> str:
    return value or units.NONE


MAIN = (
    Column("median", "us", units.time, "median time of one image"),
    Column("its interval", "low", units.time, "the 95 % interval of the median"),
    Column("ratio", "ratio", units.ratio, "the median divided by the baseline's"),
    Column("interval", "ratio_low", units.ratio, "the 95 % interval of the ratio"),
    Column("verdict", "verdict", _word, "the verdict from the interval of the ratio"),
    Column("lines", "lines", units.count, "lines of code that the backend takes"),
    Column("cold start", "cold", units.seconds, "from the start of a process to its first answer"),
    Column("memory", "memory", units.mebibytes, "the peak memory of the process"),
    Column("disk", "disk", units.mebibytes, "the installed packages"),
    Column("images/s", "rate", units.rate, "the best throughput of all batch sizes"),
    Column("energy", "energy", lambda mj: f"{units.digits(mj)} mJ", "of the GPU, an inference"),
    Column("p90", "p90", units.time, "90 % of the calls are faster"),
    Column("p95", "p95", units.time, "95 % of the calls are faster"),
    Column("p99", "p99", units.time, "99 % of the calls are faster"),
    Column("p99.9", "p999", units.time, "99.9 % of the calls are faster"),
    Column("slowest", "slowest", units.time, "the slowest call"),
    Column("mean", "mean", units.time, "mean time of one image"),
    Column("fastest", "minimum", units.time, "the fastest call"),
    Column("CPU time", "cpu", units.time, "CPU time of all threads, a call"),
    Column("threads", "threads", units.count, "threads that used CPU time"),
    Column("GPU memory", "device_memory", units.mebibytes, "the memory of the process on the GPU"),
    Column("starts", "starts", units.count, "processes that were started and timed"),
    Column("calls", "calls", units.count, "timed calls"),
)
REDUCED = (
    Column("computes in", "precision", _word, "the precision"),
    Column("off by", "off", "{:.1e}".format, "its largest difference from the reference here"),
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
    *(Column(part, part, lambda s: units.time(1e6 * s), _EXPLAINED[part]) for part in COLD),
    Column("sum", "cold", lambda s: units.time(1e6 * s), "the median of the sums"),
)
GPU = (
    *(Column(part, part, units.time, "of one call") for part in GPU_CALL),
    Column("enqueue", "enqueue", units.time, "until the host had enqueued the call"),
)


def batches(rows: Sequence[Record]) -> tuple[Column, ...]:
    sizes = sorted({size for row in rows for size in row["rates"]})
    names = {f"{size} a call": f"rate-{size}" for size in sizes}
    return tuple(Column(name, key, units.rate, "images a second") for name, key in names.items())


def with_rates(row: Record) -> Record:
    """The row with its throughput by size as columns."""
    return row | {f"rate-{size}": rate for size, rate in row["rates"].items()}


def known(columns: Sequence[Column], rows: Sequence[Record]) -> list[Column]:
    """The columns with a value in some row."""
    return [one for one in columns if any(row.get(one.key) is not None for row in rows)]


def cells(row: Record, columns: Sequence[Column]) -> list[Cell]:
    return [_cell(row, column) for column in columns]


def _cell(row: Record, column: Column) -> Cell:
    value = row.get(column.key)
    if value is None:
        return Cell(units.NONE, "")
    if column.key == "ratio_low":
        return Cell(units.interval(value, row["ratio_high"]), value)
    if column.key == "low":
        return Cell(units.times(value, row["high"]), value)
    return Cell(column.spell(value), value)
