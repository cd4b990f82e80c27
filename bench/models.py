"""Models that people use, each by the calls of its framework and by the engines that read it."""

from collections.abc import Iterator, Sequence
from pathlib import PurePath

from lenet_bench.show.figures.records import Record, Run
from lenet_bench.show.figures.story import times_longer
from lenet_bench.show.figures.vega import (
    LEGEND,
    Spec,
    always,
    colour,
    layer,
    whole,
)
from lenet_bench.show.figures.vega import (
    time as axis,
)
from lenet_bench.show.markdown import table as markdown
from lenet_bench.show.sentences import processor, threads
from lenet_bench.units import NONE, count, counted, ratio, time

#: The calls of a framework, of which the fastest stands in the table.
CALLS = {
    "Keras `predict`": ("keras",),
    "`predict_on_batch`": ("keras:predict_on_batch",),
    "eager": ("keras:call", "torch"),
    "compiled": ("keras:function", "torch:compile", "torch:export", "torch:autotuned"),
}
ENGINE = "the fastest engine"


def order(runs: Sequence[Run]) -> list[Run]:
    """Those of frameworks first, and of these the quickest."""
    return sorted(runs, key=lambda run: (not any(map(is_own, run.rows)), run.rows[0]["p50_us"]))


def model_of(run: Run) -> str:
    return PurePath(run.source).name.partition(".")[0]


def is_own(row: Record) -> bool:
    """Whether it is a call of the model's own framework."""
    return any(row["name"] in names for names in CALLS.values())


def called(run: Run) -> dict[str, Record]:
    """The fastest of each kind of call, the engines last."""
    kinds = {kind: [row for row in run.rows if row["name"] in CALLS[kind]] for kind in CALLS}
    kinds[ENGINE] = read_by_engines(run)
    return {kind: rows[0] for kind, rows in kinds.items() if rows}


def by_call(runs: Sequence[Run]) -> Iterator[str]:
    """A model of a framework a row: what each kind of call takes, and what the usual one costs."""
    first = runs[0].result
    yield (
        f"On {processor(first.machine)}, with {threads(first)} on one core, in "
        f"{counted(first.rounds, 'shuffled round')}."
    )
    yield ""
    rows = []
    for run in runs:
        found = called(run)
        usual = next(iter(found.values()))
        if not is_own(usual):
            continue
        cells = [cell(found[kind], kind) if kind in found else NONE for kind in (*CALLS, ENGINE)]
        parameters = count(run.result.rules.placed.parameters or 0)
        times = times_longer(run, usual, found[ENGINE])
        rows.append((model_of(run), parameters, *cells, times))
    titles = ("model", "parameters", *CALLS, ENGINE, "first call / fastest engine")
    yield from markdown(titles, rows, (titles[0], ENGINE))


def cell(row: Record, kind: str) -> str:
    """Its time, and which it is where there are several."""
    several = kind == ENGINE or len(CALLS[kind]) > 2
    return f"{time(row['p50_us'])} `{row['name']}`" if several else time(row["p50_us"])


def by_engine(runs: Sequence[Run]) -> Iterator[str]:
    """A model a row: the fastest engine's time, and how many times as long the others take."""
    found = {model_of(run): engines(run) for run in runs}
    names = sorted({name for times in found.values() for name in times})
    rows = []
    for model, times_us in found.items():
        least = min(times_us.values())
        each = (ratio(times_us[name] / least) if name in times_us else NONE for name in names)
        rows.append((model, time(least), *each))
    yield from markdown(
        ("model", "the fastest", *(f"`{name}`" for name in names)), rows, ("model",)
    )


def engines(run: Run) -> dict[str, float]:
    """The fastest way of each engine, µs."""
    return {row["backend"]: float(row["p50_us"]) for row in reversed(read_by_engines(run))}


def read_by_engines(run: Run) -> list[Record]:
    """The rows of what reads a file of a model."""
    return [row for row in run.rows if row["family"] in ("inference engines", "compilers")]


def picture(runs: Sequence[Run]) -> tuple[Spec, list[Record]]:
    """A line of dots a model, by time: how it is drawn, and its rows."""
    rows = [
        {"model": model_of(run), "call": kind.replace("`", ""), "p50_us": row["p50_us"]}
        | {"about": f"{model_of(run)}, {row['name']}: {time(row['p50_us'])}"}
        for run in runs
        if any(map(is_own, run.rows))
        for kind, row in called(run).items()
    ]
    kinds = [kind.replace("`", "") for kind in (*CALLS, ENGINE)]
    shades = ("part-4", "part-3", "part-0", "part-1", "part-2")
    call = {"field": "call", "scale": {"domain": kinds, "range": [colour(one) for one in shades]}}
    y = {"field": "model", "type": "nominal", "sort": None, "axis": {"title": None}}
    dot = {"type": "point", "filled": True, "size": 160, "opacity": 1}
    spec = whole(
        [],
        height={"step": 42},
        encoding={"x": axis(), "y": y},
        layer=[
            layer({"type": "line"}, color=always("rule"), detail={"field": "model"}),
            layer(dot, color=call | {"legend": LEGEND}, description={"field": "about"}),
        ],
    )
    return spec, rows
