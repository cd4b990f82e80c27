"""The columns of a comparison's tables: described once, for the terminal, Markdown and the page."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from .. import units
from ..results import Rules
from .figures.records import Record


@dataclass(frozen=True)
class Quantity:
    """What a table shows of each backend: a value of its record, and how that is spelled."""

    title: str
    key: str  # of the record; tables are sorted by it
    spell: Callable[..., str]
    meaning: str
    until: str = ""  # of an interval: the key of its other end
    leaves: int | None = None  # how late it leaves a narrow terminal; None: on the page only

    def text(self, row: Record) -> str:
        value = row.get(self.key)
        if value is None:
            return units.NONE
        return self.spell(value, row[self.until]) if self.until else self.spell(value)


LINES = Quantity("lines", "lines_of_code", units.count, "lines of code", leaves=6)
_P50 = Quantity("p50", "p50_us", units.time, "the median call", leaves=0)
_P99 = Quantity("p99", "p99_us", units.time, "99 % of the calls are faster", leaves=7)
_RATIO = Quantity(
    "paired ratio",
    "ratio",
    units.ratio,
    "to the baseline's start in the same round, over all rounds",
    leaves=1,
)
_P999 = Quantity("p99.9", "p999_us", units.time, "99.9 % of the calls are faster")
_MEAN = Quantity("mean", "mean_us", units.time, "of all calls, with the stops in them", leaves=0)
_OF_A_QUOTA = (
    Quantity("threads", "threads_running", units.count, "that computed", leaves=1),
    Quantity(
        "stopped",
        "throttled_share",
        units.percent,
        "the share of periods of 100 ms in which the quota was used up",
        leaves=0,
    ),
)
QUANTITIES = (
    _P50,
    Quantity("its interval", "p50_low_us", units.times, "95 % interval of p50", "p50_high_us"),
    Quantity("p90", "p90_us", units.time, "90 % of the calls are faster", leaves=8),
    _P99,
    _P999,
    _RATIO,
    Quantity("95 % interval", "ratio_low", units.interval, "of the ratio", "ratio_high", leaves=3),
    Quantity("verdict", "verdict", str, "what the interval of the ratio says", leaves=4),
    Quantity("starts", "starts", units.count, "processes that were started and timed", leaves=5),
    Quantity(
        "cold start",
        "cold_start_s",
        units.seconds,
        "from the start of a process to its first answer",
        leaves=9,
    ),
    Quantity("memory", "peak_rss_mib", units.mebibytes, "the peak of the process", leaves=10),
    LINES,
    Quantity("disk to run", "installed_mib", units.mebibytes, "the packages that a call needs"),
    Quantity(
        "to convert",
        "converter_mib",
        units.mebibytes,
        "further packages, which only write its model file",
    ),
    Quantity("converting", "conversion_s", units.seconds, "the model, for this backend", leaves=5),
    Quantity("file", "file_mib", units.mebibytes, "of the converted model", leaves=6),
    Quantity("images/s", "images_per_s", units.rate, "the best of all batch sizes"),
    Quantity("GPU memory", "gpu_mib", units.mebibytes, "of the process, on the GPU"),
    Quantity("calls", "samples", units.count, "that were timed"),
)
PRECISION = Quantity("computes in", "precision", str, "the precision", leaves=0)
OFF = Quantity(
    "off by",
    "difference",
    "{:.1e}".format,
    "its largest difference from the reference",
    leaves=0,
)


def quantities_of(rules: Rules) -> tuple[Quantity, ...]:
    """Those of a run, the ratio's interval with its level."""
    title = f"{units.percent(rules.confidence, places=0)} interval"
    return tuple(
        replace(one, title=title) if one.key == "ratio_low" else one for one in _ordered(rules)
    )


def _ordered(rules: Rules) -> tuple[Quantity, ...]:
    """Of calls at an interval the tail comes first."""
    if rules.quota:
        tail = (_MEAN, _P50, replace(_P99, leaves=0), replace(_P999, leaves=1))
        others = (one for one in QUANTITIES if one not in (_P50, _P99, _P999))
        return (*tail, *_OF_A_QUOTA, *others)
    if (within_s := rules.paced_within_s) is None:
        return QUANTITIES
    first = (
        _P50,
        replace(_P99, leaves=0),
        Quantity(
            f"over {units.span(within_s)}",
            "over_deadline",
            units.percent,
            "the share of calls that take longer",
            leaves=0,
        ),
        Quantity(
            "p99's interval",
            "p99_low_us",
            units.times,
            "95 % interval of p99",
            "p99_high_us",
            leaves=1,
        ),
    )
    rest = (one for one in QUANTITIES if one not in (_P50, _P99))
    return (*first, *(replace(one, leaves=2) if one is _RATIO else one for one in rest))


def in_text(quantities: Sequence[Quantity]) -> list[Quantity]:
    """Those of the terminal and of Markdown."""
    return [one for one in quantities if one.leaves is not None]


def known(quantities: Sequence[Quantity], rows: Sequence[Record]) -> list[Quantity]:
    """Those with a value in some row."""
    return [one for one in quantities if any(row.get(one.key) is not None for row in rows)]


def by_batch(rows: Sequence[Record]) -> list[Quantity]:
    """The throughput, the best and with each batch size."""
    best = Quantity("best images/s", "images_per_s", units.count, "of all sizes", leaves=0)
    sizes = sorted({size for row in rows for size in row["rates"]})
    return [best] + [
        Quantity(f"{size} a call", f"rate-{size}", units.count, "images a second", leaves=number)
        for number, size in enumerate(sizes, 1)
    ]
