"""How threads, batches and devices scale: a panel each, with lines of equal efficiency."""

from collections.abc import Sequence
from typing import Any

from ...questions.scaling import Usual
from ..families import family as family_of
from .pictures import drawing
from .rows import writable
from .vega import Spec, calculated, colour, family, layer, logarithmic, whole

_EFFICIENCIES = (1.0, 0.5, 0.25, 0.1, 0.03, 0.01)


def panel(points: Sequence[Usual]) -> str:
    """The SVG of one kind: the gain by the number, both logarithmic."""
    counts = sorted({1, *(one.count for one in points)})
    ends = min(1.0, *(one.low for one in points)), max(2.0, *(one.high for one in points))
    return drawing(_spec(points[0].kind, counts, *ends), _rows(points), wide=330)


def _rows(points: Sequence[Usual]) -> list[dict[str, Any]]:
    names = {one.backend for one in points}
    first = [(name, 1, 1.0, 1.0, 1.0) for name in sorted(names)]
    every = [*first, *((o.backend, o.count, o.gain, o.low, o.high) for o in points)]
    fields = ("name", "count", "gain", "low", "high")
    return [
        {
            **dict(zip(fields, one, strict=True)),
            "name": writable(one[0]),
            "family": family_of(one[0]),
        }
        for one in every
    ]


def _spec(kind: str, counts: Sequence[int], low: float, high: float) -> Spec:
    x = logarithmic("count", "x", kind, "datum.value")
    x["axis"] = {"title": kind, "values": counts, "format": "d", "grid": False}
    y = logarithmic("gain", "y", "times as many images a second", "format(datum.value, '~g')")
    y["axis"]["values"] = [n * 10.0**k for k in range(-3, 7) for n in (1, 2, 5)]
    y["scale"] |= {"domain": [low * 0.9, high * 1.1], "padding": 0}
    about = "datum.name + ': ' + format(datum.gain, '.3~r') + ' times with ' + datum.count"
    return whole(
        calculated(about=about, named="true"),
        height=300,
        encoding={"x": x, "y": y},
        layer=[
            *_guides(counts[-1], low, high),
            layer({"type": "line", "opacity": 0.55}, color=family(), detail={"field": "name"}),
            layer(
                {"type": "rule", "strokeWidth": 3},
                y=y | {"field": "low"},
                y2={"field": "high"},
                color=family(),
            ),
            layer({"type": "point", "size": 40}, color=family(), description={"field": "about"}),
            {
                "name": "labelled",
                "transform": [{"filter": f"datum.count === {counts[-1]}"}],
                **layer({"type": "point", "size": 40, "aria": False}, color=family()),
            },
        ],
        usermeta={"labels": ["right"]},
    )


def _guides(most: int, low: float, high: float) -> list[Spec]:
    """Lines of equal efficiency, with labels."""
    ends = [
        {"share": share, "count": count, "gain": share * count}
        for share in _EFFICIENCIES
        for count in (max(1.0, low * 0.9 / share), min(float(most), high * 1.1 / share))
        if low * 0.9 / share < most
    ]
    line = layer(
        {"type": "line", "strokeDash": [2, 4]},
        detail={"field": "share"},
        color={"value": colour("soft")},
    )
    text = {"type": "text", "align": "right", "dx": -4, "dy": -8, "fontSize": 12}
    last = layer(text, text={"field": "share", "format": ".0%"}, color={"value": colour("soft")})
    return [
        {"data": {"values": ends}, **line},
        {"data": {"values": ends[1::2]}, **last},
    ]
