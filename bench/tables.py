"""The tables of the README and of docs/, each drawn from a result file: DRAWN has them by kind."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from math import inf, prod
from pathlib import Path
from statistics import median
from typing import Any

import when as which
from conditions import CONDITIONS, PLAIN, fastest_of
from lenet_bench.networks import NETWORKS, Graph, network
from lenet_bench.questions.share import SUFFIX
from lenet_bench.registry import find
from lenet_bench.registry import precision as precision_of
from lenet_bench.results import (
    BackendResult,
    Result,
    breakdowns,
    read_result,
    start_medians_us,
)
from lenet_bench.results.sizes import NEAR, Sized, by_name, since, sized
from lenet_bench.results.statistics import judge, ratio_of
from lenet_bench.results.warnings import disturbance, in_two_modes
from lenet_bench.show import versions as show_versions
from lenet_bench.show.figures.records import Record, Run
from lenet_bench.show.markdown import table as markdown
from lenet_bench.show.page import gather
from lenet_bench.show.sentences import SHORT_LIST, timed, tolerant
from lenet_bench.show.sentences import conditions as measured_how
from lenet_bench.show.sizes import off, ratios, spelt
from lenet_bench.show.why import answer as answer_of
from lenet_bench.units import NONE, count, interval, percent, ratio, time, times
from models import by_call, by_engine, order
from production import callers, freethreaded, idle, quota, withoutgil
from settings.built import BUILT
from settings.tried import MEASURED_ONCE, SETTINGS
from steps import newestreleases, releasesteps

ROOT = Path(__file__).parents[1]
MANY = 10  # times as long
YNNPACK_OFF = "--xla_cpu_experimental_ynn_fusion_type="
#: Of these docs/why.md has a sentence each.
TOLD = ("onednn", "torch", "tensorflow:concrete", "keras:predict_on_batch", "keras")
#: Other runs of LeNet with the README's conditions on that machine; the last is one of `why`.
AGAIN = ("networks/lenet", "networks/control", "why/epyc-zen5-2026-11-27")
PARTS = ROOT / f"results/{AGAIN[-1]}{SUFFIX}"


def backends(path: Path) -> Iterator[str]:
    """A row for each of the fastest backends: the fastest way to call it, and the others' times."""
    (run,) = runs(path)
    result = run.result
    ways: dict[str, list[Record]] = {}
    for way in run.rows:
        ways.setdefault(way["backend"], []).append(way)
    yield measured_how(result)
    yield ""
    ratios = (f"ratio to {result.baseline}", "95 % interval")
    titles = ("backend", "median", *ratios, "lines", "other variants")
    fastest = islice(ways.values(), SHORT_LIST)
    yield from markdown(titles, map(row, fastest), ("backend", "other variants"))
    for said in (in_two_modes(result.backends), tolerant(result), disturbance(result.disturbance)):
        if said:
            yield from ["", f"{said[0].upper()}{said[1:]}."]


def row(ways: list[Record]) -> tuple[str, ...]:
    """The fastest way's numbers, and the others' medians."""
    fastest, *others = ways
    return (
        fastest["name"],
        time(fastest["p50_us"]),
        ratio(fastest["ratio"]),
        interval(fastest["ratio_low"], fastest["ratio_high"]),
        str(fastest["lines_of_code"]),
        ", ".join(f"{way['variant'] or 'plain'} {time(way['p50_us'])}" for way in others),
    )


def modelbrief(path: Path) -> Iterable[str]:
    """One model by its calls."""
    return which.own(*runs(path))


def releasesbrief(folder: Path) -> Iterable[str]:
    """How many releases changed the time of a call."""
    return islice(releasesteps(folder), 1)


def readme_result() -> Path:
    """What the README's answer is drawn from."""
    block = re.search(r"<!-- answer drawn from (\S+)", (ROOT / "README.md").read_text())
    assert block is not None, "the README has no answer"
    return ROOT / block[1]


@cache
def runs(*paths: Path) -> list[Run]:
    """The results as pages and pictures draw them."""
    return gather([(str(path.relative_to(ROOT)), read_result(path)) for path in paths])


def answer(path: Path) -> Iterable[str]:
    """The answer in three sentences."""
    return which.answer([*runs(path), *map(kept, AGAIN)])


def when(path: Path) -> Iterable[str]:
    """The best call for each need, also under other conditions."""
    return which.table(runs(path)[0], kept)


def whenbrief(path: Path) -> Iterable[str]:
    """The README's part of it."""
    return which.brief(runs(path)[0], kept)


def kept(name: str) -> Run:
    return runs(ROOT / f"results/{name}{SUFFIX}")[0]


def beside(path: Path, condition: str) -> Path:
    """The result under that condition, which is in another folder than this one."""
    return path.parents[1] / "conditions" / f"{condition}{SUFFIX}"


def whytold(path: Path) -> Iterator[str]:
    """The sentences on a few backends, and on how many calls the sum is short of the call."""
    every = breakdowns(read_result(path))
    sums = sorted(one.explained for one in every if one.explained)
    yield from bullets(answer_of([one for one in every if one.name in TOLD]))
    yield (
        f"- Of all {len(sums)} calls the parts add up to less than the call in "
        f"{sum(one < 1 for one in sums)}: to {percent(sums[0], sums[-1], places=1)} of it, "
        f"{percent(median(sums), places=1)} at the median."
    )


def bullets(sentences: Iterable[str]) -> Iterator[str]:
    return (f"- {sentence}" for sentence in sentences)


def training(path: Path) -> Iterator[str]:
    """A framework a row, the fastest first, and whether their losses agree."""
    found = json.loads(path.read_text())
    titles = ("framework", "images/s", "loss", "validation", "test")
    rows = [
        (
            run["framework"],
            f"{run['images_per_s']:,.0f}",
            f"{run['epochs'][-1]['loss']:.4f}",
            percent(run["epochs"][-1]["validation_accuracy"], places=2),
            percent(run["test_accuracy"], places=2),
        )
        for run in sorted(found["runs"], key=lambda run: -run["images_per_s"])
    ]
    yield from markdown(titles, rows, titles[:1])
    agreement = found["agreement"]
    yield ""
    yield (
        f"The losses of the first {agreement['steps']} steps are at most "
        f"{agreement['difference']:.1e} apart."
    )


def selftestbrief(path: Path) -> Iterator[str]:
    """How many of the points passed, and what was found where pairs were compared."""
    found = json.loads(path.read_text())
    points, machine = found["points"], found["machine"]["processor"]["model"]
    passed = sum(point["verdict"] == "passed" for point in points)
    sentence = f"On {machine}, {passed} of the {len(points)} points passed."
    for point in points:
        says = point["says"].partition(";")[0]
        if " comparisons" in says or point["verdict"] != "passed":
            verdict = "" if point["verdict"] == "passed" else f" ({point['verdict']})"
            sentence += f" {point['name'].capitalize()}: {says}{verdict}."
    yield sentence


def bystarts(path: Path) -> Iterator[str]:
    """What fewer rounds would have said, of identical backends and of slowed ones."""
    titles = ("rounds", 'called "same"', "called different", "the interval holds 1")
    slowed = ("3 % slower: the interval lies above 1", 'called "slower"')
    rows = []
    for one in json.loads(path.read_text())["by starts"]:
        of = (
            *((one[key], one["comparisons"]) for key in ("same", "wrong", "hold the truth")),
            *((one[key], one["slowdowns"]) for key in ("found", "called slower")),
        )
        rows.append((str(one["starts"]), *(f"{hits} of {tries}" for hits, tries in of)))
    yield from markdown((*titles, *slowed), rows, ())


def decided(path: Path) -> Iterator[str]:
    """How soon `--until decided` ended, and with what."""
    found = json.loads(path.read_text())
    titles = (
        "pair",
        "backend",
        "decided correctly",
        "in time",
        "seconds, median (range)",
        "quiet share",
    )
    rows = []
    for point, backend in dict.fromkeys((one["point"], one["backend"]) for one in found["runs"]):
        own = [one for one in found["runs"] if (point, backend) == (one["point"], one["backend"])]
        right = [one for one in own if one["said"] == one["expected"]]
        soon = sum(one["took_s"] <= one["within_s"] for one in right)
        took, quiet = ([one[key] for one in own] for key in ("took_s", "quiet_share"))
        rows.append(
            (
                point,
                backend,
                f"{len(right)} of {len(own)}",
                f"{soon} of {len(own)} ({own[0]['within_s']} s)",
                f"{median(took):.0f} ({min(took):.0f}-{max(took):.0f})",
                percent(min(quiet), max(quiet), places=0),
            )
        )
    yield from markdown(titles, rows, titles[:2])


def starts(path: Path) -> Iterator[str]:
    """The spread of the starts of each backend, by its addresses and pages."""
    found = json.loads(path.read_text())
    yield f"{found['conditions']}:"
    yield ""
    cells: dict[str, list[str]] = {}
    for one in found["rows"]:
        cells.setdefault(one["backend"], []).append(bounded(one, "spread", places=1))
    ways = (f"{addresses} addresses, {pages} pages" for addresses, pages in found["ways"])
    rows = ((name, *own) for name, own in cells.items())
    yield from markdown(("backend", *ways), rows, ("backend",))


LOOPS = ("the first loop", "both loops")


def bounded(one: Mapping[str, Any], key: str, *, places: int) -> str:
    """A share with its interval."""
    within = percent(*one[f"{key}_low_high"], places=places)
    return f"{percent(one[key], places=places)} ({within})"


def ofprocesses(path: Path) -> Iterator[str]:
    """How far the times of kept processes scatter, and what of it belongs to the process."""
    found = json.loads(path.read_text())
    yield f"{found['turns']} turns of {found['processes']} processes of each backend:"
    yield ""
    rows = (
        (
            one["backend"],
            LOOPS[one["loops"] == 2],
            str(one["times"]),
            percent(one["deviation"], places=1),
            bounded(one, "of_process", places=0),
        )
        for one in found["kept"]
    )
    own = ("times that count", "standard deviation", "share of variance between processes")
    yield from markdown(("backend", "by", *own), rows, ("backend", "by"))


def whichloops(path: Path) -> Iterator[str]:
    """What is said of drawn pairs of identical backends by one known loop, and by both."""
    found = json.loads(path.read_text())
    yield f"Identical backends, {found['rounds']} starts each, drawn from one run:"
    yield ""
    rows = (
        (
            one["backend"],
            LOOPS[one["second loop"]],
            percent(one["same"] / one["draws"], places=0),
            percent(one["different"] / one["draws"], places=0),
            percent(one["half"], places=1),
        )
        for one in found["decide"]
    )
    own = ("called the same", "called different", "half of the interval, median")
    yield from markdown(("backend", "by", *own), rows, ("backend", "by"))


def knownloops(path: Path) -> Iterator[str]:
    """How far rounds' ratios scatter with times divided by a power of a loop beside them."""
    found = json.loads(path.read_text())
    yield f"Of {found['pairs']} pairs of identical backends, the median and the range:"
    yield ""
    rows: dict[str, list[str]] = {}
    for one in found["adjust"]:
        middle, *bounds = one["times"]
        rows.setdefault(one["loop"], []).append(f"{ratio(middle)} ({interval(*bounds)})")
    powers = dict.fromkeys(f"{one['power']:g}" for one in found["adjust"])
    titles = ("divided by the loop in the", *(f"to the power {power}" for power in powers))
    yield from markdown(titles, ((loop, *own) for loop, own in rows.items()), titles[:1])


def in_folder(folder: Path) -> list[Path]:
    """The results there."""
    return sorted(folder.glob(f"*{SUFFIX}"))


def fastestsettings(folder: Path) -> Iterator[str]:
    """The fastest of what was tried beside each backend's fastest variant, a backend a row."""
    rows = [tried_beside(read_result(path)) for path in in_folder(folder)]
    titles = ("fastest variant", "median", "the fastest of what else was tried", "its median")
    yield from markdown((*titles, "ratio", "95 % interval"), rows, (titles[0], titles[2]))


def tried_beside(result: Result) -> tuple[str, ...]:
    """Of one backend: the fastest variant in float32, and the fastest setting beside it."""
    own = [row for row in result.backends if "/" not in row.name]
    best = min((row for row in own if precision_of(row.name) == "float32"), key=median_us)
    others = (row for row in result.backends if "/" in row.name and tries_of(row))
    other = min(others, key=median_us)
    (median, its_median, *ratio), _ = compared(best, other, result)
    its_median = other.status if its_median == NONE else its_median
    return best.name, median, tries_of(other) or "", its_median, *ratio


def notatbest(path: Path) -> Iterator[str]:
    """The backends of a result that are known to be faster in a way which it does not have."""
    run = read_result(path)
    measured = {one.name for one in run.backends}
    fastest = fastest_of(timed(run))
    for file in in_folder(path.parents[1] / "settings"):
        result = read_result(file)
        rows = {one.name: one for one in result.backends}
        base = rows.get(fastest.get(file.name.removesuffix(SUFFIX), ""))
        others = [one for one in result.backends if one.name not in measured]
        best = min((one for one in others if precision_of(one.name) == "float32"), key=median_us)
        if base is None or not base.summary:
            continue
        (*_, share, within), verdict = compared(base, best, result)
        if verdict == "faster":
            yield (
                f"- `{base.name}` takes {share} ({within}) of its time as "
                f"`{best.name}`: {tries_of(best)}"
            )


def alternatives(backend: str) -> dict[str, str]:
    """What each setting of a backend tries."""
    still = {name: setting.says for name, setting in SETTINGS.get(backend, {}).items()}
    return {**still, **MEASURED_ONCE.get(backend, {})}


def tries_of(row: BackendResult) -> str | None:
    """What a setting tries, or what the registry says of a variant of its own."""
    backend, is_tried, setting = row.name.partition("/")
    if is_tried:
        return alternatives(backend).get(setting)
    known, variant = find(row.name)
    return known.variants.get(variant, "the only variant")


def median_us(row: BackendResult) -> float:
    """Its median; infinity, the last in an order, where it was not timed."""
    return row.p50_us or inf


def conditions(path: Path) -> Iterator[str]:
    """How it was measured under each condition, and the fastest backends' medians."""
    results = {CONDITIONS[PLAIN].title: read_result(path)}
    for name, one in CONDITIONS.items():
        if name != PLAIN and not one.backends:
            results[one.title] = read_result(beside(path, name))
    yield from bullets(f"*{title}*: {measured_how(result)}" for title, result in results.items())
    first, *others = ({one.name: one for one in timed(result)} for result in results.values())
    names = [name for name in first if any(name in other for other in others)]
    rows = [(name, *(in_one(of.get(name)) for of in (first, *others))) for name in names]
    yield from ["", *markdown(("backend", *results), rows[:SHORT_LIST], ("backend",))]


def installedbrief(path: Path) -> Iterator[str]:
    """What takes many times as long with its default threads as with one."""
    names = ("as-installed", "one-thread")
    default, one = ({row.name: row for row in timed(read_result(beside(path, n)))} for n in names)
    slow = [n for n in default if n in one and median_us(default[n]) > MANY * median_us(one[n])]
    both = [
        f"`{n}` takes {with_bounds(default[n])} with its default threads and "
        f"{with_bounds(one[n])} with one"
        for n in slow
    ]
    yield f"On two cores, beside a busy program, {'. '.join(both)}."


def with_bounds(row: BackendResult) -> str:
    """640 ms (637 ms to 641 ms)."""
    assert row.summary
    within = times(row.summary.p50_low_us, row.summary.p50_high_us)
    return f"{time(row.p50_us)} ({within})"


def compared(one: BackendResult, other: BackendResult, result: Result) -> tuple[list[str], str]:
    """Both medians, the other's over the one's and the interval of that; and the verdict."""
    us, other_us = one.p50_us, other.p50_us
    if not us or not other_us:
        return [time(us), time(other_us), NONE, NONE], judge(None, result.rules.margin)
    found = ratio_of(other, one)
    cells = [time(us), time(other_us), ratio(found.value), interval(*found.bounds)]
    return cells, judge(found, result.rules.margin)


def in_one(row: BackendResult | None) -> str:
    """A backend's median under one condition, and its ratio to the baseline of that run."""
    if row is None or row.summary is None:
        return NONE
    found = row.summary
    within = f", {interval(found.ratio_low, found.ratio_high)}" if found.ratio_low else ""
    return f"{time(found.p50_us)} ({ratio(found.ratio)}{within})"


def verified(path: Path) -> Iterator[str]:
    """How many of the test images all calls read right."""
    every = json.loads(path.read_text())["backends"]
    right = sorted(one["accuracy"] for one in every)
    yield (
        f"{len(every)} calls read MNIST's {count(every[0]['images'])} test images, and each reads "
        f"{percent(right[0], right[-1], places=2)} of them right."
    )


def precisionbrief(path: Path) -> Iterator[str]:
    """What a verification found of the variants that compute in less than float32."""
    every = json.loads(path.read_text())["backends"]
    found = [one for one in every if precision_of(one["backend"]) != "float32"]
    accuracies = [one["accuracy"] for one in found]
    farthest = max(found, key=lambda one: float(one["max_difference"]))
    yield (
        f"Of MNIST's 10,000 test images, the {len(found)} variants classify "
        f"{percent(min(accuracies), places=2)} to {percent(max(accuracies), places=2)} right. At "
        f"most {max(len(one['disagreements']) for one in found)} digits differ from the float64 "
        f"reference's, and probabilities by at most {farthest['max_difference']:.2f} "
        f"(`{farthest['backend']}`)."
    )


@cache
def of_sizes(folder: Path) -> list[Sized]:
    """Each backend on each network."""
    return sized([read_result(folder / f"{name}{SUFFIX}") for name in NETWORKS])


def limits_us(folder: Path) -> dict[str, float]:
    """The least time of each network at the rates of the folder's machine."""
    rates = json.loads((folder / "limit.json").read_text())
    multiplied, read = rates["multiply_adds_per_s"], rates["bytes_per_s"]
    return {name: 1e6 * least_s(network(name), multiplied, read[name]) for name in NETWORKS}


def least_s(of: Graph, multiplied: float, read: float) -> float:
    """The sum over the layers, which follow each other, of the longer of two times.

    One is that of the multiply-adds, which Winograd's method has fewer of. The other is that of
    reading the weights, without the embedding's, of which a call reads a few rows.
    """
    used = [layer for layer in of.computed if layer.multiply_adds]
    weights = (sum(map(prod, layer.parameters.values())) for layer in used)
    of_layers = zip((layer.multiply_adds for layer in used), weights, strict=True)
    return sum(max(done / multiplied, 4 * floats / read) for done, floats in of_layers)


def networks(folder: Path) -> Iterator[str]:
    """How many times as long as the fastest each backend takes on each network, and the limit."""
    every, limits = of_sizes(folder), limits_us(folder)
    titles, *rows = ratios(every, spelt)
    least = (ratio(limits[one.network] / one.us) for one in every if one.ratio == 1)
    yield from markdown(titles, [*rows, ("the machine's limit", *least)], titles[:1])
    for said in (*off(every), near(every)):
        yield from ["", said]


def near(every: Sequence[Sized]) -> str:
    """From which network on backends are near the fastest, with the largest and without it."""
    largest = every[-1].network

    def those(among: Sequence[Sized]) -> str:
        sizes = {name: since(own) for name, own in by_name(among).items()}
        return ", ".join(f"`{name}` from {one.network} on" for name, one in sizes.items() if one)

    without = [one for one in every if one.network != largest]
    return (
        f"Less than {percent(NEAR, places=0)} longer than the fastest, by the whole interval, take "
        f"{those(every)}; without {largest}, {those(without)}. No other does from any network on."
    )


def control(path: Path) -> Iterator[str]:
    """LeNet by each builder beside LeNet by hand."""
    result = read_result(path)
    rows = []
    for row in result.backends:
        name, is_built, _ = row.name.partition(BUILT)
        if is_built:
            cells, verdict = compared(result.backend(name), row, result)
            rows.append((name, *cells, verdict))
    titles = ("backend", "by hand", "built", "ratio", "95 % interval", "verdict")
    yield from markdown(titles, rows, ("backend", "verdict"))


def ongpu(path: Path) -> Iterator[str]:
    """Each backend of a run on a GPU, the fastest first, and how far its starts lie apart."""
    result = read_result(path)
    cudnn_us = result.backend("cudnn").p50_us or inf
    rows = []
    for one in timed(result):
        starts = start_medians_us(one.blocks).values()
        apart = times(min(starts), max(starts)) if len(starts) > 1 else "one start"
        rows.append((one.name, time(one.p50_us), apart, ratio((one.p50_us or inf) / cudnn_us)))
    yield measured_how(result)
    yield ""
    titles = ("backend", "median", "medians of its starts", "ratio to cudnn")
    yield from markdown(titles, rows, ("backend",))


def gpubatches(path: Path) -> Iterator[str]:
    """Images a second in batches on a GPU."""
    measured = [one for one in read_result(path).backends if one.batches]
    sizes = sorted({batch.size for one in measured for batch in one.batches})
    rows = []
    for one in measured:
        rates = {batch.size: count(batch.images_per_s) for batch in one.batches}
        rows.append((one.name, *(rates.get(size, NONE) for size in sizes)))
    titles = ("backend", *(f"{count(size)} images a call" for size in sizes))
    yield from markdown(titles, rows, ("backend",))


def modelcalls(folder: Path) -> Iterable[str]:
    """Each model of a framework by its calls."""
    return by_call(in_order(folder))


def modelengines(folder: Path) -> Iterable[str]:
    """Each model by the engines that read it."""
    return by_engine(in_order(folder))


def upgrade(path: Path) -> Iterator[str]:
    """What a comparison of versions says."""
    result = read_result(path)
    yield measured_how(result)
    yield ""
    found, columns = show_versions.versions(result), show_versions.COLUMNS
    rows = ([row["name"], *(column.text(row) for column in columns)] for row in found)
    titles = ("backend", *(column.title for column in columns))
    yield from markdown(titles, rows, ("backend", "verdict"))
    yield ""
    yield from bullets(show_versions.said(found, result.rules.margin))


def tfdatawait(path: Path) -> Iterator[str]:
    """How many runs of docs/upstream/tf_data_wait.py waited."""
    study = json.loads(path.read_text())
    rows = []
    for one in study["runs"]:
        kind = one["mend"] or ("autotuned" if one["autotuned"] else "the control")
        times_us = (1000 * one[part] for part in ("median_ms", "longest_ms"))
        waited = f"{one['waits']} of {one['runs']}"
        rows.append((one["tensorflow"], str(one["cores"]), kind, waited, *map(time, times_us)))
    titles = ("TensorFlow", "cores", "pipeline", "waited", "median", "longest")
    yield f"On {study['processor']}, {study['date']}:"
    yield ""
    yield from markdown(titles, rows, (titles[0], titles[2]))


def jaxynnpack(path: Path) -> Iterator[str]:
    """A stage of ResNet-50 a row, by docs/upstream/jax_ynnpack.py: each way's processes."""
    study = json.loads(path.read_text())
    groups: dict[tuple[str, str], list[Record]] = {}
    for one in study["runs"]:
        groups.setdefault((one.pop("jax"), one.pop("XLA_FLAGS")), []).append(one)
    versions = dict.fromkeys(version for version, _ in groups)
    rows = []
    for stage in study["runs"][0]:
        cells = []
        for version in versions:
            for flags in ("", YNNPACK_OFF):
                us = [1000 * one[stage] for one in groups[version, flags]]
                cells.append(f"{time(median(us))} ({times(min(us), max(us))}; {len(us)})")
        rows.append((stage, *cells))
    ways = ("as it is", "without YNNPACK")
    titles = ("stage", *(f"{version} {way}" for version in versions for way in ways))
    yield f"On {study['processor']}; the median process, the range of all, and how many:"
    yield ""
    yield from markdown(titles, rows, titles[:1])


def in_order(folder: Path) -> list[Run]:
    """The models there, the smallest first."""
    return order([run for path in in_folder(folder) for run in runs(path)])


DRAWN: dict[str, Callable[[Path], Iterable[str]]] = {
    kind.__name__: kind
    for kind in (
        answer,
        when,
        whenbrief,
        backends,
        whytold,
        training,
        selftestbrief,
        bystarts,
        decided,
        starts,
        ofprocesses,
        whichloops,
        knownloops,
        fastestsettings,
        notatbest,
        conditions,
        installedbrief,
        verified,
        modelbrief,
        releasesbrief,
        precisionbrief,
        networks,
        control,
        ongpu,
        gpubatches,
        modelcalls,
        modelengines,
        upgrade,
        newestreleases,
        releasesteps,
        callers,
        quota,
        idle,
        freethreaded,
        withoutgil,
        tfdatawait,
        jaxynnpack,
    )
}
