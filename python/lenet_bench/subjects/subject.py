"""A subject: what is measured, with its inputs, its right answers, and a way to build it.

It is plain data, since it goes to another process: the parent prepares the inputs and judges the
answers, and the process of a backend builds it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from ..arrays import Floats
from ..network import CLASSES
from ..registry import Device, Network, find
from ..registry.building import import_backend
from ..weights import Weights, default_path

if TYPE_CHECKING:
    from ..networks import Graph
    from ..results import Other, Status

STRETCHES = 5  # of the timed calls, each with inputs of its own


class Known(NamedTuple):
    """Inputs, and the right answer to each."""

    inputs: Any
    answers: Any


def largest_difference(found: Floats, expected: Floats) -> float:
    return float(np.abs(found.reshape(expected.shape) - expected).max(initial=0))


@dataclass(frozen=True)
class Judge:
    """How far from the right answers a backend's may be."""

    difference: Callable[[Any, Any], float] = largest_difference
    allowance: float = 1.0  # of a difference, times what a backend is allowed for LeNet
    least: float = 0.0  # that is allowed to all
    said: str = "probabilities"
    whose: str = "the reference's"  # the right answers

    def allowed(self, tolerance: float) -> float:
        """The difference that a backend of this tolerance may have."""
        return max(self.least, self.allowance * tolerance)


@dataclass(frozen=True)
class Prepared:
    """A subject with the inputs of a run and the right answers to them.

    Computed before the run: BLAS threads spin after a product and would disturb timed calls.
    """

    subject: Subject
    weights_sha256: str
    rotating: Known  # for the warm-up and batches
    edges: Known
    timed: Sequence[Known]  # new to backends, for a stretch each
    new: Sequence[Known] = ()  # likewise, for the probes
    judge: Judge = field(default_factory=Judge)
    other: Other | None = None  # what is in LeNet's place
    costs: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # of a backend's block


class Asked(NamedTuple):
    """A backend's answers to some inputs; where it gave none, its status."""

    answers: Any
    status: Status = "ok"


@dataclass(frozen=True)
class Run:
    """The run that a subject is prepared for."""

    backends: Sequence[str]
    seed: int
    timeout_s: float
    until_s: float  # by time.monotonic: the end of the budget; infinite without one
    tell: Callable[[str], None]  # of what takes long
    ask: Callable[[Subject, str, Any, float], Asked]  # a backend, about inputs, until a time


class Subject:
    """What is measured. Its classes are frozen dataclasses of plain data."""

    #: What is asked of LeNet and not of this.
    lacks: ClassVar[tuple[str, ...]] = ()
    #: Whether each backend was written for it, so that its lines of code count.
    is_by_hand: ClassVar[bool] = False
    #: Whether it is a model file of the user's own.
    is_by_user: ClassVar[bool] = False
    #: Whether `why` takes it apart as one block, its layers unknown.
    is_block: ClassVar[bool] = False

    @property
    def label(self) -> str:
        """Its name in results."""
        raise NotImplementedError

    @property
    def file_name(self) -> str:
        """Of its weights."""
        return default_path().name

    @property
    def floats(self) -> int | None:
        """How many an answer has; None where it may have several parts."""
        return CLASSES

    def check(self) -> None:
        """Raise LenetBenchError where it cannot be measured."""

    def backends(self, device: Device | None) -> list[str]:
        """The backends and variants that can run it there."""
        raise NotImplementedError

    def taken_apart(self, device: Device | None) -> list[str]:
        """Those whose calls `why` can take apart, or that tell why not."""
        return self.backends(device)

    def prepared(self, run: Run) -> Prepared:
        """Its inputs and the right answers."""
        raise NotImplementedError

    def as_taken(self, name: str, inputs: Any) -> Any:  # noqa: ARG002
        """Inputs as this backend takes them."""
        return inputs

    def instead(self, asked: str) -> str:  # noqa: ARG002
        """The end of a sentence: what there is in place of something that it lacks."""
        return ""

    def hint(self, name: str, sentence: str, printed: str) -> str:  # noqa: ARG002
        """The end of the sentence of this backend's failure, which printed this."""
        return ""

    # In the process of a backend:

    def import_api(self, name: str) -> None:
        with suppress(Exception):  # `build` gives the reason and the command that fixes it
            import_backend(find(name)[0])

    def weights(self) -> Weights:
        return Weights({})

    def build(self, name: str, threads: int, weights: Weights, first: Any) -> Network:
        """Build it on a backend; `first` is an input as the backend takes it."""
        raise NotImplementedError

    def takes_one_input(self, name: str) -> bool:
        """Whether its batch is a loop of calls where that says nothing of throughput: on a GPU."""
        row, variant = find(name)
        return row.device == "gpu" and row.takes_one_image(variant)

    def together(self, inputs: Sequence[Any]) -> Any:
        """Inputs as one batch."""
        return np.stack(inputs)

    def apart(self, answer: Any, size: int) -> Sequence[Any]:
        """The answers to a batch of this size, where `floats` does not say how many each has."""
        raise NotImplementedError

    def graph(self) -> Graph | None:
        """Its layers, where they are known and `why` can take it apart."""
        return None

    def own_probes(self, weights: Weights, threads: int) -> Sequence[Any]:  # noqa: ARG002
        """The experiments of `why` that it brings itself."""
        return ()


Sent = tuple[str, dict[str, Any]]  # "module:class" of a subject, and its fields


def sent(subject: Subject) -> Sent:
    kind = type(subject)
    return f"{kind.__module__}:{kind.__qualname__}", dict(vars(subject))


def received(message: Sent) -> Subject:
    kind, fields = message
    module, _, name = kind.partition(":")
    made: Subject = getattr(import_module(module), name)(**fields)
    return made
