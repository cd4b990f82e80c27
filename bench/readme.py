"""Draw the tables and pictures of the README and of docs/ anew from the result files they name,
and the page of the README's result.

python bench/readme.py             write them
python bench/readme.py --check     fail where one is not what its file gives

A block begins with `<!-- KIND drawn from FILE -->` and ends with `<!-- end -->`; the kinds stand in
DRAWN.
"""

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from math import inf
from pathlib import Path
from textwrap import wrap

from lenet_bench.questions.mlperf import MlperfRun
from lenet_bench.questions.mlperf import read as read_mlperf
from lenet_bench.registry import find
from lenet_bench.results import Row as Tried
from lenet_bench.results import TakenApart, read_result, taken_apart
from lenet_bench.results.apart import GROUPS, grouped
from lenet_bench.results.statistics import FEWEST_STARTS
from lenet_bench.show.families import precision as precision_of
from lenet_bench.show.figures.pictures import pictures, themed
from lenet_bench.show.figures.rows import Row, Run
from lenet_bench.show.figures.story import story
from lenet_bench.show.markdown import table as markdown
from lenet_bench.show.page import gather, page
from lenet_bench.show.sentences import IN_LESS, conditions
from lenet_bench.show.terminal.screen import Screen
from lenet_bench.show.terminal.training import side_by_side
from lenet_bench.show.why import answer as answer_of
from lenet_bench.training.result import read_training
from lenet_bench.units import digits, interval, ratio, time
from settings.__main__ import alternatives

ROOT = Path(__file__).parents[1]
PAGES = (
    ROOT / "README.md",
    *(ROOT / "docs" / page for page in ("why.md", "training.md", "measuring.md", "settings.md")),
)
BLOCK = re.compile(
    r"(<!-- (?P<kind>\w+) drawn from (?P<file>\S+) -->\n).*?(<!-- end -->\n)", re.DOTALL
)
PICTURES = ROOT / "docs/pictures"
COUNTED = ("Python calls", "waits")  # of a call
PICTURED = ("hero", "code")  # the figures that pages show
SCREEN = Screen(columns=100, colour=False)


def answer(path: Path) -> Iterator[str]:
    """The message of the result: from the fastest layer to the slowest, with their lines."""
    (run,) = runs(path)
    times = [f"{one['time']} in {one['label']} ({one['lines']} lines)" for one in story(run)]
    longer = ratio(story(run)[-1]["us"] / story(run)[0]["us"])
    sentence = (
        f"The same digit takes {', '.join(times[:-1])} and {times[-1]}: {longer} times as long, "
        "for the same ten numbers."
    )
    yield from wrap(sentence, SCREEN.columns, break_on_hyphens=False)


def backends(path: Path) -> Iterator[str]:
    """A row a backend, the fastest way to call it first; the other ways beside it."""
    (run,) = runs(path)
    ways: dict[str, list[Row]] = {}
    for way in run.rows:
        ways.setdefault(way["backend"], []).append(way)
    baseline = next(way["name"] for way in run.rows if way["verdict"] == "baseline")
    yield conditions(run.result)
    yield ""
    titles = ("backend", "median", f"to {baseline}", "95 % interval", "lines", "other ways")
    yield from markdown(titles, map(row, ways.values()), ("backend", "other ways"))
    if run.reduced:
        told = ("backend", "computes in", "median", f"to {baseline}", "95 % interval", "off by")
        yield from ["", IN_LESS, ""]
        yield from markdown(told, map(reduced_row, run.reduced), told[:2])
    if any(way["starts"] < FEWEST_STARTS for way in run.rows):
        yield ""
        yield f"No interval where a backend started fewer than {FEWEST_STARTS} times."


def row(ways: list[Row]) -> tuple[str, ...]:
    """The fastest way's numbers, and the others' medians."""
    fastest, *others = ways
    return (
        fastest["name"],
        time(fastest["us"]),
        ratio(fastest["ratio"]),
        interval(fastest["ratio_low"], fastest["ratio_high"]),
        str(fastest["lines"]),
        ", ".join(f"{way['variant'] or 'plain'} {time(way['us'])}" for way in others) or " ",
    )


def reduced_row(way: Row) -> tuple[str, ...]:
    """A way that computes in less than float32."""
    return (
        way["name"],
        way["precision"],
        time(way["us"]),
        ratio(way["ratio"]),
        interval(way["ratio_low"], way["ratio_high"]),
        f"{way['off']:.1e}",
    )


@cache
def runs(path: Path) -> list[Run]:
    """The result as pages and pictures draw it."""
    return gather([(str(path.relative_to(ROOT)), read_result(path))])


def why(path: Path) -> Iterator[str]:
    """The parts of each backend's call, in groups that all have."""
    result = read_result(path)
    found = [one for one in taken_apart(result) if one.parts]
    yield conditions(result)
    yield ""
    titles = ("backend", "call", *GROUPS, "explained", "95 % interval", "an operation", *COUNTED)
    rows = map(apart_row, sorted(found, key=lambda one: one.median_us or inf))
    yield from markdown(titles, rows, titles[:1])


def apart_row(one: TakenApart) -> tuple[str, ...]:
    """All times in the call's unit would hide the small ones: each has its own."""
    assert one.operation_us is not None
    assert one.explained is not None
    known = one.explained_low is not None and one.explained_high is not None
    return (
        one.name,
        time(one.median_us),
        *map(time, grouped(one.parts).values()),
        f"{one.explained:.0%}",
        f"{one.explained_low:.0%} to {one.explained_high:.0%}" if known else "-",
        time(one.operation_us.us),
        "-" if one.anatomy is None else f"{sum(one.anatomy.python_calls.values()):,}",
        f"{one.waits:.1f}",
    )


def whyanswer(path: Path) -> Iterator[str]:
    """The same in sentences."""
    for sentence in answer_of(taken_apart(read_result(path))):
        yield f"- {sentence}"


def whyparts(path: Path) -> Iterator[str]:
    """Each part of each backend."""
    for one in taken_apart(read_result(path)):
        if one.parts:
            yield from [f"### {one.name}", ""]
            rows = [
                (part.name, time(part.us), bounds(part.low_us, part.high_us), part.evidence)
                for part in one.parts
            ]
            titles = ("part", "median", "95 % interval", "what was measured")
            yield from [*markdown(titles, rows, (titles[0], titles[3])), ""]


def bounds(low_us: float | None, high_us: float | None) -> str:
    """From a time to a time."""
    return "-" if low_us is None else f"{time(low_us)} to {time(high_us)}"


def training(path: Path) -> Iterator[str]:
    """What `lenet-bench train --framework` printed."""
    yield "```"
    yield from side_by_side(SCREEN, read_training(path))
    yield "```"


def agreement(folder: Path) -> Iterator[str]:
    """How far the first losses are apart, a seed a row."""
    steps = (10, 50, 100)
    rows = []
    for path in sorted(folder.glob("*.json")):
        result = read_training(path)
        found = result.agreement
        assert found is not None
        distances = [f"{found.so_far[step - 1]:.1e}" for step in steps]
        rows.append((str(result.recipe.seed), *distances, f"{found.lowest}, {found.highest}"))
    titles = ("seed", *(f"up to step {step}" for step in steps), "farthest apart")
    yield from markdown(titles, rows, ("farthest apart",))


def selftest(path: Path) -> Iterator[str]:
    """What `lenet-bench self-test` printed."""
    found = json.loads(path.read_text())
    yield found["conditions"]
    yield ""
    titles = ("point", "verdict", "what it found")
    rows = [(point["name"], point["verdict"], point["says"]) for point in found["points"]]
    yield from markdown(titles, rows, titles)


def mlperf(folder: Path) -> Iterator[str]:
    """Each backend's median under LoadGen, beside its calls back to back."""
    ran = sorted(map(read_mlperf, folder.glob("*.json")), key=lambda run: run.call_us)
    titles = ("backend", "LoadGen's p50, µs", "a call back to back", "LoadGen adds", "asked for")
    yield from markdown(titles, map(mlperf_row, ran), ("backend",))


def mlperf_row(run: MlperfRun) -> tuple[str, ...]:
    """As `lenet-bench mlperf` says it."""
    assert run.performance is not None
    assert run.added_us is not None
    return (
        run.backend,
        digits(run.performance.p50_us),
        digits(run.call_us),
        digits(run.added_us),
        f"{run.performance.least_s:g} s",
    )


def settings(folder: Path) -> Iterator[str]:
    """What was tried beside the ways of the registry, a backend a file."""
    files = sorted(folder.glob("*.jsonl"))
    if not files:
        yield "No run on a quiet machine is kept yet."
    for path in files:
        yield from [f"### {path.stem}", "", *tried_beside(path), ""]


def tried_beside(path: Path) -> Iterator[str]:
    """Each way against the fastest of the registry's."""
    result = read_result(path)
    backend = path.stem
    tries = alternatives(backend)
    tried = {row.name: row for row in result.backends}
    own = [row for row in tried.values() if "/" not in row.name]
    best = min(filter(None, map(median, own)))
    yield conditions(result)
    yield ""
    titles = ("setting", "what it tries", "median", "to the best")
    ways = {name: find(name)[0].variants.get(find(name)[1], "") for name in map(name_of, own)}
    ways |= {f"{backend}/{name}": sentence for name, sentence in tries.items()}
    known = sorted(ways, key=lambda name: median(tried[name]) or inf if name in tried else inf)
    rows = [setting_row(tried[name], ways[name], best) for name in known if name in tried]
    yield from markdown(titles, rows, titles[:2])


def setting_row(row: Tried, tries: str, best: float) -> tuple[str, ...]:
    """One way, or why there is none."""
    us = median(row)
    if us is None:
        return row.name, tries, row.status, "-"
    return row.name, tries, time(us), ratio(us / best)


def median(row: Tried) -> float | None:
    """Its median, where it was timed."""
    return row.summary.p50_us if row.summary else None


def name_of(row: Tried) -> str:
    """As the result has it."""
    return row.name


def precision(path: Path) -> Iterator[str]:
    """What computes in less than float32, and what that costs the answers."""
    found = json.loads(path.read_text())["backends"]
    titles = ("backend", "computes in", "accuracy", "largest difference", "other digits")
    rows = [
        (
            one["backend"],
            precision_of(one["backend"]),
            f"{one['accuracy']:.2%}",
            f"{one['max_difference']:.1e}",
            str(len(one["disagreements"])),
        )
        for one in found
    ]
    yield from markdown(titles, rows, titles[:2])


DRAWN: dict[str, Callable[[Path], Iterable[str]]] = {
    "answer": answer,
    "backends": backends,
    "why": why,
    "whyanswer": whyanswer,
    "whyparts": whyparts,
    "training": training,
    "agreement": agreement,
    "mlperf": mlperf,
    "selftest": selftest,
    "settings": settings,
    "precision": precision,
}


def drawn() -> Iterator[tuple[Path, str]]:
    """Each file with what it should hold."""
    for target in PAGES:

        def draw(block: re.Match[str]) -> str:
            found = DRAWN[block["kind"]](ROOT / block["file"])
            return block[1] + "".join(f"{line.rstrip()}\n" for line in found) + block[4]

        text, count = BLOCK.subn(draw, target.read_text())
        if count == 0:
            raise SystemExit(f"{target.name} names no result to draw")
        yield target, text
    shown = re.search(r"backends drawn from (\S+)", PAGES[0].read_text())
    assert shown is not None
    result = ROOT / shown[1]
    drawn_figures = pictures(runs(result))
    for key in PICTURED:
        yield PICTURES / f"{key}.svg", themed(drawn_figures[key])
    yield result.with_suffix(".html"), page(runs(result))


def main() -> None:
    """Write the files, or check them."""
    for path, content in drawn():
        if "--check" not in sys.argv[1:]:
            path.parent.mkdir(exist_ok=True)
            path.write_text(content)
        elif not path.exists() or content != path.read_text():
            name = path.relative_to(ROOT)
            raise SystemExit(f"{name} is stale; mend it with: python bench/readme.py")


if __name__ == "__main__":
    main()
