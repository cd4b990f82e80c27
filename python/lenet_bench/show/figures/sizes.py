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
from .rows import Record
from .vega import Spec

_HEIGHT, _BETWEEN = 400, 19  # pixels: the figure, and two names
_ROOM = 1.35  # from the end of a line to its name, and around the data: factors
_LIMIT = "this machine's limit"


def sizes(found: Sequence[Sized], limits_us: Mapping[str, float] | None = None) -> list[Figure]:
    """The figure, where there are two networks; with the machine's limit for those named."""
    if not found:
        return []
    dots = _dots(found)
    floor = [
        {"kind": "limit", "line": _LIMIT, "family": FAMILIES[-1]}
        | {"macs": one.multiply_adds / 1e6, "ratio": us / one.us}
        for one in found
        if one.ratio == 1 and not _is_recurrent(one) and (us := (limits_us or {}).get(one.network))
    ]
    limit = " The broken line is the least time in which this machine can read the weights and "
    limit += "multiply, layer by layer."
    return [
        Figure(
            "sizes",
            "Sizes",
            "How large must a network be before the API stops mattering?",
            "Time of a call over that of the fastest API on the same network, by the network's "
            "multiply-adds, both logarithmic. Each API by its fastest variant, the inference "
            "engines by the fastest of them; at the end of a line is the variant that is fastest "
            f"there. The dots apart are a recurrent network, whose steps wait for one another."
            f"{limit if floor else ''} Point at a dot for its name.",
            _spec(dots, floor),
            tuple(ratios(found, with_interval)),
        )
    ]


def _dots(found: Sequence[Sized]) -> list[Record]:
    """The fastest variant of each line on each network; a line needs two."""
    best = by_api(found)
    lines = [line for line, _ in best]
    return [
        {
            "kind": "recurrent" if _is_recurrent(one) else "dot",
            "line": line,
            "family": family(one.name),
            "network": one.network,
            "macs": one.multiply_adds / 1e6,
            "ratio": one.ratio,
            "name": one.name,
            "about": f"{one.name} on {one.network}: {units.time(one.us)}, {times(one)}",
        }
        for line, one in best
        if lines.count(line) > 1
    ]


def _is_recurrent(one: Sized) -> bool:
    return "gru" in network(one.network).kinds


def _ends(dots: Sequence[Record], floor: Sequence[Record], step: float) -> list[Record]:
    """A name at the end of each line, moved up where it would meet the one below."""
    last = {one["line"]: one for one in dots if one["kind"] == "dot"}
    ends = [one | {"text": _named(one["line"], one["name"])} for one in last.values()]
    ends += [one | {"text": _LIMIT} for one in floor[-1:]]
    found: list[Record] = []
    at = 0.0
    for one in sorted(ends, key=lambda one: one["ratio"]):
        at = max(one["ratio"], at * step)
        there = {"macs": one["macs"] * _ROOM, "ratio": at}
        found += [
            one | {"kind": "way"},
            one | there | {"kind": "way"},
            one | there | {"kind": "end"},
        ]
    return found


def _named(line: str, name: str) -> str:
    """PyTorch: torch:export; JAX, whose backend has the same name."""
    return line if line.lower() == name else f"{line}: {name}"


def _spec(dots: Sequence[Record], floor: Sequence[Record]) -> Spec:
    ratios = [one["ratio"] for one in (*dots, *floor)]
    low, high = min(ratios) / _ROOM, max(ratios) * _ROOM
    step = (high / low) ** (_BETWEEN / _HEIGHT)
    places = {one["network"]: one | {"kind": "network"} for one in dots}
    rows = [*dots, *floor, *_ends(dots, floor, step), *places.values()]
    macs = [one["macs"] for one in dots]
    x = vega.logarithmic(
        "macs", "x", "million multiply-adds of the network", "format(datum.value, ',')"
    )
    x["scale"] |= {"padding": 0, "domain": [min(macs) / _ROOM, max(macs) * _ROOM]}
    x["axis"]["grid"] = False
    title = "time over the fastest API's"
    y = vega.logarithmic("ratio", "y", title, "format(datum.value, '~g')")
    y["scale"] |= {"padding": 0, "domain": [low, high]}
    of_line: Spec = {"detail": {"field": "line"}, "y": y}
    shape = {"field": "line", "legend": None}
    about = {"field": "about"}
    text: Spec = {"type": "text", "align": "left"}
    size = vega.large(14, 12)
    named = text | {"angle": -50, "baseline": "bottom", "dx": 3, "fontSize": size, "clip": False}
    marked = named | {"fontWeight": 700}
    top, column = {"value": 0}, {"type": "rule", "strokeWidth": 1}
    broken: Spec = {"type": "line", "strokeDash": [6, 4]}
    soft, lenet = vega.always("soft"), f"datum.network === '{LENET}'"
    end = text | {"dx": 4, "fontSize": size}

    def of(kind: str, mark: Spec, test: str = "true", **encoding: Any) -> Spec:
        drawn = vega.layer(mark, **({"color": vega.family()} | encoding))
        return vega.where(f"datum.kind === '{kind}' && {test}", drawn)

    return vega.whole(
        [],
        data={"name": "sizes", "values": rows},
        height=_HEIGHT,
        encoding={"x": x},
        layer=[
            of("network", column, f"!({lenet})", color=vega.always("rule")),
            of("network", column, lenet, color=soft),
            of("network", named, f"!({lenet})", y=top, text={"field": "network"}, color=soft),
            of("network", marked, lenet, y=top, text={"value": "LeNet"}, color=vega.always("ink")),
            of("limit", broken, y=y),
            of("dot", {"type": "line", "strokeWidth": 2.5}, **of_line),
            of("way", {"type": "line", "strokeWidth": 1, "opacity": 0.6}, **of_line),
            of("dot", {"type": "point", "size": 70}, y=y, shape=shape, description=about),
            of("recurrent", {"type": "point", "size": 70}, y=y, shape=shape, description=about),
            of("end", end, y=y, text={"field": "text"}),
        ],
    )
