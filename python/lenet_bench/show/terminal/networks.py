"""The networks that can be measured in LeNet's place."""

from collections.abc import Iterator, Sequence

from ... import units
from ...networks.placed import Described
from ..sentences import backend_of
from .screen import MARGIN, Screen
from .table import Column, table


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
