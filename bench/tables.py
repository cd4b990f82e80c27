"""The tables of the README and of docs/, each drawn from a result file: DRAWN has them by kind."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice
from math import inf
from pathlib import Path
from statistics import median as middle
from textwrap import wrap
from typing import Any

from compared import compared
from conditions import CONDITIONS, fastest_of
from control import rows as control_rows
from control import table as control_table
from lenet_bench.networks import NETWORKS
from lenet_bench.questions.share import SUFFIX
from lenet_bench.registry import find
from lenet_bench.registry import precision as precision_of
from lenet_bench.results import (
    BackendResult,
    Breakdown,
    Result,
    Summary,
    breakdowns,
    read_result,
    start_medians_us,
)
from lenet_bench.results.breakdown import GROUPS, grouped
from lenet_bench.results.sizes import NEAR as SIZE_NEAR
from lenet_bench.results.sizes import Sized, by_api, by_name, has_slower_kernels, since, sized
from lenet_bench.results.statistics import FEWEST_STARTS
from lenet_bench.results.warnings import disturbance, in_two_modes
from lenet_bench.show.figures.rows import Record, Run
from lenet_bench.show.markdown import table as markdown
from lenet_bench.show.page import gather
from lenet_bench.show.sentences import SHORT_LIST, backend_of, timed, tolerant
from lenet_bench.show.sentences import conditions as measured_how
from lenet_bench.show.sizes import millions, ratios, spelt, with_interval
from lenet_bench.show.terminal.screen import Screen
from lenet_bench.show.why import answer as answer_of
from lenet_bench.units import NONE, count, interval, percent, ratio, time, times
from lenet_bench.weights import read_weights
from self_test import share_interval
from settings.tried import MEASURED_ONCE, SETTINGS
from when import answer, when

ROOT = Path(__file__).parents[1]
COUNTED = ("Python calls", "waits")  # of a call
DIFFERENT = ("faster", "slower")  # verdicts on a builder
CLOSE = 0.05  # how far the parts of a call may be from it
MANY = 10  # times as long
NEAR = 1.25  # times as large, or as small, as a ratio on another machine
#: Of these docs/why.md has a sentence each.
TOLD = ("onednn", "torch", "tensorflow:concrete", "keras:predict_on_batch", "keras")
#: Variants in C++, and the nearest in Python.
PAIRS = {
    "tensorflow:cpp": "tensorflow:session",
    "onnxruntime:cpp": "onnxruntime",
    "openvino:cpp": "openvino",
    "torch:cpp": "torch",
}
ON_GPU = ROOT / "results/gpu/h100-2026-11-27" / f"frameworks{SUFFIX}"
BATCHES = (64, 512)
FASTEST_OTHERS = 3  # that are named
SCREEN = Screen(columns=100, colour=False)


def backends(path: Path) -> Iterator[str]:
    """A row for each of the fastest backends: the fastest way to call it, and the others' times."""
    (run,) = runs(path)
    ways: dict[str, list[Record]] = {}
    for way in run.rows:
        ways.setdefault(way["backend"], []).append(way)
    yield measured_how(run.result)
    yield ""
    ratios = (f"ratio to {run.result.baseline}", "95 % interval")
    titles = ("backend", "median", *ratios, "lines", "other variants")
    fastest = islice(ways.values(), SHORT_LIST)
    yield from markdown(titles, map(row, fastest), ("backend", "other variants"))
    if modes := in_two_modes(run.result.backends):
        yield from paragraph(modes)
    if any(way["starts"] < FEWEST_STARTS for way in run.rows):
        yield ""
        yield f"No interval where a backend started fewer than {FEWEST_STARTS} times."
    if said := tolerant(run.result):
        yield from paragraph(said)
    if said := disturbance(run.result.disturbance):
        link = "[disturbed](docs/measuring.md#a-disturbed-machine)"
        yield from paragraph(said.replace("disturbed", link, 1))


def paragraph(said: str) -> list[str]:
    """A paragraph of one sentence, which begins and ends as such."""
    return ["", f"{said[0].upper()}{said[1:]}."]


def row(ways: list[Record]) -> tuple[str, ...]:
    """The fastest way's numbers, and the others' medians."""
    fastest, *others = ways
    return (
        fastest["name"],
        time(fastest["p50_us"]),
        ratio(fastest["ratio"]),
        interval(fastest["ratio_low"], fastest["ratio_high"]),
        str(fastest["lines_of_code"]),
        ", ".join(f"{way['variant'] or 'plain'} {time(way['p50_us'])}" for way in others) or " ",
    )


def named(path: Path) -> str:
    """The result's name."""
    return path.name.removesuffix(SUFFIX)


def readme_result() -> Path:
    """What the README's table of backends is drawn from."""
    block = re.search(r"<!-- backends drawn from (\S+)", (ROOT / "README.md").read_text())
    assert block is not None, "the README has no table of backends"
    return ROOT / block[1]


@cache
def runs(*paths: Path) -> list[Run]:
    """The results as pages and pictures draw them."""
    return gather([(str(path.relative_to(ROOT)), read_result(path)) for path in paths])


def inshort(path: Path) -> Iterable[str]:
    """The answer in a paragraph."""
    (run,) = runs(path)
    return answer(run)


def whichwhen(path: Path) -> Iterable[str]:
    """The best call for each need, also under other conditions."""
    (run,) = runs(path)
    named = {"two threads": "two-threads", "one call every 20 ms": "idle"}
    named["the same, default threads, beside a busy program"] = "as-installed"
    files = {title: beside(path, name) for title, name in named.items()} | {"a GPU": ON_GPU}
    return when(run, {title: runs(file)[0] for title, file in files.items() if file.exists()})


def beside(path: Path, condition: str) -> Path:
    """The result under that condition, which is in another folder than this one."""
    return path.parents[1] / "conditions" / f"{condition}{SUFFIX}"


def why(path: Path) -> Iterator[str]:
    """The parts of each backend's call, in groups that all have."""
    result = read_result(path)
    found = [one for one in breakdowns(result) if one.parts]
    yield measured_how(result)
    yield ""
    after = ("an operation", "on two cores", *COUNTED)  # without a figure a column is left out
    titles = ("backend", "call", *GROUPS, "sum of parts", "95 % interval", *after)
    rows = map(apart_row, sorted(found, key=lambda one: one.median_us or inf))
    yield from markdown(titles, rows, titles[:1])


def apart_row(one: Breakdown) -> tuple[str, ...]:
    """All times in the call's unit would hide the small ones: each has its own."""
    assert one.operation_us is not None
    assert one.explained is not None
    return (
        one.name,
        time(one.median_us),
        *map(time, grouped(one.parts).values()),
        percent(one.explained, places=0),
        percent(one.explained_low, one.explained_high, places=0),
        time(one.operation_us.us),
        time(one.two_cores_us),
        "-" if one.anatomy is None else f"{sum(one.anatomy.python_calls.values()):,}",
        f"{one.waits:.1f}",
    )


def whyanswer(path: Path) -> Iterable[str]:
    """The same in sentences."""
    return bullets(answer_of(breakdowns(read_result(path))))


def whytold(path: Path) -> Iterable[str]:
    """The sentences on a few backends."""
    return bullets(answer_of([one for one in breakdowns(read_result(path)) if one.name in TOLD]))


def bullets(sentences: Iterable[str]) -> Iterator[str]:
    return (f"- {sentence}" for sentence in sentences)


def closure(folder: Path) -> Iterator[str]:
    """Of how many calls the parts add up, a run a line."""
    for path in reversed(in_folder(folder)):
        every = breakdowns(read_result(path))
        off = {
            one.name: max(1 - one.explained_low, one.explained_high - 1)
            for one in every
            if one.explained_low is not None and one.explained_high is not None
        }
        near = sum(share <= CLOSE for share in off.values())
        farthest = max(off, key=off.__getitem__)
        yield (
            f"- `{named(path)}`: of {len(off)} calls, the parts of {near} add up to within "
            f"{percent(CLOSE)} of the call by their whole interval; those of the farthest, "
            f"`{farthest}`, to within {percent(off[farthest], places=1)}"
        )


def whyparts(path: Path) -> Iterator[str]:
    """Each part of each backend."""
    titles = ("part", "median", "95 % interval", "what was measured")
    for one in breakdowns(read_result(path)):
        if one.parts:
            rows = [
                (part.name, time(part.us), times(part.low_us, part.high_us), part.evidence)
                for part in (*one.parts, *one.beside)
            ]
            yield from [f"### {one.name}", "", *markdown(titles, rows, (titles[0], titles[3])), ""]


def predictwait(path: Path) -> Iterator[str]:
    """Keras' predict of an array and of a data set, with autotuning and without, by network."""
    others = ("without tuning", "predict", "predict_on_batch")
    titles = ("network", "on", "data set", "processor", "waits", *others)
    rows = []
    for network, cores, ways in waits(path):
        tuned = ways["data set"]
        processor = time(1e3 * tuned["cpu_ms"])
        waited = percent(tuned["waited"], places=0)
        of_others = (bounded(ways[way]) for way in others)
        rows.append((network, cores, bounded(tuned), processor, waited, *of_others))
    yield from markdown(titles, rows, titles[:1])


def predictwaitbrief(path: Path) -> Iterator[str]:
    """The same of the largest network in sentences."""
    *_, one_core, two_cores = waits(path)
    for network, cores, ways in (one_core, two_cores):
        tuned = ways["data set"]
        yield (
            f"- {network} on {cores}: `predict` of a data set takes {bounded(tuned)}, of these "
            f"{time(1e3 * tuned['cpu_ms'])} on the processor; without autotuning "
            f"{bounded(ways['without tuning'])}. "
            f"{percent(tuned['waited'], places=0)} of the calls wait."
        )


def waits(path: Path) -> list[tuple[str, str, dict[str, Any]]]:
    """Each network on each number of cores, and what each way takes there."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for one in json.loads(path.read_text())["networks"]:
        found.setdefault((one["network"], one["cores"]), {})[one["way"]] = one
    return [(network, cores, ways) for (network, cores), ways in found.items()]


def bounded(one: Mapping[str, Any]) -> str:
    """What a way takes, with its interval."""
    return with_bounds(*(1e3 * one[field] for field in ("ms", "low_ms", "high_ms")))


def withoutpython(path: Path) -> Iterator[str]:
    """APIs in C++ beside the same in Python, and the lines of both."""
    result = read_result(path)
    yield from [measured_how(result), ""]
    rows: list[tuple[str, ...]] = []
    for in_cpp, in_python in PAIRS.items():
        cpp, python = result.backend(in_cpp), result.backend(in_python)
        cells, _ = compared(python, cpp, result)
        rows.append((in_python, *cells, count(python.lines_of_code), count(cpp.lines_of_code)))
    titles = ("backend", "from Python", "in C++", "C++ / Python", "95 % interval")
    yield from markdown((*titles, "lines in Python", "in C++"), rows, titles[:1])


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


def learnt(path: Path) -> Iterator[str]:
    """How many test images the weights read rightly, with the share's interval."""
    facts = read_weights(path).metadata
    right, of = int(facts["test_correct"]), int(facts["test_images"])
    low, high = share_interval(right, of)
    yield (
        f"These weights were trained with `{facts['framework']}` on {facts['date']}. They read "
        f"{right:,} of MNIST's {of:,} test images rightly: {percent(right / of, places=2)} "
        f"({percent(low, places=2)} to {percent(high, places=2)})."
    )


def selftest(path: Path) -> Iterator[str]:
    """What `bench/self_test.py` found."""
    found = json.loads(path.read_text())
    yield found["conditions"]
    yield ""
    titles = ("point", "verdict", "what it found")
    rows = [(point["name"], point["verdict"], point["says"]) for point in found["points"]]
    yield from markdown(titles, rows, titles)


def selftestbrief(path: Path) -> Iterator[str]:
    """How many of the points passed, and what was found at each of the others."""
    found = json.loads(path.read_text())
    points, machine = found["points"], found["machine"]["processor"]["model"]
    passed = sum(point["verdict"] == "passed" for point in points)
    sentence = f"On {machine}, {passed} of the {len(points)} points passed."
    for point in points:
        if point["verdict"] != "passed":
            share = point["says"].partition(" comparisons")[0]
            sentence += f" {point['verdict'].capitalize()}: {point['name']} ({share} comparisons)."
    yield from wrap(sentence, SCREEN.columns)


def checks(path: Path) -> Iterator[str]:
    """What the package's own checks take of the call that they are the largest share of."""
    found = [
        (part.us / one.median_us, part, one)
        for one in breakdowns(read_result(path))
        for part in one.parts
        if part.name == "checks" and part.low_us and part.low_us > 0 and one.median_us
    ]
    share, part, one = max(found, key=lambda row: row[0])
    yield (
        f"The checks of a backend in Python take at most {percent(share, places=1)} of its call: "
        f"{time(part.us)} ({times(part.low_us, part.high_us)}) with `{one.name}`."
    )


def settings(folder: Path) -> Iterator[str]:
    """What was tried beside the ways of the registry, a backend a file."""
    for path in in_folder(folder):
        yield from [f"### {named(path)}", "", *tried_beside(path), ""]


def in_folder(folder: Path) -> list[Path]:
    """The results there."""
    return sorted(folder.glob(f"*{SUFFIX}"))


def tried_beside(path: Path) -> Iterator[str]:
    """Each way against the fastest in float32 of the registry's."""
    result = read_result(path)
    yield measured_how(result)
    yield ""
    titles = ("setting", "what it tries", "median", "ratio to the fastest variant", "95 % interval")
    known = [row for row in result.backends if tries_of(row)]
    rows = [setting_row(row, result) for row in sorted(known, key=median_us)]
    yield from markdown(titles, rows, titles[:2])


def fastestsettings(folder: Path) -> Iterator[str]:
    """The fastest of what was tried beside each backend's fastest variant, a backend a row."""
    rows: list[tuple[str, ...]] = []
    for path in in_folder(folder):
        result = read_result(path)
        best = fastest_variant(result)
        other = min((row for row in result.backends if "/" in row.name), key=median_us)
        _, *figures = setting_row(other, result)
        rows.append((best.name, time(median_us(best)), *figures))
    titles = ("fastest variant", "median", "the fastest of what else was tried", "its median")
    yield from markdown((*titles, "ratio", "95 % interval"), rows, (titles[0], titles[2]))


def fastest_variant(result: Result) -> BackendResult:
    """Of the registry's in float32."""
    own = [row for row in result.backends if "/" not in row.name]
    return min((row for row in own if precision_of(row.name) == "float32"), key=median_us)


def notatbest(path: Path) -> Iterator[str]:
    """The backends of a result that are known to be faster in a way which it does not have."""
    run = read_result(path)
    measured = {one.name for one in run.backends}
    fastest = fastest_of(timed(run))
    for file in in_folder(path.parents[1] / "settings"):
        result = read_result(file)
        rows = {one.name: one for one in result.backends}
        base = rows.get(fastest.get(named(file), ""))
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


def setting_row(row: BackendResult, result: Result) -> tuple[str, ...]:
    """One way beside the fastest variant, or why there is none."""
    best = fastest_variant(result)
    (_, us, share, within), _ = compared(best, row, result)
    measured = row.status if us == NONE else us
    return row.name, tries_of(row) or "", measured, share, NONE if row is best else within


def median_us(row: BackendResult) -> float:
    """Its median; infinity, the last in an order, where it was not timed."""
    return row.p50_us or inf


def conditions(path: Path) -> Iterator[str]:
    """How it was measured under each condition, and the fastest backends' medians."""
    results = under_each(path)
    yield from said_of(results)
    titles, *rows = medians_of(results)
    yield from ["", *markdown(titles, rows[:SHORT_LIST], titles[:1])]


def conditionslong(path: Path) -> Iterator[str]:
    """The medians of all backends, and the warnings of each run."""
    results = under_each(path)
    titles, *rows = medians_of(results)
    yield from markdown(titles, rows, titles[:1])
    for title, result in (results | as_installed(path)).items():
        if result.warnings:
            yield from ["", f"Warnings of *{title}*:", "", *bullets(result.warnings)]


def under_each(path: Path) -> dict[str, Result]:
    """The result of that path and those under conditions that all backends were measured in."""
    others = {
        one.title: read_result(beside(path, name))
        for name, one in CONDITIONS.items()
        if not one.backends
    }
    return {"back to back, one core": read_result(path), **others}


def said_of(results: Mapping[str, Result]) -> Iterable[str]:
    """How each was measured."""
    return bullets(f"*{title}*: {measured_how(result)}" for title, result in results.items())


def medians_of(results: Mapping[str, Result]) -> Iterator[tuple[str, ...]]:
    """The titles, then each backend's medians."""
    yield "backend", *results
    found = [{one.name: one for one in timed(result)} for result in results.values()]
    first, *others = results.values()
    measured = {one.name for result in others for one in timed(result)}
    for one in timed(first):
        if one.name in measured:
            yield one.name, *(in_one(under.get(one.name)) for under in found)


def as_installed(path: Path) -> dict[str, Result]:
    """The runs of a few backends as installed, and with each remedy."""
    return {
        one.title: read_result(beside(path, name))
        for name, one in CONDITIONS.items()
        if one.backends and beside(path, name).exists()
    }


def installed(path: Path) -> Iterator[str]:
    """A few backends as installed, and with each remedy: medians and tails of paced calls."""
    if not (results := as_installed(path)):
        return
    yield from said_of(results)
    rows = [
        (row.name, title, *tail(row.summary))
        for one in timed(results["as installed"])
        for title, result in results.items()
        for row in timed(result)
        if row.name == one.name and row.summary
    ]
    over = (f"over {ms} ms, %" for ms in (1, 5, 20))
    titles = ("backend", "condition", "p50", "p99", "95 % interval of p99", *over)
    yield from ["", *markdown(titles, rows, titles[:2])]


def installedbrief(path: Path) -> Iterator[str]:
    """What takes many times as long with its default threads as with one."""
    names = ("as-installed", "one-thread")
    default, one = ({row.name: row for row in timed(read_result(beside(path, n)))} for n in names)
    both = [name for name in default if name in one]
    slow = [name for name in both if median_us(default[name]) > MANY * median_us(one[name])]

    def medians(of: Mapping[str, BackendResult]) -> str:
        found = ((name, of[name].summary) for name in slow)
        every = (
            f"{with_bounds(known.p50_us, known.p50_low_us, known.p50_high_us)} with `{name}`"
            for name, known in found
            if known
        )
        return " and ".join(every)

    sentence = (
        "With its default threads, on two cores beside a busy program, a call takes "
        f"{medians(default)}. With one thread it takes {medians(one)}."
    )
    yield from wrap(sentence, SCREEN.columns, break_on_hyphens=False)


def with_bounds(us: float | None, low_us: float | None, high_us: float | None) -> str:
    """640 ms (637 ms to 641 ms)."""
    return f"{time(us)} ({times(low_us, high_us)})"


def tail(found: Summary) -> tuple[str, ...]:
    """What is said of paced calls."""
    over = (found.over_1ms, found.over_5ms, found.over_20ms)
    return (
        time(found.p50_us),
        time(found.p99_us),
        times(found.p99_low_us, found.p99_high_us),
        *(f"{100 * (share or 0.0):.1f}" for share in over),
    )


def in_one(row: BackendResult | None) -> str:
    """A backend's median under one condition, and its ratio to the baseline of that run."""
    if row is None or row.summary is None:
        return NONE
    found = row.summary
    within = f", {interval(found.ratio_low, found.ratio_high)}" if found.ratio_low else ""
    return f"{time(found.p50_us)} ({ratio(found.ratio)}{within})"


def in_less_than_float32(path: Path) -> list[dict[str, Any]]:
    """What a verification found of the variants that compute so."""
    every = json.loads(path.read_text())["backends"]
    return [one for one in every if precision_of(one["backend"]) != "float32"]


def precisionbrief(path: Path) -> Iterator[str]:
    """The same in a sentence."""
    found = in_less_than_float32(path)
    accuracies = [one["accuracy"] for one in found]
    farthest = max(found, key=lambda one: float(one["max_difference"]))
    yield (
        f"Of MNIST's 10,000 test images, the {len(found)} variants classify "
        f"{percent(min(accuracies), places=2)} to {percent(max(accuracies), places=2)} right. At "
        f"most {max(len(one['disagreements']) for one in found)} digits differ from the float64 "
        f"reference's, and probabilities by at most {farthest['max_difference']:.2f} "
        f"(`{farthest['backend']}`)."
    )


def precision(path: Path) -> Iterator[str]:
    """What computes in less than float32, and what that costs the answers."""
    titles = ("backend", "computes in", "accuracy", "largest difference", "digits that differ")
    rows = [
        (
            one["backend"],
            precision_of(one["backend"]),
            percent(one["accuracy"], places=2),
            f"{one['max_difference']:.1e}",
            str(len(one["disagreements"])),
        )
        for one in in_less_than_float32(path)
    ]
    yield from markdown(titles, rows, titles[:2])


@cache
def of_sizes(folder: Path) -> list[Sized]:
    """Each backend on each network whose result the folder has."""
    files = [folder / f"{name}{SUFFIX}" for name in NETWORKS]
    return sized([read_result(path) for path in files if path.exists()])


def limits_us(folder: Path) -> dict[str, float]:
    """The least time of each network on the folder's machine, as far as it was measured."""
    path = folder / "limit.json"
    return dict(json.loads(path.read_text())["limits_us"]) if path.exists() else {}


def othermachines(path: Path) -> Iterator[str]:
    """Whether times and ratios of the same variants are the same on the other machines."""
    here = {one.name: one.summary for one in timed(read_result(path)) if one.summary}
    for file in in_folder(path.parent):
        if file == path:
            continue
        result = read_result(file)
        there = {one.name: one.summary for one in timed(result) if one.summary}
        both = [(here[name], there[name]) for name in here if name in there]
        known = [(a.p50_us, b.p50_us, a.ratio, b.ratio) for a, b in both if a.p50_us and b.p50_us]
        slower = middle(other / us for us, other, *_ in known)
        ratios = [(a, b) for *_, a, b in known if a and b]
        near = sum(1 / NEAR < a / b < NEAR for a, b in ratios)
        yield (
            f"- {result.machine.processor.model}, `{named(file)}`: {ratio(slower)} times as long; "
            f"{near} of {len(ratios)} ratios to `{result.baseline}`"
        )


def networks(folder: Path) -> Iterator[str]:
    """How many times as long as the fastest API each backend takes on each network."""
    titles, *rows = ratios(of_sizes(folder), spelt)
    factors = built_factors(folder)
    marked = [(f"{n} (built: {factors[n]})" if n in factors else n, *cells) for n, *cells in rows]
    yield from markdown(titles, marked, titles[:1])


def networkslong(folder: Path) -> Iterator[str]:
    """The same with each median and each interval."""
    spell = "{}, {}".format
    titles, *rows = ratios(of_sizes(folder), lambda one: spell(time(one.us), with_interval(one)))
    yield from markdown(titles, rows, titles[:1])


def sizes(folder: Path) -> Iterator[str]:
    """From which size on each backend is nearly as fast as the fastest API."""
    every = of_sizes(folder)
    largest = every[-1].network
    titles = ("backend", f"within {percent(SIZE_NEAR)} from", f"on {largest}", "why not")
    rows = [size_row(own, largest) for own in by_name(every).values()]
    yield from markdown(titles, rows, titles[:1])


def size_row(own: Sequence[Sized], largest: str) -> tuple[str, ...]:
    """The size, the ratio on its largest network, and whether slower kernels are the reason."""
    near, last = since(own), own[-1]
    where = f"{millions(near)} ({near.network})" if near else NONE
    if near is own[0]:
        where = "every network"
    reason = "slower kernels" if not near and has_slower_kernels(own) else ""
    on_largest = with_interval(last) if last.network == largest else NONE
    return own[0].name, where, on_largest, reason


def sizesbrief(folder: Path) -> Iterator[str]:
    """Each API by its fastest call on the smallest and the largest network, and Keras' predict."""
    every = of_sizes(folder)
    apis = by_name([replace(one, name=api) for api, one in by_api(every)])
    slowest_first = sorted(apis.items(), key=lambda one: -one[1][0].ratio)
    told = [f"in {name} {at_both_ends(own)}" for name, own in slowest_first if own[0].ratio > 1]
    first, last = every[0], every[-1]
    sentence = (
        "The larger the network, the less the call counts. In times of the fastest API, on a "
        f"perceptron ({millions(first)} multiply-adds) and on {last.network} ({millions(last)}), "
        f"the fastest call takes {', '.join(told)}. On the largest that is the time of slower "
        f"kernels. Keras' `predict` takes {at_both_ends(by_name(every)['keras'])}."
    )
    yield from wrap(sentence, SCREEN.columns, break_on_hyphens=False)


def at_both_ends(own: Sequence[Sized]) -> str:
    """Its ratio on its smallest network, and that on its largest with the interval."""
    return f"{ratio(own[0].ratio)} and {with_interval(own[-1])}"


def built_factors(folder: Path) -> dict[str, str]:
    """By how much a builder differs from code by hand, where it does by more than the margin."""
    path = folder / f"control{SUFFIX}"
    found = control_rows(read_result(path)) if path.exists() else ()
    return {name: factor for name, *_, factor, _, verdict in found if verdict in DIFFERENT}


def control(path: Path) -> Iterable[str]:
    """LeNet by each builder beside LeNet by hand."""
    return control_table(read_result(path)) if path.exists() else ["Not measured yet."]


def batchothers(path: Path) -> Iterator[str]:
    """Images a second of our own kernels and of the fastest others, in batches."""
    result = read_result(path)
    for batch in BATCHES:
        rates: dict[str, float] = {}
        for one in timed(result):
            measured = (b.images_per_s for b in one.batches if b.size == batch and b.samples_ns)
            if precision_of(one.name) == "float32" and (rate := max(measured, default=0.0)):
                api = backend_of(one.name)
                rates[api] = max(rates.get(api, 0.0), rate)
        own = rates.pop("fused")
        fastest = sorted(rates, key=lambda name: -rates[name])[:FASTEST_OTHERS]
        said = ", ".join(f"`{name}` {count(rates[name])}" for name in fastest)
        yield f"- {batch} a call: `fused` {count(own)}, then {said} images a second"


def eachstart(path: Path) -> Iterator[str]:
    """The median of each start of our own kernels, the fastest first."""
    starts = sorted(start_medians_us(read_result(path).backend("fused").blocks).values())
    yield f"Its {len(starts)} starts take {', '.join(f'{us:.1f}' for us in starts)} µs."


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


DRAWN: dict[str, Callable[[Path], Iterable[str]]] = {
    "answer": inshort,
    "when": whichwhen,
    **{
        kind.__name__: kind
        for kind in (
            backends,
            why,
            whyanswer,
            whytold,
            closure,
            whyparts,
            predictwait,
            predictwaitbrief,
            withoutpython,
            training,
            learnt,
            selftest,
            selftestbrief,
            checks,
            settings,
            fastestsettings,
            notatbest,
            conditions,
            conditionslong,
            installed,
            installedbrief,
            precision,
            precisionbrief,
            othermachines,
            networks,
            networkslong,
            sizes,
            sizesbrief,
            control,
            eachstart,
            batchothers,
            ongpu,
            gpubatches,
        )
    },
}
