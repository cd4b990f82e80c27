"""The figures of a comparison: each answers a question with a Vega-Lite specification."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ... import units
from . import vega
from .rows import Record
from .vega import FOLDED, NAMED, Spec


@dataclass(frozen=True)
class Figure:
    """A question, how its figure is read, and the specification that answers it."""

    key: str
    short: str
    question: str
    how: str
    spec: Spec
    numbers: Sequence[tuple[str, ...]] = ()  # titles and rows, where those of the page do not fit


def figures(rows: Sequence[Record], story: Sequence[Record]) -> list[Figure]:
    """The main figure, of the story, and those for which the result has data."""
    drawn = [hero(story), *(draw(rows) for draw in _ALL)]
    if len(story) == len(rows):
        drawn = [figure for figure in drawn if figure and figure.key != "layers"]
    return [figure for figure in drawn if figure]


def hero(story: Sequence[Record]) -> Figure:
    """A few backends from the fastest to the slowest, large."""
    axis: Spec = {"labelFontSize": vega.large(20, 14), "labelLimit": vega.large(330, 170)}
    axis |= {"labelPadding": 12, "domain": False, "ticks": False, "title": None}
    y = {"field": "label", "type": "nominal", "sort": None, "axis": axis}
    x = vega.time()
    x["axis"] |= {"labelFontSize": 15, "labelOpacity": vega.large(1, 0)}
    least = min(row["p50_us"] for row in story)
    decade = next(10.0**n for n in range(9, -4, -1) if 10.0**n <= least)
    text = {"type": "text", "align": "left", "dx": vega.large(15, 11), "fontWeight": 600}
    spec = vega.whole(
        vega.calculated(shown="narrow ? datum.time : datum.text"),
        height={"step": 52},
        encoding={"y": y, "color": vega.family(), "description": {"field": "about"}},
        layer=[
            vega.rule(x, {"datum": decade}, 5, 0.35),
            vega.dot(vega.large(260, 140), x=x),
            vega.layer(text | {"fontSize": vega.large(21, 15)}, x=x, text={"field": "shown"}),
        ],
    )
    return Figure(
        "hero", "Time", "How long does one image take?", "The median call, logarithmic.", spec
    )


def _layers(_rows: Sequence[Record]) -> Figure:
    to = "datum.to > datum.p50_us * 1.02 ? datum.time + ' to ' + " + vega.spelt("datum.to")
    texts = vega.calculated(
        text=f"!narrow && {to} : datum.time", about=f"datum.name + ': ' + ({to} : datum.time)"
    )
    dots, names = vega.dot(x=vega.time()), vega.beside(vega.time("to"))
    lines = vega.rule(vega.time(), {"field": "to"}, 3)
    return Figure(
        "layers",
        "Layers",
        "Which layer costs what?",
        "Median time of one image, logarithmic. A dot is the fastest variant of a backend; its "
        "line reaches to the slowest way.",
        vega.by_family([*FOLDED, *texts], [lines, dots, names]),
    )


def _code(rows: Sequence[Record]) -> Figure | None:
    if len({row["lines_of_code"] for row in rows if row["lines_of_code"]}) < 2:
        return None
    front: list[Spec] = [
        {
            "window": [{"op": "min", "field": "p50_us", "as": "best"}],
            "sort": [{"field": "lines_of_code"}, {"field": "p50_us"}],
            "frame": [None, 0],
        },
        *vega.calculated(
            front="datum.p50_us === datum.best",
            named="datum.named || datum.p50_us === datum.best",
            about="datum.name + ': ' + datum.lines_of_code + ' lines, ' + datum.time",
        ),
    ]
    stairs = {"type": "line", "interpolate": "step-after", "color": vega.colour("rule")}
    dots = vega.dot(color=vega.family(), description={"field": "about"})
    x = vega.logarithmic("lines_of_code", "x", "lines of code", "format(datum.value, 'd')")
    x["scale"]["padding"] = 24
    return Figure(
        "code",
        "Code",
        "What does a line of code buy?",
        "Each dot is the fastest variant of a backend: shorter code to the left, faster to the "
        "bottom, both logarithmic. No backend is both shorter and faster than a dot on the line. "
        "Point at a dot for its name.",
        vega.whole(
            [*FOLDED, {"filter": "datum.lines_of_code > 0"}, *NAMED, *front],
            height=460,
            encoding={"x": x, "y": vega.time("p50_us", "y", "median time of one image")},
            layer=[vega.where("datum.front", vega.layer(stairs)), {"name": "labelled", **dots}],
            usermeta={"labels": ["right", "left", "top", "bottom", "top-right", "bottom-right"]},
        ),
    )


def _takes(rows: Sequence[Record]) -> Figure | None:
    kinds = {
        "cold_start_s": "first answer",
        "peak_rss_mib": "memory",
        "installed_mib": "disk",
    }
    known = {key: kind for key, kind in kinds.items() if any(row[key] for row in rows)}
    if not known:
        return None
    split = any(row["converter_mib"] for row in rows)
    converters = ", without those that only write its model file" if split else ""
    mebibytes = "format(datum.value, datum.value < 10 ? '.1f' : ',.0f') + ' MiB'"
    spell = f"datum.key === 'cold_start_s' ? format(datum.value, '.2f') + ' s' : {mebibytes}"
    return Figure(
        "takes",
        "Start, memory, disk",
        "What else does it take?",
        "First answer: from the start of a process, Python and imports included. Memory: the peak "
        f"of that process. Disk: the packages of the API with their dependencies{converters}.",
        vega.columns(known, spell, sort={"field": "p50_us", "op": "min"}),
    )


def _batches(rows: Sequence[Record]) -> Figure | None:
    sizes = sorted({size for row in rows for size in row["rates"]})
    if len(sizes) < 2:
        return None
    about = (
        "datum.name + ': ' + format(datum.rates, ',.0f') + ' images a second with '"
        " + datum.sizes + ' a call'"
    )
    x = vega.logarithmic("sizes", "x", "images a call", "")
    x["axis"] = {"title": "images a call", "values": sizes, "format": "d", "grid": False}
    last = vega.layer({"type": "point", "size": 40, "aria": False})
    return Figure(
        "batches",
        "Batches",
        "What does a batch gain?",
        "Images per second by batch size, both logarithmic. Where a line is steep, the overhead of "
        "a call dominates; where it is flat, the computation. Point at a dot for its name.",
        vega.whole(
            [*FOLDED, *NAMED, {"flatten": ["sizes", "rates"]}, *vega.calculated(about=about)],
            height=420,
            encoding={
                "x": x,
                "y": vega.logarithmic("rates", "y", "images a second", "format(datum.value, ',')"),
                "color": vega.family(),
            },
            layer=[
                vega.layer({"type": "line", "opacity": 0.55}, detail={"field": "name"}),
                vega.layer({"type": "point", "size": 40}, description={"field": "about"}),
                {"name": "labelled", **vega.where(f"datum.sizes === {sizes[-1]}", last)},
            ],
            usermeta={"labels": ["right"]},
        ),
        (
            ("backend", *(f"{size} a call" for size in sizes)),
            *((row["name"], *_rates(row, sizes)) for row in rows if row["rates"]),
        ),
    )


def _rates(row: Record, sizes: Sequence[int]) -> list[str]:
    return [units.rate(row["rates"].get(size)) for size in sizes]


_ALL: tuple[Callable[[Sequence[Record]], Figure | None], ...] = (_layers, _code, _takes, _batches)
