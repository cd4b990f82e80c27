"""The networks that can be measured in LeNet's place."""

from collections.abc import Iterator, Sequence

from ... import units
from ...questions.agreement import Agreement
from ...subjects.network import Described
from ..sentences import backend_of
from .screen import MARGIN, Screen
from .table import VERDICTS, Column, table


def overview(screen: Screen, networks: Sequence[Described]) -> Iterator[str]:
    """A line for each network, and then the backends that can run all or some of them."""
    columns = [
        Column("network", [network.name for network in networks], left=True, style="bold"),
        Column("layers", [str(network.layers) for network in networks], leaves=1),
        Column("parameters", [units.count(network.parameters) for network in networks]),
        Column("multiply-adds", [units.count(network.multiply_adds) for network in networks]),
        Column("", [network.summary for network in networks], left=True, style="dim", leaves=2),
    ]
    yield from table(screen, columns, MARGIN)
    yield ""
    most = max((network.apis for network in networks), key=len)
    backends = dict.fromkeys(map(backend_of, most))
    yield from screen.wrap(f"Built on: {', '.join(backends)}.")
    for network in networks:
        if lacking := [name for name in most if name not in network.apis]:
            yield from screen.wrap(f"{network.name} does not run on {', '.join(lacking)}.", "dim")


def agreements(screen: Screen, answers: Sequence[Agreement]) -> Iterator[str]:
    """A line for each backend that answered, then why the others did not."""
    first = answers[0]
    title = f"{first.network}: relative L2 distance from float64, where float32 by itself has"
    yield from screen.wrap(f"{title} {first.float32:.1e}")
    yield ""
    rows = [(answer, answer.difference) for answer in answers if answer.difference is not None]
    columns = [
        Column("backend", [answer.backend for answer, _ in rows], left=True, style="bold"),
        Column("distance", [f"{off:.1e}" for _, off in rows]),
        Column("times float32's", [units.digits(off / answer.float32) for answer, off in rows]),
        Column("allowed", [f"{answer.allowed:.0e}" for answer, _ in rows], style="dim", leaves=1),
        Column("", [VERDICTS[answer.status == "ok"] for answer, _ in rows], left=True),
    ]
    yield from table(screen, columns, margin=MARGIN) if rows else ()
    for answer in answers:
        if answer.status != "ok":
            style = "dim" if answer.status == "unsupported" else "red"
            yield from screen.wrap(f"{answer.backend}: {answer.status}: {answer.reason}", style)
