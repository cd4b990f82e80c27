"""The figures of a comparison: each answers a question with a Vega-Lite specification."""

from collections.abc import Sequence
from dataclasses import dataclass

from . import vega
from .records import Record
from .vega import Spec

_MOST_NAMES = 12  # of more dots only those of the main figure have names; others have tooltips


@dataclass(frozen=True)
class Figure:
    """A question, how its figure is read, and the specification that answers it."""

    key: str
    short: str
    question: str
    how: str
    spec: Spec
    numbers: Sequence[tuple[str, ...]] = ()  # titles and rows, where those of the page do not fit


def figures(rows: Sequence[Record], story: Sequence[Record], taken: str = "image") -> list[Figure]:
    """The main figure, of the story, and that of the code where lines were counted."""
    counts = {row["lines_of_code"] for row in rows if row["lines_of_code"]}
    first = hero(story, taken)
    return [first, code()] if len(counts) > 1 else [first]


def hero(story: Sequence[Record], taken: str = "image") -> Figure:
    """A few backends from the fastest to the slowest, large."""
    axis = {
        "labelFontSize": vega.large(20, 14),
        "labelLimit": vega.large(330, 170),
        "labelPadding": 12,
        "domain": False,
        "ticks": False,
        "title": None,
    }
    y = {"field": "label", "type": "nominal", "sort": None, "axis": axis}
    x = vega.time()
    x["axis"] |= {"labelFontSize": 15, "labelOpacity": vega.large(1, 0)}
    least = min(row["p50_us"] for row in story)
    decade = next(10.0**n for n in range(9, -4, -1) if 10.0**n <= least)
    line = {"type": "rule", "strokeWidth": 5, "opacity": 0.35}
    text = {"type": "text", "align": "left", "dx": vega.large(15, 11), "fontWeight": 600}
    spec = vega.whole(
        vega.calculated(shown="narrow ? datum.time : datum.text"),
        height={"step": 52},
        encoding={"y": y, "color": vega.family(), "description": {"field": "about"}},
        layer=[
            vega.layer(line, x=x, x2={"datum": decade}),
            vega.layer({"type": "point", "size": vega.large(260, 140)}, x=x),
            vega.layer(text | {"fontSize": vega.large(21, 15)}, x=x, text={"field": "shown"}),
        ],
    )
    question = f"How long does one {taken} take?"
    return Figure("hero", "Time", question, "The median call, logarithmic.", spec)


def code() -> Figure:
    """Lines of code against the median, of each backend's fastest variant unless all are asked."""
    fastest: list[Spec] = [
        {
            "joinaggregate": [{"op": "min", "field": "p50_us", "as": "fastest"}],
            "groupby": ["backend"],
        },
        {"filter": "everyVariant || datum.p50_us === datum.fastest"},
        {"filter": "datum.lines_of_code > 0"},
    ]
    front: list[Spec] = [
        {"joinaggregate": [{"op": "count", "as": "dots"}]},
        {
            "window": [{"op": "min", "field": "p50_us", "as": "best"}],
            "sort": [{"field": "lines_of_code"}, {"field": "p50_us"}],
            "frame": [None, 0],
        },
        *vega.calculated(
            front="datum.p50_us === datum.best",
            named=f"datum.story || datum.dots <= {_MOST_NAMES} || datum.front",
            about="datum.name + ': ' + datum.lines_of_code + ' lines, ' + datum.time",
        ),
    ]
    stairs = {"type": "line", "interpolate": "step-after", "color": vega.colour("soft")}
    dot = {"type": "point", "size": 90}
    dots = vega.layer(dot, color=vega.family(), description={"field": "about"})
    x = vega.logarithmic("lines_of_code", "x", "lines of code", "format(datum.value, 'd')")
    x["scale"]["padding"] = 24
    return Figure(
        "code",
        "Code",
        "What does a line of code buy?",
        "Each dot is the fastest variant of a backend, or every variant if you ask for them: "
        "shorter code to the left, faster to the bottom, both logarithmic. None in float32 is "
        "both shorter and faster than a dot on the line. Point at a dot for its name.",
        vega.whole(
            [*fastest, *front],
            height=460,
            encoding={"x": x, "y": vega.time("y", "median time of one image")},
            layer=[vega.where("datum.front", vega.layer(stairs)), {"name": "labelled", **dots}],
            usermeta={"labels": ["top-right", "right", "bottom-right", "top", "bottom", "left"]},
        ),
    )
