"""The networks that can be measured in LeNet's place."""

from collections.abc import Iterator, Sequence

from ... import units
from ...questions.agreement import Agreement
from ...subjects.network import Described
from ..sentences import backend_of
from .screen import MARGIN, Screen
from .table import Cell, Column, table


def overview(screen: Screen, found: Sequence[Described]) -> Iterator[str]:
    """A line for each network, and then the backends that can run all or some of them."""
    columns = [
        Column("network", [one.name for one in found], left=True, style="bold"),
        Column("layers", [str(one.layers) for one in found], leaves=1),
        Column("parameters", [units.count(one.parameters) for one in found]),
        Column("multiply-adds", [units.count(one.multiply_adds) for one in found]),
        Column("", [one.summary for one in found], left=True, style="dim", leaves=2),
    ]
    yield from table(screen, columns, MARGIN)
    yield ""
    most = max((one.apis for one in found), key=len)
    backends = dict.fromkeys(map(backend_of, most))
    yield from screen.wrap(f"Built on: {', '.join(backends)}.")
    for one in found:
        if lacking := [name for name in most if name not in one.apis]:
            yield from screen.wrap(f"{one.name} does not run on {', '.join(lacking)}.", "dim")


def agreements(screen: Screen, found: Sequence[Agreement]) -> Iterator[str]:
    """A line for each backend that answered, then why the others did not."""
    first = found[0]
    title = f"{first.network}: relative L2 distance from float64, where float32 by itself has"
    yield from screen.wrap(f"{title} {first.float32:.1e}")
    yield ""
    verdicts = {True: Cell("✓", "green"), False: Cell("✗ too far", "red")}
    rows = [(one, one.difference) for one in found if one.difference is not None]
    columns = [
        Column("backend", [one.backend for one, _ in rows], left=True, style="bold"),
        Column("distance", [f"{off:.1e}" for _, off in rows]),
        Column("times float32's", [units.digits(off / one.float32) for one, off in rows]),
        Column("allowed", [f"{one.allowed:.0e}" for one, _ in rows], style="dim", leaves=1),
        Column("", [verdicts[one.status == "ok"] for one, _ in rows], left=True),
    ]
    yield from table(screen, columns, margin=MARGIN) if rows else ()
    for one in found:
        if one.status != "ok":
            style = "dim" if one.status == "unsupported" else "red"
            yield from screen.wrap(f"{one.backend}: {one.status}: {one.reason}", style)
