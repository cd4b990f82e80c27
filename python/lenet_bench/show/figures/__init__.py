"""The figures of a comparison: each answers a question with a Vega-Lite specification."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from . import vega
from .rows import COLD, GPU_CALL, Record
from .vega import FOLDED, NAMED, Spec

_FIRST = ("cudnn", "onednn", "tensorflow", "keras")  # what was compared in 2018


@dataclass(frozen=True)
class Figure:
    """A question, how its figure is read, and the specification that answers it."""

    key: str
    short: str
    question: str
    how: str
    spec: Spec
    numbers: Sequence[tuple[str, ...]] = ()  # titles and rows, where those of the page do not fit


def figures(rows: Sequence[Record]) -> list[Figure]:
    """The figures for which the result has data, in the order of the page."""
    several = len({row["where"] for row in rows}) > 1
    drawn = (draw(rows, several) for draw in _ALL)
    return [figure for figure in drawn if figure]


def hero(story: Sequence[Record]) -> Spec:
    """A few backends from the fastest to the slowest, large: the main figure of a result."""
    axis: Spec = {"labelFontSize": vega.large(20, 14), "labelLimit": vega.large(330, 170)}
    axis |= {"labelPadding": 12, "domain": False, "ticks": False, "title": None}
    y = {"field": "label", "type": "nominal", "sort": None, "axis": axis}
    x = vega.time()
    x["axis"] |= {"labelFontSize": 15, "labelOpacity": vega.large(1, 0)}
    several = len({row["where"] for row in story}) > 1
    encoding = {"y": y, **vega.places(several), "color": vega.family()}
    least = min(row["us"] for row in story)
    decade = next(10.0**n for n in range(9, -4, -1) if 10.0**n <= least)
    text = {"type": "text", "align": "left", "dx": vega.large(15, 11), "fontWeight": 600}
    return vega.whole(
        vega.calculated(shown="narrow ? datum.time : datum.text"),
        height={"step": 52},
        encoding=encoding | {"description": {"field": "about"}},
        layer=[
            vega.rule(x, {"datum": decade}, 5, 0.35),
            vega.dot(several, vega.large(260, 140), x=x),
            vega.layer(text | {"fontSize": vega.large(21, 15)}, x=x, text={"field": "shown"}),
        ],
    )


def _layers(_rows: Sequence[Record], several: bool) -> Figure:
    to = "datum.to > datum.us * 1.02 ? datum.time + ' to ' + " + vega.spelt("datum.to")
    texts = vega.calculated(
        text=f"!narrow && {to} : datum.time", about=f"datum.name + ': ' + ({to} : datum.time)"
    )
    dots, names = vega.dot(several, x=vega.time()), vega.beside(vega.time("to"))
    lines = vega.rule(vega.time(), {"field": "to"}, 3)
    return Figure(
        "layers",
        "Layers",
        "Which layer costs what?",
        "Median time of one image, logarithmic. A dot is the fastest variant of a backend; its "
        "line reaches to the slowest way.",
        vega.by_family([*FOLDED, *texts], several, [lines, dots, names]),
    )


def _code(rows: Sequence[Record], several: bool) -> Figure | None:
    if len({row["lines"] for row in rows if row["lines"]}) < 2:
        return None
    front: list[Spec] = [
        {
            "window": [{"op": "min", "field": "us", "as": "best"}],
            "sort": [{"field": "lines"}, {"field": "us"}],
            "frame": [None, 0],
        },
        *vega.calculated(
            front="datum.us === datum.best",
            named="datum.named || datum.us === datum.best",
            about="datum.name + ': ' + datum.lines + ' lines, ' + datum.time",
        ),
    ]
    stairs = {"type": "line", "interpolate": "step-after", "color": vega.colour("rule")}
    dots = vega.dot(several, color=vega.family(), description={"field": "about"})
    x = vega.logarithmic("lines", "x", "lines of code", "format(datum.value, 'd')")
    x["scale"]["padding"] = 24
    return Figure(
        "code",
        "Code",
        "What does a line of code buy?",
        "Each dot is the fastest variant of a backend: shorter code to the left, faster to the "
        "bottom, both logarithmic. No backend is both shorter and faster than a dot on the line. "
        "Point at a dot for its name.",
        vega.whole(
            [*FOLDED, {"filter": "datum.lines > 0"}, *NAMED, *front],
            height=460,
            encoding={"x": x, "y": vega.time("us", "y", "median time of one image")},
            layer=[vega.where("datum.front", vega.layer(stairs)), {"name": "labelled", **dots}],
            usermeta={"labels": ["right", "left", "top", "bottom", "top-right", "bottom-right"]},
        ),
    )


def _of_2018(rows: Sequence[Record], several: bool) -> Figure | None:
    compared = [row for row in rows if row["backend"].partition("@")[0] in _FIRST]
    if len({row["backend"] for row in compared}) < 2:
        return None
    missing = {"CPU", "GPU"} - {row["device"] for row in rows}
    here = f" Nothing was measured on a {missing.pop()} here." if missing else ""
    spell = "datum.key === 'us' ? datum.time : format(datum.value, 'd')"
    kinds = {"lines": "lines of code", "us": "time"} if compared[0]["lines"] else {"us": "time"}
    only: Spec = {"filter": f"indexof({list(_FIRST)}, split(datum.backend, '@')[0]) >= 0"}
    return Figure(
        "of-2018",
        "2018",
        "The question of 2018: does the lowest layer win?",
        "Three students compared the library of primitives (cuDNN on a GPU, oneDNN on a CPU), "
        f"TensorFlow on it, and Keras on TensorFlow.{here}",
        vega.columns(kinds, spell, several, sort={"field": "us", "op": "min"}, only=[only]),
    )


def _tails(rows: Sequence[Record], several: bool) -> Figure | None:
    if not any(row["p99"] for row in rows):
        return None
    about = (
        f"datum.name + ': median ' + datum.time + ', p99 ' + {vega.spelt('datum.p99')}"
        f" + ', slowest ' + {vega.spelt('datum.slowest')}"
    )
    ends = vega.calculated(end="max(datum.p999 || 0, datum.p99)", about=about)
    ring: Spec = {"type": "point", "filled": False, "fill": vega.colour("paper")}
    ring |= {"size": 50, "aria": False}
    return Figure(
        "tails",
        "Tails",
        "How steady is a call?",
        "Times of single calls, logarithmic: the dot is the median, the ring the 99th percentile; "
        "the thin line reaches from the fastest call to the 99.9th percentile (to the 99th where "
        "there are too few calls). The table has the slowest call.",
        vega.by_family(
            [*FOLDED, {"filter": "datum.p99 > 0"}, *ends],
            several,
            [
                vega.rule(vega.time("minimum"), {"field": "end"}, 1.5, 1),
                vega.rule(vega.time(), {"field": "p99"}, 4),
                vega.layer(ring, x=vega.time("p99")),
                vega.dot(several, x=vega.time()),
            ],
        ),
    )


def _cold(rows: Sequence[Record], several: bool) -> Figure | None:
    if not any(row["cold"] for row in rows):
        return None
    return Figure(
        "cold",
        "Cold start",
        "How long until the first answer?",
        "From the start of a process to its first answer: Python, NumPy and this package; "
        "importing the API; reading and checking the weights; building the network; the first "
        "call. Each part is its median over the starts.",
        vega.stacked(COLD, several, "format(datum.value, '.2f') + ' s'"),
    )


def _takes(rows: Sequence[Record], several: bool) -> Figure | None:
    kinds = {"memory": "memory", "disk": "disk", "device_memory": "GPU memory"}
    known = {key: kind for key, kind in kinds.items() if any(row[key] for row in rows)}
    if not known:
        return None
    spell = "format(datum.value, datum.value < 10 ? '.1f' : ',.0f') + ' MiB'"
    return Figure(
        "takes",
        "Memory and disk",
        "How much memory and disk does it take?",
        "Memory: the peak of a process, Python and NumPy included. Disk: the installed packages of "
        "the API, with their dependencies.",
        vega.columns(known, spell, several, sort={"field": "memory", "op": "min"}),
    )


def _batches(rows: Sequence[Record], several: bool) -> Figure | None:
    sizes = sorted({size for row in rows for size in row["rates"]})
    if len(sizes) < 2:
        return None
    about = (
        "datum.name + ': ' + format(datum.rates, ',.0f') + ' images a second with '"
        " + datum.sizes + ' a call'"
    )
    y = vega.logarithmic("rates", "y", "images a second", "format(datum.value, ',')")
    dash = {"strokeDash": {"field": "where", "sort": None, "legend": None}} if several else {}
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
                "x": vega.counts("sizes", "images a call", sizes),
                "y": y,
                "color": vega.family(),
            },
            layer=[
                vega.layer({"type": "line", "opacity": 0.55}, detail={"field": "name"}, **dash),
                vega.layer({"type": "point", "size": 40}, description={"field": "about"}),
                {"name": "labelled", **vega.where(f"datum.sizes === {sizes[-1]}", last)},
            ],
            usermeta={"labels": ["right"]},
        ),
    )


def _gpu_call(rows: Sequence[Record], several: bool) -> Figure | None:
    if not any(GPU_CALL[0] in row for row in rows):
        return None
    return Figure(
        "gpu-call",
        "GPU calls",
        "Where does the time of a GPU call go?",
        "One call in a separate profiled run: the copy of the image to the GPU, the kernels and "
        "the copy back by the GPU's clock; the rest is time of the host.",
        vega.stacked(GPU_CALL, several, vega.spelt("datum.value")),
    )


_ALL: tuple[Callable[[Sequence[Record], bool], Figure | None], ...] = (
    _layers,
    _code,
    _of_2018,
    _tails,
    _cold,
    _takes,
    _batches,
    _gpu_call,
)
