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
from pathlib import Path
from textwrap import wrap

from lenet_bench import summarise
from lenet_bench.measure.statistics import FEWEST_STARTS
from lenet_bench.mlperf import MlperfRun
from lenet_bench.mlperf import read as read_mlperf
from lenet_bench.printout.training import side_by_side
from lenet_bench.report.figures import figures
from lenet_bench.report.figures.files import standalone
from lenet_bench.report.markdown import table as markdown
from lenet_bench.report.measured import gather
from lenet_bench.report.numbers import spell_interval, spell_ratio, spell_time
from lenet_bench.report.page import page
from lenet_bench.report.sentences import conditions
from lenet_bench.results import Result, RungResult, read_result
from lenet_bench.terminal import Screen
from lenet_bench.training.result import read_training
from lenet_bench.why import Anatomy
from lenet_bench.why import read as read_why

ROOT = Path(__file__).parents[1]
PAGES = (
    ROOT / "README.md",
    *(ROOT / "docs" / page for page in ("why.md", "training.md", "measuring.md")),
)
BLOCK = re.compile(
    r"(<!-- (?P<kind>\w+) drawn from (?P<file>\S+) -->\n).*?(<!-- end -->\n)", re.DOTALL
)
PICTURES = ROOT / "docs/pictures"
PICTURED = ("tradeoff",)  # the figures that pages show
SCREEN = Screen(columns=100, colour=False, unicode=True)


def answer(path: Path) -> Iterator[str]:
    """The question of 2018 in a sentence: lowest, library, framework, Keras."""
    timed = {rung.name: rung for rung in timed_rungs(summarise(read_result(path)))}
    in_tensorflow = [rung for name, rung in timed.items() if name.startswith("tensorflow")]
    told = {
        "in our own C++": timed["fused"],
        "in C++ on oneDNN": timed["onednn"],
        "in TensorFlow at its fastest": min(in_tensorflow, key=median_us),
        "in Keras by `predict_on_batch`": timed["keras:predict_on_batch"],
        "by `predict`": timed["keras"],
    }
    parts = [
        f"{spell_time(median_us(rung))} µs {how} ({rung.lines_of_code} lines)"
        for how, rung in told.items()
    ]
    keras = timed["keras"].summary
    assert keras is not None
    longer = f"{spell_ratio(keras.ratio_low)} to {spell_ratio(keras.ratio_high)} times as long"
    sentence = (
        f"The same digit takes {', '.join(parts[:-1])} and {parts[-1]}: {longer}, for the same ten "
        "numbers."
    )
    yield from wrap(sentence, SCREEN.columns, break_on_hyphens=False)


def ladder(path: Path) -> Iterator[str]:
    """A row a rung, the fastest way to call it first; the other ways beside it."""
    result = summarise(read_result(path))
    rungs: dict[str, list[RungResult]] = {}
    for timed in sorted(timed_rungs(result), key=lambda one: median_us(one)):
        rungs.setdefault(timed.name.partition(":")[0], []).append(timed)
    yield conditions(result)
    yield ""
    baseline = next(one.name for one in timed_rungs(result) if is_baseline(one))
    titles = ("rung", "median µs", f"to {baseline}", "95 % interval", "lines", "other ways, µs")
    yield from markdown(titles, map(row, rungs.values()), ("rung", "other ways, µs"))
    yield ""
    yield f"\\* of rounds, since there are fewer than {FEWEST_STARTS} starts: rather too narrow"


def row(ways: list[RungResult]) -> tuple[str, ...]:
    """The fastest way's figures, and the others' medians."""
    fastest, *others = ways
    s = fastest.summary
    assert s is not None
    few = "*" * (s.starts < FEWEST_STARTS)
    rung = fastest.name.partition(":")[0]
    usual = {other.name: other.name.partition(":")[2] or f"plain {rung}" for other in others}
    return (
        fastest.name,
        spell_time(s.p50_us),
        spell_ratio(s.ratio),
        "-" if is_baseline(fastest) else spell_interval(s.ratio_low, s.ratio_high) + few,
        str(fastest.lines_of_code),
        ", ".join(f"{usual[o.name]} {spell_time(median_us(o))}" for o in others) or " ",
    )


def timed_rungs(result: Result) -> Iterator[RungResult]:
    """Those that were timed often enough to have a median."""
    for rung in result.rungs:
        if rung.status == "ok" and rung.summary and rung.summary.p50_us is not None:
            yield rung


def is_baseline(rung: RungResult) -> bool:
    return rung.summary is not None and rung.summary.verdict == "baseline"


def median_us(rung: RungResult) -> float:
    """One image, one call."""
    assert rung.summary is not None
    assert rung.summary.p50_us is not None
    return rung.summary.p50_us


def why(path: Path) -> Iterator[str]:
    """What a call of each rung is made of."""
    ran = sorted((a for a in read_why(path) if a.status == "ok"), key=lambda a: a.call_us)
    titles = ("rung", "call µs", "fixed", "one more image", "Python calls", "deep", "waits")
    yield from markdown(titles, map(anatomy_row, ran), ("rung",))


def anatomy_row(anatomy: Anatomy) -> tuple[str, ...]:
    """As `lenet-bench why` shows it."""
    return (
        anatomy.name,
        spell_time(anatomy.call_us),
        spell_time(anatomy.fixed_us),
        spell_time(anatomy.image_us),
        f"{sum(anatomy.python_calls.values()):,}",
        str(anatomy.depth),
        f"{anatomy.waits:.0f}",
    )


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
    """What `lenet-bench compare --self-test` printed."""
    found = json.loads(path.read_text())
    yield found["conditions"]
    yield ""
    titles = ("point", "verdict", "what it found")
    rows = [(point["name"], point["verdict"], point["told"]) for point in found["points"]]
    yield from markdown(titles, rows, titles)


def mlperf(folder: Path) -> Iterator[str]:
    """Each rung's median under LoadGen, and what it is made of."""
    ran = sorted(map(read_mlperf, folder.glob("*.json")), key=lambda run: run.overhead.compare_us)
    titles = (
        *("rung", "LoadGen's p50 µs", "compare's", "LoadGen takes", "95 % interval"),
        *("around the call", "the call itself", "agrees", "asked for"),
    )
    yield from markdown(titles, map(mlperf_row, ran), ("rung", "agrees"))


def mlperf_row(run: MlperfRun) -> tuple[str, ...]:
    """As `lenet-bench mlperf` says it."""
    o = run.overhead
    assert run.performance is not None
    return (
        run.rung,
        spell_time(run.performance.p50_us),
        spell_time(o.compare_us),
        spell_time(o.overhead_us),
        f"{spell_time(o.overhead_low_us)}-{spell_time(o.overhead_high_us)}",
        spell_time(o.around_us),
        spell_time(o.slower_us),
        {True: "yes", False: "no", None: "cannot be told"}[run.agrees],
        f"{run.performance.least_s:g} s",
    )


DRAWN: dict[str, Callable[[Path], Iterable[str]]] = {
    "answer": answer,
    "ladder": ladder,
    "why": why,
    "training": training,
    "agreement": agreement,
    "mlperf": mlperf,
    "selftest": selftest,
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
    pictured = re.search(r"ladder drawn from (\S+)", PAGES[0].read_text())
    assert pictured is not None
    measured = gather([(pictured[1], summarise(read_result(ROOT / pictured[1])))])
    every = figures(measured)
    for figure in every:
        if figure.key in PICTURED:
            yield PICTURES / f"{figure.key}.svg", standalone(figure)
    yield (ROOT / pictured[1]).with_suffix(".html"), page(measured, every)


def uncoloured(content: str) -> str:
    """Without the colours of code: from Python 3.12 on an f-string is several tokens."""
    return re.sub("</?[bqiu]>", "", content)


def main() -> None:
    """Write the files, or check them."""
    for path, content in drawn():
        if "--check" not in sys.argv[1:]:
            path.parent.mkdir(exist_ok=True)
            path.write_text(content)
        elif not path.exists() or uncoloured(content) != uncoloured(path.read_text()):
            name = path.relative_to(ROOT)
            raise SystemExit(f"{name} is stale; mend it with: python bench/readme.py")


if __name__ == "__main__":
    main()
