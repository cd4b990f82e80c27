"""Specifications drawn without a browser, by vl-convert: as Vega for the page, as SVG and PNG."""

import re
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from ...atomic import write_file
from ...errors import ResultError, Unavailable
from ...texts import all_printable
from ..callers import callers
from . import Figure, figures
from .breakdown import axis, parts, stacks
from .callers import callers as together
from .records import Record, Run, small
from .story import story
from .vega import COLOURS, Spec, colour, themes

_WIDE = 640  # of the marks of a figure in a file; their names come on top

_FONT = "'Liberation Sans', Arial, sans-serif"  # vl-convert brings it: one layout everywhere


def library(name: str) -> Any:
    """A library that only pages and pictures need; if absent, the error says how to install it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise absent(error.name or name) from None


def absent(name: str) -> Unavailable:
    """The sentence about the library that is not there."""
    return Unavailable(
        f"pages and figures need {name}, which is not installed; fix it with: "
        "pip install 'lenet-bench[report]'"
    )


def compiled(spec: Spec) -> dict[str, Any]:
    """The specification as Vega, which is what browsers and files are drawn from."""
    vega: dict[str, Any] = library("vl_convert").vegalite_to_vega(spec)
    if anchors := vega.get("usermeta", {}).get("labels"):
        dots = next(m["name"] for m in vega["marks"] if m["name"].startswith("labelled"))
        vega["marks"].append(_labels(dots, anchors))
    return vega


def _labels(dots: str, anchors: Sequence[str]) -> dict[str, Any]:
    """Place names beside their dots without overlap, which Vega-Lite does not offer."""
    name = {"signal": "datum.datum.named ? datum.datum.name : ''"}
    looks = {"text": name, "fill": {"value": colour("ink")}, "fontSize": {"value": 14}}
    place: Spec = {
        "type": "label",
        "size": {"signal": "[width + 200, height]"},
        "anchor": anchors,
        "offset": [7],
        "avoidBaseMark": False,  # files have no canvas to see the base mark
    }
    return {
        "type": "text",
        "aria": False,
        "from": {"data": dots},
        "encode": {"update": looks},
        "transform": [place],
    }


def write_figures(folder: Path, runs: Sequence[Run], of_sizes: Sequence[Figure] = ()) -> list[Path]:
    """Each figure as SVG and as PNG, for slides and papers: on white, large."""
    written = []
    for key, drawn in pictures(runs, of_sizes).items():
        for ending, content in (("svg", _plain(drawn).encode()), ("png", png(drawn, 3))):
            written.append(folder / f"{key}.{ending}")
            write_file(written[-1], content, ResultError)
    return written


def png(drawn: str, scale: float) -> bytes:
    """A drawing as PNG on white."""
    white = _plain(drawn).replace(">", '><rect width="100%" height="100%" fill="white"/>', 1)
    content: bytes = library("vl_convert").svg_to_png(white, scale=scale)
    return content


def pictures(runs: Sequence[Run], of_sizes: Sequence[Figure] = ()) -> dict[str, str]:
    """Each figure of a page as SVG; its colours are CSS variables."""
    rows, shown = runs[0].rows, story(runs[0])
    drawn = {
        one.key: drawing(one.spec, shown if one.key == "hero" else small(rows, shown))
        for one in (*figures(rows, shown), *together(callers(runs[0].result)), *of_sizes)
    }
    if runs[-1].breakdowns:
        calls = parts(runs[-1])
        drawn["why"] = drawing(
            stacks(axis(calls), {row["group"] for row in calls}),
            [row for row in calls if row["shown"]],
        )
    return drawn


def themed(drawn: str) -> str:
    """The picture in the viewer's theme, light or dark."""
    light, dark = themes()
    style = f":root{{{light}}}@media(prefers-color-scheme:dark){{:root{{{dark}}}}}"
    return drawn.replace(">", f"><style>{style}</style>", 1)


def _plain(drawn: str) -> str:
    return re.sub(r"var\(--([\w-]+)\)", lambda name: COLOURS[name[1]][0], drawn)


def drawing(spec: Spec, rows: Sequence[Record]) -> str:
    """A specification as SVG; its colours are CSS variables."""
    vega = all_printable(compiled(spec | {"config": spec["config"] | {"font": _FONT}}))
    vega["width"] = _WIDE
    vega["padding"] = {"left": 30, "right": 45, "top": 8, "bottom": 8}  # where fonts are wider
    for data in vega["data"]:
        if data["name"] == "rows":
            data["values"] = all_printable(rows)
    drawn: str = library("vl_convert").vega_to_svg(vega)
    return drawn
