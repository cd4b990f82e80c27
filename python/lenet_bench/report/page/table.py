"""Every rung's figures in one table, which a script makes sortable and filterable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from .. import units
from ..figures.ratio import interval
from ..figures.throughput import curve
from ..markup import Markup, element, join
from ..measured import Entry, Measured


@dataclass(frozen=True)
class Column:
    """One column: what it is called, what it sorts by, and how that reads."""

    title: str
    value: Callable[[Entry], float | str | None]
    spell: Callable[[Entry], str]
    explained: str


def _figure(
    title: str,
    value: Callable[[Entry], float | None],
    spell: Callable[[float | None], str],
    explained: str,
) -> Column:
    return Column(title, value, lambda entry: spell(value(entry)), explained)


def _best_rate(entry: Entry) -> float | None:
    return max((rate for _, rate in curve(entry)), default=None)


def _memory(entry: Entry) -> float | None:
    return entry.rung.resources.peak_rss_mib if entry.rung.resources else None


def _threads(entry: Entry) -> float | None:
    return entry.rung.resources.threads_running if entry.rung.resources else None


def _cpu_us(entry: Entry) -> float | None:
    """CPU time a call, of all threads."""
    return median(turn.cpu_ns / len(turn.samples_ns) for turn in entry.rung.turns) / 1000


#: What one asks first is first: a desk shows ten of them, a phone three.
_COLUMNS = (
    _figure("p50", lambda e: e.summary.p50_us, units.time, "median time of one image"),
    _figure("ratio", lambda e: e.summary.ratio, units.ratio, "median against the baseline's"),
    Column("interval", lambda e: e.summary.ratio_low, interval, "where the ratio lies"),
    Column(
        "verdict",
        lambda e: e.summary.verdict or "",
        lambda e: e.summary.verdict or units.NONE,
        "what may be said of the ratio",
    ),
    _figure("lines", lambda e: e.lines_of_code, units.count, "lines of code of the exhibit"),
    _figure("cold start", lambda e: e.rung.cold_start_s, units.seconds, "to the first answer"),
    _figure("memory", _memory, units.mebibytes, "most that the process held"),
    _figure("disk", lambda e: e.rung.installed_mib, units.mebibytes, "installed packages"),
    _figure("images/s", _best_rate, units.rate, "the best throughput of all batch sizes"),
    _figure(
        "energy",
        lambda e: e.rung.gpu.energy_mj if e.rung.gpu else None,
        lambda mj: units.NONE if mj is None else f"{units.digits(mj)} mJ",
        "of the GPU, an inference",
    ),
    _figure("p90", lambda e: e.summary.p90_us, units.time, "90 % of the calls are faster"),
    _figure("p95", lambda e: e.summary.p95_us, units.time, "95 % of the calls are faster"),
    _figure("p99", lambda e: e.summary.p99_us, units.time, "99 % of the calls are faster"),
    _figure("p99.9", lambda e: e.summary.p999_us, units.time, "99.9 % of the calls are faster"),
    _figure("mean", lambda e: e.summary.mean_us, units.time, "mean time of one image"),
    _figure("minimum", lambda e: e.summary.minimum_us, units.time, "the fastest call"),
    _figure("CPU time", _cpu_us, units.time, "CPU time of all threads, a call"),
    _figure("threads", _threads, units.count, "threads that really ran"),
    _figure("calls", lambda e: e.summary.samples, units.count, "timed calls"),
)


def table(measured: Measured) -> Markup:
    """The table, without the columns that nothing is known for."""
    if not measured.entries:
        return Markup("")
    several = len(measured.series) > 1
    columns = [
        column
        for column in _COLUMNS
        if any(column.spell(entry) != units.NONE for entry in measured.entries)
    ]
    names = ["rung", *["where"] * several]
    head = element(
        "tr",
        *(element("th", name, scope="col") for name in names),
        *(element("th", c.title, scope="col", title=c.explained) for c in columns),
    )
    rows = [
        element("tr", *_cells(entry, columns, several)) for row in measured.rows() for entry in row
    ]
    drawn = element(
        "table",
        element("caption", "Every rung that was timed; the fastest is first"),
        element("thead", head),
        element("tbody", *rows),
        id="rungs",
    )
    return join(
        [
            element("div", _filter(), class_="controls", hidden=True),
            element(
                "div", drawn, class_="scroll", tabindex="0", role="region", aria_label="All figures"
            ),
            element("details", element("summary", "What the columns are"), _explained(columns)),
        ]
    )


def _explained(columns: Sequence[Column]) -> Markup:
    pairs = [(element("dt", c.title), element("dd", c.explained)) for c in columns]
    return element("dl", *(part for pair in pairs for part in pair))


def _filter() -> Markup:
    return element(
        "p",
        element("label", "Show rungs with ", for_="filter"),
        element("input", id="filter", type="search", autocomplete="off", spellcheck="false"),
        element("output", id="shown", for_="filter"),
    )


def _cells(entry: Entry, columns: list[Column], several: bool) -> list[Markup]:
    cells = [element("th", *_breakable(entry.name), scope="row")]
    if several:
        cells.append(element("td", entry.where, class_="text"))
    for column in columns:
        value = column.value(entry)
        told = "" if value is None else value if isinstance(value, str) else f"{value:.9g}"
        text = "text" if isinstance(value, str) else None
        cells.append(element("td", column.spell(entry), data_value=told, class_=text))
    return cells


def _breakable(name: str) -> list[str]:
    """A phone breaks a long name after its rung, not within a word."""
    rung, colon, variant = name.partition(":")
    return [f"{rung}:", element("wbr"), variant] if colon else [rung]
