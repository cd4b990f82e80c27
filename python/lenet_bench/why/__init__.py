"""The experiments of `why`: pieces of the network in its place, and other ways to call them.

Builders (networks/) make the pieces. Here are the ways: entry points from the public call down to
the last one, which only enters the API. The difference of neighbours is the cost of what is
between them. All but "after
itself" run right after an untimed call of the whole network, so that each finds the caches as it
would in the call: the one as built where there is one, else the one by hand. With T(network, way),
the parts of a call are the ways' differences on a network that does nothing, entering it, and the
differences of one cut network and the next in the last way:

    sum   = T(nothing, first) - T(nothing, last) + T(whole, last)
    call  = sum + with this network + as built
    with this network = T(whole, first) - T(whole, last) - [T(nothing, first) - T(nothing, last)]
    as built          = the call - T(whole, first), where the builder made the whole network
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Unsupported
from ..experiment_names import AS_BUILT, PARTS, Kind
from ..networks.graph import Graph
from ..networks.pieces import Form, Piece, pieces
from ..networks.seeded import inputs_of
from ..registry import devices
from ..registry.adapter import Adapter
from ..registry.backend import Backend
from ..subjects.network import images_of, placed, why_not
from ..weights import Weights

Image = NDArray[np.float32]
Infer = Callable[[Image], Any]


@dataclass(frozen=True)
class Probe:
    """A network that is called in some way."""

    kind: Kind
    name: str
    infer: Infer  # takes an image; its answer is ignored
    operations: int = 0  # of its network
    evidence: str = ""
    gpu_us: Callable[[], float] | None = None  # its time by the GPU's clock


@dataclass(frozen=True)
class Case:
    """The variant of a backend that is taken apart, and the network."""

    row: Backend
    variant: str
    network: Graph
    weights: Weights
    threads: int

    @cached_property
    def images(self) -> Any:
        """One, as the functions of the backend's file take it."""
        return images_of(self.row, inputs_of(self.network, 1))

    @property
    def placed(self) -> Mapping[str, Any]:
        """Functions of a user's model in place of names of the backend's file."""
        return {}

    @property
    def sha256(self) -> str:
        return self.weights.sha256

    def pieces(self, form: Form) -> list[Piece]:
        """Nothing first, the whole network last."""
        return pieces(self.network, form)

    def built(self, piece: Piece, ways: "Ways") -> Adapter:
        """One that was called, since the first call compiles or loads."""
        assert piece.network is not None
        given = piece.network, self.weights, self.threads
        made = placed(self.row, self.variant, *given, **ways.others)
        made.infer(self.images[0])
        return made

    @property
    def on_gpu(self) -> bool:
        return self.row.device == "gpu"

    def waiting(self, infer: Infer) -> Infer:
        """The function; on a GPU one that also waits, since a call there only enqueues work."""
        wait = devices.wait(self.row)
        return (lambda image: wait(infer(image))) if wait else infer


@dataclass(frozen=True)
class Way:
    """A way to call a network that was built; its name is what the next way leaves out."""

    name: str
    evidence: str
    of: Callable[[Any], Infer]

    def __post_init__(self) -> None:
        if self.name not in PARTS:
            raise ValueError(f"{self.name} is no part that experiment_names.py has")


@dataclass(frozen=True)
class Ways:
    """How an API is called, and how the pieces must be made for that."""

    ways: Sequence[Way]
    form: Form = field(default_factory=Form)
    others: Mapping[str, Any] = field(default_factory=dict)  # in place of names of its file
    beside: Iterable[Probe] = ()


def probes_of(
    row: Backend, variant: str, network: Graph, weights: Weights, threads: int
) -> list[Probe]:
    """The experiments of a variant; empty if none are written for it.

    Raises Unsupported where it cannot have any.
    """
    case = Case(row, variant, network, weights, threads)
    if row.native:
        from .native import native_probes

        return list(native_probes(case))
    if reason := why_not(row, variant):
        raise Unsupported(f"it {reason}")
    return probes_in(case)


def probes_in(case: Case) -> list[Probe]:
    """The experiments of a variant in Python that takes other networks."""
    from .ways import ways_of

    if (chosen := ways_of(case)) is None:
        return []
    ways = replace(chosen, form=replace(chosen.form, launched=case.on_gpu))
    made = experiments(case.pieces(ways.form), lambda piece: case.built(piece, ways), ways.ways)
    return [*made, *ways.beside]


def experiments(
    every: Iterable[Piece], built: Callable[[Piece], Any], ways: Sequence[Way]
) -> Iterator[Probe]:
    """Nothing in each way, the other pieces in the last way, and the whole also in the first.

    What is built may have `operations`, as the API counts them.
    """
    nothing, *others = every
    made = built(nothing)
    operations = getattr(made, "operations", nothing.operations)
    calls = [Probe("way", way.name, way.of(made), operations, way.evidence) for way in ways]
    yield from calls
    for call in (calls[0], calls[-1])[: len(calls)]:
        yield replace(call, kind="after itself", evidence="")
    for piece in others:
        made = built(piece)
        operations = getattr(made, "operations", piece.operations)
        yield Probe(piece.kind, piece.name, ways[-1].of(made), operations)
    yield Probe("call", AS_BUILT, ways[0].of(made))
