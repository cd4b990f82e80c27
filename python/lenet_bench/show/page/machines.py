"""Machines side by side as a page of one table, which works offline and with hundreds of rows."""

from collections.abc import Sequence

from ... import units
from ...questions.machines import Measured
from ...questions.scaling import KINDS, Usual, gains, missing
from ...questions.scaling import usual as scaled
from ...results.statistics import FEWEST_STARTS
from ..figures import vega
from ..figures.pictures import drawing
from ..figures.rows import Row, writable
from ..machines import FACTS, FEW, columns, facts
from ..sentences import family
from .frame import environment, policy, script, stylesheet

_EFFICIENCIES = (1.0, 0.5, 0.25, 0.1, 0.03, 0.01)
_PANELS = (
    ".panels{display:grid;gap:1rem;"
    "grid-template-columns:repeat(auto-fit,minmax(min(20rem,100%),36rem))}"
)


def page(machines: Sequence[Measured]) -> str:
    """All variants in one table; a script shows the chosen ones."""
    usual = columns(machines)
    names = [*usual, *(name for name in columns(machines, every=True) if name not in usual)]
    others = f"#machines:not(.every) tr>:nth-child(n+{len(FACTS) + len(usual) + 1})"
    style = f"{stylesheet()}{others}{{display:none}}{_PANELS}"
    code = script("machines.js")
    found = gains(machines)
    points = [one for one in scaled(found) if one.backend in usual]
    rows = [(facts(one), [_cell(one, name) for name in names]) for one in machines]
    html: str = (
        environment()
        .get_template("machines.html")
        .render(
            facts=FACTS,
            names=names,
            usual=len(usual),
            rows=rows,
            few=FEW,
            panels=[
                _panel(own) for kind in KINDS if (own := [p for p in points if p.kind == kind])
            ],
            points=points,
            missing=list(missing(machines, found)),
            ratio=units.ratio,
            choices=[
                (title, place, sorted({cells[place] for cells, _ in rows}))
                for place, title in enumerate(FACTS)
                if title in ("machine", "GPU", "version")
            ],
            style=style,
            script=code,
            policy=policy(style, code),
        )
    )
    return writable(html)


def _cell(one: Measured, name: str) -> str:
    """Microseconds to four digits, for the script; a star where there are few starts."""
    found = one.times.get(name)
    if found is None:
        return ""
    return f"{float(f'{found.us:.4g}'):g}{'*' if found.starts < FEWEST_STARTS else ''}"


def _panel(points: Sequence[Usual]) -> str:
    """The SVG of one kind: the gain by the number, both logarithmic."""
    numbers = sorted({1, *(one.count for one in points)})
    ends = min(1.0, *(one.low for one in points)), max(2.0, *(one.high for one in points))
    return drawing(_spec(points[0].kind, numbers, *ends), _rows(points), wide=330)


def _rows(points: Sequence[Usual]) -> list[Row]:
    names = {one.backend for one in points}
    first = [(name, 1, 1.0, 1.0, 1.0) for name in sorted(names)]
    every = [*first, *((o.backend, o.count, o.gain, o.low, o.high) for o in points)]
    return [
        {"name": writable(name), "count": n, "gain": gain, "low": low, "high": high}
        | {"family": family(name)}
        for name, n, gain, low, high in every
    ]


def _spec(kind: str, numbers: Sequence[int], low: float, high: float) -> vega.Spec:
    x = vega.counts("count", kind, numbers)
    y = vega.logarithmic("gain", "y", "times as many images a second", "format(datum.value, '~g')")
    y["axis"]["values"] = [n * 10.0**k for k in range(-3, 7) for n in (1, 2, 5)]
    y["scale"] |= {"domain": [low * 0.9, high * 1.1], "padding": 0}
    about = "datum.name + ': ' + format(datum.gain, '.3~r') + ' times with ' + datum.count"
    shade, bounds = vega.family(), {"type": "rule", "strokeWidth": 3}
    last = vega.layer({"type": "point", "size": 40, "aria": False}, color=shade)
    return vega.whole(
        vega.calculated(about=about, named="true"),
        height=300,
        encoding={"x": x, "y": y},
        layer=[
            *_guides(numbers[-1], low, high),
            vega.layer({"type": "line", "opacity": 0.55}, color=shade, detail={"field": "name"}),
            vega.layer(bounds, y=y | {"field": "low"}, y2={"field": "high"}, color=shade),
            vega.layer({"type": "point", "size": 40}, color=shade, description={"field": "about"}),
            {"name": "labelled", **vega.where(f"datum.count === {numbers[-1]}", last)},
        ],
        usermeta={"labels": ["right"]},
    )


def _guides(most: int, low: float, high: float) -> list[vega.Spec]:
    """Lines of equal efficiency, with labels."""
    ends = [
        {"share": share, "count": count, "gain": share * count}
        for share in _EFFICIENCIES
        for count in (max(1.0, low * 0.9 / share), min(float(most), high * 1.1 / share))
        if low * 0.9 / share < most
    ]
    line = {"type": "line", "strokeDash": [2, 4]}
    lines = vega.layer(line, detail={"field": "share"}, color=vega.always("soft"))
    text = {"type": "text", "align": "right", "dx": -4, "dy": -8, "fontSize": 12}
    last = vega.layer(text, text={"field": "share", "format": ".0%"}, color=vega.always("soft"))
    return [{"data": {"values": ends}, **lines}, {"data": {"values": ends[1::2]}, **last}]
