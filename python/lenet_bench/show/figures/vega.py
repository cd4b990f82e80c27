"""Building blocks of the figures: colours, axes and marks of Vega-Lite.

Colours are CSS variables, so a drawn figure follows the page's theme and prints on white without
being redrawn.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from ..sentences import FAMILIES

Spec = dict[str, Any]

#: name -> on white paper, on a dark screen. Each mark has 3:1 against the paper, each text 4.5:1.
COLOURS = {
    "paper": ("#ffffff", "#14171c"),
    "raised": ("#f5f6f8", "#1d2127"),
    "ink": ("#1b1f24", "#e6e8eb"),
    "soft": ("#555d68", "#a8b0bb"),
    "rule": ("#d9dde2", "#333a44"),
    "accent": ("#0b5cad", "#7fb8f5"),
    "alarm": ("#a8321a", "#ff9c85"),
    "family-0": ("#0b5cad", "#58a6f5"),
    "family-1": ("#00757f", "#4cc5d0"),
    "family-2": ("#2e7d32", "#74c47a"),
    "family-3": ("#8a6a00", "#e0b83c"),
    "family-4": ("#c2410c", "#f5954f"),
    "family-5": ("#a3267c", "#ec83c6"),
    "family-6": ("#4d5661", "#b9c1cc"),
    "part-0": ("#87909c", "#7f8997"),
    "part-1": ("#4a4e8f", "#8288d8"),
    "part-2": ("#3f8f7a", "#a9dccd"),
    "part-3": ("#a87800", "#e8bc4d"),
    "part-4": ("#b03a63", "#ee7fa6"),
}
FONT = (
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'Noto Sans', "
    "'DejaVu Sans', sans-serif"
)

#: The expression that spells the time at a tick, which is in microseconds.
TICK = (
    "(datum.value < 999.5 ? format(datum.value, '.3~r') + ' µs' : datum.value < 999500 ? "
    "format(datum.value / 1e3, '.3~r') + ' ms' : format(datum.value / 1e6, '.3~r') + ' s')"
)


def themes() -> list[str]:
    """The colours as CSS variables: on white paper, and on a dark screen."""
    return ["".join(f"--{name}:{pair[n]};" for name, pair in COLOURS.items()) for n in (0, 1)]


def colour(name: str) -> str:
    return f"var(--{name})"


def always(name: str) -> Spec:
    """That colour for every row."""
    return {"value": colour(name)}


def large(wide: float, narrow: float) -> Spec:
    """A size on a wide screen, and on a narrow one."""
    return {"expr": f"narrow ? {narrow} : {wide}"}


def calculated(**expressions: str) -> list[Spec]:
    """Fields that are computed from others."""
    return [{"calculate": expression, "as": name} for name, expression in expressions.items()]


def family() -> Spec:
    """The colour of a family."""
    colours = [colour(f"family-{n}") for n in range(len(FAMILIES))]
    scale = {"domain": list(FAMILIES), "range": colours}
    return {"field": "family", "scale": scale, "legend": None}


def logarithmic(field: str, scale: str, title: str | None, spell: str) -> Spec:
    """A logarithmic axis. It marks decades, within two decades 2 and 5 too, within one all."""
    wide = f"(domain('{scale}')[1] / domain('{scale}')[0])"
    first = "round(datum.value / pow(10, floor(log(datum.value) / LN10 + 1e-9)))"
    shown = f"{wide} < 6 || {first} === 1 || {wide} < 200 && ({first} === 2 || {first} === 5)"
    even = f"({wide} < 1000 || round(log(datum.value) / LN10) % 2 === 0)"
    room = f"!narrow || {wide} < 6 || {first} === 1 && {even}"
    return {
        "field": field,
        "type": "quantitative",
        "scale": {"type": "log", "nice": False, "padding": 6},
        "axis": {
            "title": title,
            "labelExpr": f"({shown}) && ({room}) ? {spell} : ''",
            "gridOpacity": {"condition": {"test": shown, "value": 1}, "value": 0},
            "ticks": False,
            "labelOverlap": {"expr": f"{wide} < 6 ? 'greedy' : false"},
        },
    }


def apart(rows: Iterable[Spec], field: str, step: float) -> Iterator[Spec]:
    """Rows with a place for each name on a logarithmic axis, above the name below it."""
    at = 0.0
    for row in sorted(rows, key=lambda row: float(row[field])):
        at = max(row[field], at * step)
        yield row | {"at": at}


def time(scale: str = "x", title: str | None = None) -> Spec:
    """The median time, in microseconds."""
    return logarithmic("p50_us", scale, title, TICK)


def layer(mark: Spec, **encoding: Any) -> Spec:
    """A mark and its encoding; only dots and bars have descriptions."""
    silent = {} if mark["type"] in ("point", "bar") else {"aria": False}
    return {"mark": mark | silent, "encoding": encoding}


def where(test: str, drawn: Spec) -> Spec:
    """A layer of the rows that pass a test."""
    return {"transform": [{"filter": test}], **drawn}


def whole(transform: list[Spec], **parts: Any) -> Spec:
    """A specification of the table of rows."""
    params = [{"name": name, "value": False} for name in ("everyVariant", "narrow")]
    return {
        "data": {"name": "rows"},
        "params": params,
        "config": _CONFIG,
        "transform": transform,
        **parts,
    }


LEGEND = {
    "orient": "top",
    "title": None,
    "labelFontSize": 14,
    "labelColor": colour("ink"),
    "labelLimit": 300,
    "columns": large(9, 3),
}
_CONFIG = {
    "background": None,
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "labelColor": colour("ink"),
        "labelFontSize": 14,
        "titleColor": colour("soft"),
        "titleFontSize": 14,
        "titleFontWeight": "normal",
        "gridColor": colour("rule"),
        "domainColor": colour("rule"),
        "tickColor": colour("rule"),
    },
    "legend": LEGEND,
    "point": {"filled": True, "opacity": 1},
    "text": {"fontSize": 14, "color": colour("ink"), "baseline": "middle"},
}
