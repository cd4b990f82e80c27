"""How large must a network be before the API stops mattering? A line for each API."""

from collections.abc import Mapping, Sequence
from typing import Any

from ... import units
from ...network import LENET
from ...networks import network
from ...results.sizes import Sized, by_api
from ..sentences import FAMILIES, family
from ..sizes import ratios, times, with_interval
from . import Figure, vega
from .records import Record
from .vega import Spec

_HEIGHT, _BETWEEN = 400, 19  # pixels: the figure, and two names
_ROOM = 1.35  # from the end of a line to its name, and around the data: factors
_LIMIT = "this machine's limit"
_HOW = (
    "Time of a call over that of the fastest API on the same network, by the network's "
    "multiply-adds, both logarithmic. Each API by the fastest of its calls measured, the inference "
    "engines by the fastest of them; at the end of a line is the call that is fastest there. The "
    "dots apart are a recurrent network, whose steps wait for one another. The broken line, where "
    "there is one, is the least time in which the machine can read the weights and multiply, layer "
    "by layer. Point at a dot for its name."
)


def sizes(found: Sequence[Sized], limits_us: Mapping[str, float] | None = None) -> list[Figure]:
    """The figure, where there are two networks; with the machine's limit for those named."""
    if not found:
        return []
    dots = [_dot(line, one) for line, one in by_api(found)]
    lines = [dot | {"kind": "line"} for dot in dots if "gru" not in network(dot["network"]).kinds]
    floor = [
        {**row, "kind": "limit", "line": _LIMIT, "text": _LIMIT, "family": FAMILIES[-1]}
        | {"ratio": limits_us[row["network"]] / row["us"]}
        for row in lines
        if row["ratio"] == 1 and limits_us and row["network"] in limits_us
    ]
    question = "How large must a network be before the API stops mattering?"
    numbers = tuple(ratios(found, with_interval))
    return [Figure("sizes", "Sizes", question, _HOW, _spec(dots, [*lines, *floor]), numbers)]


def _dot(line: str, one: Sized) -> Record:
    return {
        "kind": "dot",
        "line": line,
        "text": line if line.lower() == one.name else f"{line}: {one.name}",
        "family": family(one.name),
        "network": one.network,
        "macs": one.multiply_adds / 1e6,
        "us": one.us,
        "ratio": one.ratio,
        "about": f"{one.name} on {one.network}: {units.time(one.us)}, {times(one)}",
    }


def _ends(lines: Sequence[Record], step: float) -> list[Record]:
    """The end of each line, and beside it the place of its name."""
    ends = {row["line"]: row for row in lines}.values()
    return [
        row | {"kind": "end", "beside": row["macs"] * _ROOM}
        for row in vega.apart(ends, "ratio", step)
    ]


def _axis(rows: Sequence[Record], field: str, scale: str, title: str, spell: str) -> Spec:
    values = [row[field] for row in rows]
    axis = vega.logarithmic(field, scale, title, spell)
    axis["scale"] |= {"padding": 0, "domain": [min(values) / _ROOM, max(values) * _ROOM]}
    return axis


def _spec(dots: Sequence[Record], lines: Sequence[Record]) -> Spec:
    drawn = [*dots, *lines]
    across, up = "million multiply-adds of the network", "time over the fastest API's"
    x = _axis(drawn, "macs", "x", across, "format(datum.value, ',')")
    y = _axis(drawn, "ratio", "y", up, "format(datum.value, '~g')")
    low, high = y["scale"]["domain"]
    networks = {row["network"]: row | {"kind": "network"} for row in dots}
    ends = _ends(lines, (high / low) ** (_BETWEEN / _HEIGHT))
    is_lenet = f"datum.network === '{LENET}'"
    text: Spec = {"type": "text", "align": "left", "fontSize": vega.large(14, 12), "dx": 4}
    name = text | {"angle": vega.large(-50, -80), "fontWeight": {"expr": f"{is_lenet} ? 700 : 400"}}
    column: Spec = {"type": "rule", "strokeWidth": {"expr": f"{is_lenet} ? 3 : 1"}}
    broken: Spec = {"type": "line", "strokeDash": [6, 4]}
    dot = {"type": "point", "size": 70}
    line = {"detail": {"field": "line"}, "y": y}
    to, at = {"field": "beside", "type": "quantitative"}, {"field": "at"}
    shape, about = {"field": "line", "legend": None}, {"field": "about"}

    def of(kind: str, mark: Spec, color: Spec | None = None, **encoding: Any) -> Spec:
        layer = vega.layer(mark, color=color or vega.family(), **encoding)
        return vega.where(f"datum.kind === '{kind}'", layer)

    return vega.whole(
        vega.calculated(shown="narrow ? datum.line : datum.text"),
        data={"name": "sizes", "values": [*drawn, *networks.values(), *ends]},
        height=_HEIGHT,
        encoding={"x": x | {"axis": x["axis"] | {"grid": False}}},
        layer=[
            of("network", column, vega.always("rule")),
            of("network", name, vega.always("ink"), y={"value": -6}, text={"field": "network"}),
            of("limit", broken, **line),
            of("line", {"type": "line", "strokeWidth": 2.5}, **line),
            of("end", {"type": "rule", "opacity": 0.6}, y=y, x2={"field": "beside"}, y2=at),
            of("dot", dot, y=y, shape=shape, description=about),
            of("end", text, x=to, y=y | at, text={"field": "shown"}),
        ],
    )
