"""What changed from release to release: the steps that are real, a table, and a picture."""

import itertools
import json
from collections.abc import Iterator, Sequence
from math import exp, log
from pathlib import Path
from statistics import fmean, stdev
from typing import NamedTuple

from lenet_bench.questions.share import SUFFIX
from lenet_bench.registry import without_version
from lenet_bench.results import BackendResult, Result, read_result, start_medians_us
from lenet_bench.results.statistics import beside_us
from lenet_bench.show.figures.records import Record
from lenet_bench.show.figures.vega import LEGEND, Spec, colour, layer, whole
from lenet_bench.show.markdown import table as markdown
from lenet_bench.units import NONE, interval, mebibytes, percent, ratio, time

MATTERS = 0.03
ERRORS = 0.05  # of all comparisons together
AGAIN, DATES = "again", "dates.json"
NETWORKS = ("mlp", "lenet", "resnet50")
INK = colour("ink")


class Step(NamedTuple):
    """One release of an API beside the one before it, on one network."""

    api: str
    network: str
    old: str
    new: str
    ratio: float
    low: float
    high: float

    @property
    def matters(self) -> bool:
        return self.low > 1 + MATTERS or self.high < 1 / (1 + MATTERS)


def read(folder: Path) -> list[Result]:
    return [read_result(path) for path in sorted(folder.glob(f"*{SUFFIX}"))]


def releases(result: Result) -> Iterator[list[BackendResult]]:
    """The releases of each API that ran, the oldest first."""
    of: dict[str, list[BackendResult]] = {}
    for row in result.backends:  # in the order of the command, which is that of the releases
        if row.status == "ok" and row.summary:
            of.setdefault(without_version(row.name), []).append(row)
    yield from (rows for rows in of.values() if len(rows) > 1)


def version_of(row: BackendResult) -> str:
    return row.name.partition("==")[2]


def compared(old: BackendResult, new: BackendResult, errors: float) -> tuple[float, float, float]:
    """The mean ratio of two releases in the same round, and its interval: Student's, of logs."""
    from scipy import stats  # type: ignore[import-untyped]

    one, other = beside_us(new.starts, old.starts), start_medians_us(new.starts)
    logs = [log(other[number] / one[number]) for number in one]
    within = stats.t.ppf(1 - errors / 2, len(logs) - 1) * stdev(logs) / len(logs) ** 0.5
    middle = fmean(logs)
    return exp(middle), exp(middle - within), exp(middle + within)


def pairs(results: Sequence[Result]) -> list[tuple[str, BackendResult, BackendResult]]:
    """The network, and two neighbouring releases of an API."""
    return [
        (result.rules.network, old, new)
        for result in results
        for rows in releases(result)
        for old, new in itertools.pairwise(rows)
    ]


def steps(results: Sequence[Result], errors: float) -> list[Step]:
    """Each release beside the one before."""
    return [
        Step(
            without_version(new.name),
            network,
            version_of(old),
            version_of(new),
            *compared(old, new, errors),
        )
        for network, old, new in pairs(results)
    ]


def found(results: Sequence[Result]) -> list[Step]:
    """The steps of the first run that matter, corrected for the number of all."""
    every = steps(results, ERRORS / max(1, len(pairs(results))))
    return [step for step in every if step.matters]


def seen_again(first: Sequence[Step], second: Sequence[Result]) -> Iterator[tuple[Step, Step]]:
    """Those that matter in the second run, too, and in the same direction."""
    measured = {step[:4]: step for step in steps(second, ERRORS)}
    for step in first:
        again = measured.get(step[:4])
        if again and again.matters and (again.ratio > 1) == (step.ratio > 1):
            yield step, again


def releasesteps(folder: Path) -> Iterator[str]:
    """How many steps there were, and those that are real, the largest first."""
    results = read(folder)
    first = found(results)
    both = list(seen_again(first, read(folder / AGAIN)))
    both.sort(key=lambda one: -abs(log(one[0].ratio)))
    yield (
        f"Of {len(pairs(results))} steps from a release to the next, {len(first)} changed the "
        f"time of a call by more than {percent(MATTERS)}. A second run found {len(both)} of these."
    )
    yield ""
    titles = ("API", "network", "from", "to", "ratio", "interval", "second run", "95 % interval")
    rows = [
        (*step[:4], *(cell for one in (step, again) for cell in within(one)))
        for step, again in both
    ]
    yield from markdown(titles, rows, titles[:4])


def within(step: Step) -> tuple[str, str]:
    return ratio(step.ratio), interval(step.low, step.high)


def newestreleases(folder: Path) -> Iterator[str]:
    """An API a row: its newest release beside the oldest that runs on each network."""
    apis: dict[str, dict[str, dict[str, BackendResult]]] = {}
    for result in read(folder):
        for own in releases(result):
            networks = apis.setdefault(without_version(own[0].name), {})
            networks[result.rules.network] = {version_of(row): row for row in own}
    titles = ("API", "oldest", "newest", *NETWORKS, "import", "first call", "disk")
    cells = []
    for name, networks in apis.items():
        first, *others = networks.values()
        oldest, *_, newest = (one for one in first if all(one in other for other in others))
        ends = {network: (rows[oldest], rows[newest]) for network, rows in networks.items()}
        old, new = ends["lenet"]
        calls = (call(*ends[network]) for network in NETWORKS)
        imports = changed(old.median_s("import_s"), new.median_s("import_s"))
        first_call = changed(old.median_s("first_s"), new.median_s("first_s"))
        sizes = f"{mebibytes(old.installed_mib)} to {mebibytes(new.installed_mib)}"
        cells.append((name, oldest, newest, *calls, imports, first_call, sizes))
    yield from markdown(titles, cells, titles[:3])


def call(old: BackendResult, new: BackendResult) -> str:
    """1.05 (1.02-1.08)."""
    middle, low, high = compared(old, new, ERRORS)
    return f"{ratio(middle)} ({interval(low, high)})"


def changed(old: float | None, new: float | None) -> str:
    return NONE if old is None or new is None else f"{time(1e6 * old)} to {time(1e6 * new)}"


def picture(folder: Path) -> tuple[Spec, list[Record]]:
    """A line an API: its time over that of its newest release, by the day of the release."""
    days = json.loads((folder / DATES).read_text())
    rows: list[Record] = []
    for result in read(folder):
        for own in releases(result):
            for row in own:
                middle, *_ = compared(own[-1], row, ERRORS) if row is not own[-1] else (1.0,)
                api, version = without_version(row.name), version_of(row)
                rows.append(
                    {
                        "api": api,
                        "network": result.rules.network,
                        "day": days[api.partition(":")[0]][version],
                        "ratio": middle,
                        "about": f"{api} {version} on {result.rules.network}: {ratio(middle)}",
                    }
                )
    lines = dict(zip(NETWORKS, ("part-4", "part-1", "part-2"), strict=True))
    network = {"domain": list(lines), "range": [colour(one) for one in lines.values()]}
    day = {"title": None, "format": "%Y", "tickCount": "year", "grid": False}
    height = {"title": "ratio to the newest", "values": [0.75, 1, 1.25, 1.5, 2], "format": "~r"}
    panel = {
        "width": 190,
        "height": 120,
        "encoding": {
            "x": {"field": "day", "type": "temporal", "axis": day},
            "y": {
                "field": "ratio",
                "type": "quantitative",
                "scale": {"type": "log", "nice": False},
                "axis": height,
            },
            "color": {"field": "network", "scale": network, "legend": LEGEND},
        },
        "layer": [
            layer({"type": "line", "strokeWidth": 2}),
            layer({"type": "point", "size": 40}, description={"field": "about"}),
        ],
    }
    by_api = {"field": "api", "title": None, "header": {"labelFontSize": 14, "labelColor": INK}}
    return whole([], facet=by_api, columns=3, spec=panel), rows
