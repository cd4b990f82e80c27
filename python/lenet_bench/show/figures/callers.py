"""How many calls a second do several callers get? A line for each backend."""

from collections.abc import Sequence

from ... import units
from . import Figure, vega
from .records import Record

_HOW = (
    "Calls a second of all callers by the number of callers, both logarithmic. Each backend in its "
    "faster way (networks: {ways}). Point at a dot for its name."
)
_HEIGHT, _BETWEEN = 360, 19  # pixels: the figure, and two names


def callers(found: Sequence[Record]) -> list[Figure]:
    """The figure of these rows of `show.callers`, where there are any."""
    best: dict[str, Record] = {}
    for row in found:
        best.setdefault(row["name"], row)
    dots = [dot for row in best.values() for dot in _dots(row)]
    if not dots:
        return []
    how = _HOW.format(ways=" or ".join(dict.fromkeys(row["networks"] for row in found)))
    return [Figure("callers", "Callers", "What do several callers get?", how, _spec(dots))]


def _dots(row: Record) -> list[Record]:
    return [
        {
            "name": row["name"],
            "family": row["family"],
            "callers": number,
            "rate": rate,
            "about": f"{row['name']}, {units.counted(number, 'caller')}, networks "
            f"{row['networks']}: {units.rate(rate)}",
        }
        for number, rate in row["rates"].items()
    ]


def _spec(dots: Sequence[Record]) -> vega.Spec:
    numbers = sorted({dot["callers"] for dot in dots})
    axis = {"values": numbers, "format": "d", "title": "callers", "grid": False, "ticks": False}
    x = {
        "field": "callers",
        "type": "quantitative",
        "scale": {"type": "log", "domain": [numbers[0], numbers[-1] * 1.6], "nice": False},
        "axis": axis,
    }
    spelled = "format(datum.value, ',.3~r')"
    y = vega.logarithmic("rate", "y", "calls a second of all", spelled)
    rates = [dot["rate"] for dot in dots]
    step = (max(rates) / min(rates)) ** (_BETWEEN / _HEIGHT)
    lasts = (dot for dot in dots if dot["callers"] == numbers[-1])
    names = [dot | {"is_name": True} for dot in vega.apart(lasts, "rate", step)]
    name = {"type": "text", "align": "left", "dx": 8, "fontSize": vega.large(14, 12)}
    dot, at = {"type": "point", "size": 70}, {"field": "at"}
    line = {"type": "line", "strokeWidth": 2.5}
    return vega.whole(
        [],
        data={"name": "callers", "values": [*dots, *names]},
        height=_HEIGHT,
        encoding={"x": x, "color": vega.family()},
        layer=[
            vega.where("!datum.is_name", vega.layer(line, y=y, detail={"field": "name"})),
            vega.where("!datum.is_name", vega.layer(dot, y=y, description={"field": "about"})),
            vega.where("datum.is_name", vega.layer(name, y=y | at, text={"field": "name"})),
        ],
    )
