"""Networks made of another one, by which `why` takes its call apart.

One that does nothing, some of trivial layers, and the network cut after each stage. A network does
nothing if it takes ten floats of its input, or where that is eager and takes long, returns it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple

from ..experiment_names import COUNTS, NETWORK, NOTHING, Kind
from .graph import Graph, Layer, Shape

_TEN = 10
_MOST_STAGES = 12


@dataclass(frozen=True)
class Form:
    """How an API's pieces must be made so that the difference of two is a stage."""

    in_full: bool = False  # a cut returns all of its last layer; else ten floats, without a copy
    eager: bool = False  # taking ten floats is as slow as a layer: the no-op returns its input
    held: bool = False  # compilers drop unused layers: each piece has all, for their weights
    launched: bool = False  # on a GPU the no-op launches one kernel


class Piece(NamedTuple):
    """A network, and the experiment that it is for."""

    kind: Kind
    name: str
    operations: int
    stages: int = 0  # that are left of the network
    trivial: int = 0  # layers that were added
    network: Graph | None = None  # none for an API that builds its pieces itself, and for a block


def pieces(network: Graph, form: Form) -> list[Piece]:
    """Nothing first; the last one is the whole network."""
    *cuts, (whole, _) = stages(network)
    return [
        *_trivial(network, form),
        *(_piece(network, form, "stage", name, end, n) for n, (name, end) in enumerate(cuts, 1)),
        Piece("stage", whole, len(network.computed), len(cuts) + 1, network=network),
    ]


def block(name: str, shape: Shape) -> Graph:
    """A network of which only its input is known."""
    return Graph(name, "", (Layer("input", "input", (), (), shape),))


def around(network: Graph, operations: int, form: Form) -> list[Piece]:
    """The same of a block."""
    return [*_trivial(network, form), Piece("stage", NETWORK, operations, 1)]


def _trivial(network: Graph, form: Form) -> Iterator[Piece]:
    """Nothing, and trivial layers."""
    yield _piece(network, form, "way", NOTHING, trivial=int(form.launched))
    for n in COUNTS:
        yield _piece(network, form, "operations", str(n), trivial=n)


def stages(network: Graph) -> list[tuple[str, str]]:
    """Where a network can be cut: each stage's name and last layer, in their order.

    All that follows a cut reads only its last layer. A ReLU goes with what it follows.
    """
    names = [one.name for one in network.layers]
    ends = []
    for number in range(1, len(names)):
        left = network.layers[number + 1 :]
        read = {names.index(name) for one in left for name in one.inputs}
        follows = bool(left) and left[0].kind == "relu"
        if not follows and all(one >= number for one in read):
            ends.append(number)
    while len(ends) > _MOST_STAGES:  # the two neighbours with the least work become one
        works = [
            sum(one.multiply_adds for one in network.layers[begin + 1 : end + 1])
            for begin, end in zip([0, *ends], ends[1:], strict=False)
        ]
        del ends[works.index(min(works))]
    begins = [1, *(end + 1 for end in ends)]
    return [
        (_named(network, begin, end), names[end]) for begin, end in zip(begins, ends, strict=False)
    ]


def _named(network: Graph, begin: int, end: int) -> str:
    """Conv1 or conv2 to pool2; without a number where there is one layer of the kind."""
    kinds = [one.kind for one in network.layers]
    inside = [one for one in network.layers[begin : end + 1] if one.kind != "relu"]
    ends = dict.fromkeys((inside[0], inside[-1]) if inside else network.layers[begin : end + 1])
    return " to ".join(one.kind if kinds.count(one.kind) == 1 else one.name for one in ends)


def _piece(
    network: Graph,
    form: Form,
    kind: Kind,
    name: str,
    end: str = "input",
    stages: int = 0,
    trivial: int = 0,
) -> Piece:
    number = [one.name for one in network.layers].index(end)
    shape = network.layers[number].after
    in_full = not trivial and (form.in_full if number else form.eager)
    taken = shape if in_full else (min(_TEN, prod(shape)),)
    added = [Layer("take", "take", (end,), shape, taken)]
    kind_of_layer = "relu" if form.eager else "softmax"  # which no compiler folds
    for n in range(trivial):
        added.append(Layer(f"trivial{n}", kind_of_layer, (added[-1].name,), taken, taken))
    kept = network.layers if form.held else network.layers[: number + 1]
    made = replace(network, name=f"{network.name}: {name}", layers=(*kept, *added))
    operations = number + trivial + (taken != shape)
    return Piece(kind, name, operations, stages, trivial, made)
