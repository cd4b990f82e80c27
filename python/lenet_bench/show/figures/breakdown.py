"""Calls taken apart as stacked bars: a backend of each family, on one axis of time."""

from collections.abc import Collection, Iterator, Sequence

from ... import units
from ...results import Breakdown
from ...results.breakdown import GROUPS, group
from ..sentences import family
from ..why import consists_of, difference
from .records import Record, Run, named, rounded
from .vega import LEGEND, TICK, Spec, always, calculated, colour, large, layer, where, whole

#: Bars that are shown first, if they were measured; the rest of their families is hidden.
_ASKED_FOR = ("onednn", "torch", "tensorflow:concrete", "keras:predict_on_batch", "keras")
_SHORTER = 5  # times: a bar so much longer than all others is cut
_SHADES = ("part-4", "part-3", "part-1", "part-2", "part-1", "part-0")  # of GROUPS
_BAR = 20  # pixels


def parts(run: Run) -> list[Record]:
    """A row for each part, the fastest call first. At least one bar of each family is shown.

    Parts follow one another; those below zero are to the left of 0.
    """
    names = [one.name for one in run.breakdowns]
    asked = [name for name in names if name.partition("@")[0] in _ASKED_FOR]
    families = {family(name) for name in asked}
    fastest = {family(name): name for name in reversed(names) if family(name) not in families}
    shown = {*asked, *fastest.values(), names[-1]}
    return [
        rounded(row) | {"shown": one.name in shown} for one in run.breakdowns for row in _parts(one)
    ]


def _parts(one: Breakdown) -> Iterator[Record]:
    whole_us = one.median_us or 0.0
    left = right = 0.0
    for number, part in enumerate(one.parts):
        begins = left if part.us < 0 else right
        ends = begins + part.us
        left, right = min(left, ends), max(right, ends)
        between = units.times(part.low_us, part.high_us)
        known = "" if between == units.NONE else f", {between}"
        yield {
            "name": named(one),
            "family": family(one.name),
            "call": whole_us,
            "time": units.time(whole_us),
            "part": part.name,
            "group": group(part.name),
            "begins": begins,
            "ends": ends,
            "text": f"{units.time(part.us)} ({units.percent(part.us / whole_us, places=0)}{known})",
            "last": number == len(one.parts) - 1,
            "left": left,
            "right": right,
        }


def axis(rows: Sequence[Record]) -> Record:
    """The ends of the axis: as long as the longest bar, or as the next one if that is far shorter.

    A longer bar ends in an arrow.
    """
    bars = [row for row in rows if row["shown"] and row["last"]]
    longest, *others = sorted((float(bar["right"]) for bar in bars), reverse=True)
    far = bool(others) and others[0] * _SHORTER < longest
    high = others[0] if far else longest
    return {"low": min(bar["left"] for bar in bars if bar["right"] <= high), "high": high}


def sentences(run: Run) -> list[list[str]]:
    """Sentences for each call: its differences from each faster call, then its own parts."""
    return [
        [*(difference(quicker, one) for quicker in run.breakdowns[:n]), consists_of(one)]
        for n, one in enumerate(run.breakdowns)
    ]


def stacks(ends: Record, groups: Collection[str]) -> Spec:
    """A bar for each call with its parts; a bar longer than the axis ends in an arrow."""
    ink = {"condition": {"test": "datum.value === 0", **always("ink")}, **always("rule")}
    x = {
        "type": "quantitative",
        "scale": {"domain": [{"expr": "low"}, {"expr": "high"}], "nice": False, "zero": False},
        "axis": {
            "title": None,
            "labelExpr": f"datum.value > 0 ? {TICK} : datum.value < 0 ? '' : '0'",
            "tickCount": large(6, 3),
            "gridColor": ink,
            "ticks": False,
            "domain": False,
        },
    }
    begins, middle, call = (x | {"field": field} for field in ("a", "middle", "call"))
    known = [pair for pair in zip(GROUPS, _SHADES, strict=True) if pair[0] in groups]
    shades = {"domain": [name for name, _ in known], "range": [colour(one) for _, one in known]}
    shade = {"field": "group", "scale": shades, "legend": LEGEND | {"columns": large(9, 2)}}
    name = {"type": "text", "fontSize": 13, "dy": _BAR / 2 + 9}
    names = layer(name, x=middle, text={"field": "part"}, color=always("soft"))
    picked = "(datum.name === one || datum.name === other)"
    bar, about = {"type": "bar", "height": _BAR}, {"field": "about"}
    gap = {"condition": {"test": "datum.room > 5", **always("paper")}, "value": None}
    spec = whole(
        calculated(
            a="max(low, min(high, datum.begins))",
            b="max(low, min(high, datum.ends))",
            middle="(datum.a + datum.b) / 2",
            room="abs(datum.b - datum.a) / (high - low) * width",
            head="narrow ? datum.name : datum.name + ' (' + datum.family + ')'",
            beyond="format(datum.right / high, '.3~r') + ' times' + (narrow ? '' : ' this axis')",
            long="datum.time + (datum.right > high ? ', ' + datum.beyond : '')",
            about="datum.name + ': ' + datum.part + ' ' + datum.text",
        ),
        height={"step": 57},
        encoding={"y": {"field": "name", "type": "nominal", "sort": None, "axis": None}},
        layer=[
            layer({"type": "rect", "opacity": 0}, x={"value": 0}, x2={"value": "width"}),
            layer(bar, x=begins, x2={"field": "b"}, color=shade, stroke=gap, description=about),
            where("datum.room > 8 * length(datum.part)", names),
            where("datum.last && datum.call <= high", _line(call, 3, _BAR + 8, "ink")),
            where("datum.last && datum.right > high", _arrow("right", {"value": "width"}, 9)),
            where("datum.last && datum.left < low", _arrow("left", {"value": 0}, -9)),
            where("datum.last", _over("head", "left", {"value": 0})),
            where("datum.last", _over("long", "right", {"value": "width"})),
            where(f"datum.last && {picked}", _line({"value": -22}, 5, 42, "accent")),
        ],
    )
    given = {**ends, "one": "", "other": ""}  # the two that are picked
    params = [{"name": name, "value": value} for name, value in given.items()]
    return spec | {"params": [*spec["params"], *params]}


def _line(x: Spec, wide: int, tall: int, shade: str) -> Spec:
    mark = {"type": "tick", "orient": "vertical", "thickness": wide, "size": tall, "opacity": 1}
    return layer(mark, x=x, color=always(shade))


def _arrow(to: str, x: Spec, offset: int) -> Spec:
    mark = {"type": "point", "shape": f"triangle-{to}", "size": 170, "xOffset": offset}
    return layer(mark | {"aria": False}, x=x, color=always("ink"))


def _over(field: str, align: str, x: Spec) -> Spec:
    left = f"width - {'0' if field == 'long' else '9 * length(datum.long)'}"
    mark = {
        "type": "text",
        "align": align,
        "dy": -_BAR / 2 - 11,
        "fontWeight": 600,
        "fontSize": large(17, 14),
        "limit": {"expr": left},
    }
    return layer(mark, x=x, text={"field": field})
