"""The experiments of `why`: other networks in LeNet's place, and other ways to call them.

A file an API, found by the row's `module`; it has a function

    probes(case) -> Sequence[Probe]

which is empty for a variant that it does not know. results/breakdown.py computes the parts of a
call from six kinds of experiment:

- way: a network with LeNet's shapes that computes nothing. The first way calls it as users call the
  backend, each further way leaves out one more thing, and the last way only enters the API.
- hand-over: if the runtime uses its own thread, an API that can switch it off, on and off.
- together: LeNet up to fc2, then the first or the last way, in one call: after a network the code
  and data of a way have gone from the caches. The control walks over as much memory as LeNet's
  weights in place of LeNet. The last way is also timed right after the first.
- operations: networks of 1, 4, 16, 64 trivial operations on ten floats, called in the last way.
- stage: LeNet cut after each stage, called in the last way. A cut returns ten floats, so that no
  stage includes the copy of a large array. Eager APIs: cuts return whole arrays, since taking ten
  floats of one costs more than a trivial operation; the baseline is the identity network.
- told: if one kernel on a GPU is the whole network, its time by the GPU's clock.

A call on a GPU only enqueues work on a stream. So there the last way runs one kernel and waits.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..experiment_names import (
    ALONE,
    COUNTS,
    CUTS,
    ENTERING,
    IN_FULL,
    NOTHING,
    SOFTMAX,
    WALK,
    Kind,
    after,
)
from ..networks.placed import varied
from ..registry import devices
from ..registry.adapter import Adapter
from ..registry.backend import Backend
from ..weights import Weights

Image = NDArray[np.float32]
Infer = Callable[[Image], Any]

#: APIs whose operation is a node of the ONNX model, and which only Python calls.
_NODES = ("mnn", "opencv", "tract")
#: What is handed over where an image was made ready before; its strides are those of the backend's.
IMAGES = np.random.default_rng(0).random((28, 28), np.float32)[np.newaxis]
_IN_FULL = "what gives its image as it is, called as the stages are"
_WEIGHTS = 431_080  # floats of LeNet, 1.7 MB


@dataclass(frozen=True)
class Probe:
    """A network in LeNet's place, called in some way."""

    kind: Kind
    name: str
    infer: Infer  # takes one image (28, 28); its answer is ignored
    operations: int = 0  # of its network, as its API counts them
    evidence: str = ""
    before: Infer | None = None  # called before each call, outside its time
    gpu_us: Callable[[], float] | None = None  # its time by the GPU's clock


@dataclass(frozen=True)
class Case:
    """The variant of a backend that is taken apart."""

    row: Backend
    variant: str
    weights: Weights
    threads: int

    @property
    def on_gpu(self) -> bool:
        return self.row.device == "gpu"

    def varied(self, *, adapter: type[Adapter] = Adapter, **others: Any) -> Adapter:
        """The backend's own function, with other objects in place of names of its file.

        A name that the file does not have is a model that the function takes: onnx_model.
        """
        row, variant, weights, threads = self.row, self.variant, self.weights, self.threads
        return varied(row, variant, weights, threads, others, adapter)

    def waiting(self, infer: Infer) -> Infer:
        """The function; on a GPU one that also waits, since a call there only enqueues work."""
        wait = devices.wait(self.row)
        return (lambda image: wait(infer(image))) if wait else infer


def probes_of(row: Backend, variant: str, weights: Weights, threads: int) -> Sequence[Probe]:
    """The experiments of a variant; empty if none are written for it."""
    case = Case(row, variant, weights, threads)
    of = row.module or (row.native.module.strip("_") if row.native else "")
    if of in _NODES:
        return import_module(f"{__name__}.onnx_models").on_models(case)
    name = f"{__name__}.{of}"
    return import_module(name).probes(case) if find_spec(name) else ()


def networks(
    last: Callable[[Any], Infer],
    trivial: Callable[[int], Any],
    cut: Callable[[str], Any],
    count: Mapping[str, int],
    rest: int = 0,
    image: Any = None,
) -> list[Probe]:
    """The operations and the stages, called in the last way.

    `trivial` and `cut` make the networks. `count` has each stage's number of operations, `rest` the
    number that take ten floats of an array; the last cut has only ten. With `image`, the identity
    network, cuts return whole arrays.
    """
    found = [Probe("operations", str(n), last(trivial(n)), rest + n) for n in COUNTS]
    so_far = 0
    for stage in CUTS:
        so_far += count[stage]
        taken = 0 if stage == CUTS[-1] or image is not None else rest
        found.append(Probe("stage", stage, last(cut(stage)), so_far + taken))
    if image is not None:
        found.append(Probe("stage", IN_FULL, last(image), 0, _IN_FULL))
    return [*found, Probe("stage", SOFTMAX, last(cut(SOFTMAX)), rest + count[SOFTMAX])]


def compiled(nothing: Infer, alone: Infer, rest: int = 0) -> list[Probe]:
    """Two more experiments for compilers: these drop unused values, so cuts return whole arrays.

    `nothing` returns an array too; `alone` is the last cut with ten floats as its answer.
    """
    return [Probe("stage", NOTHING, nothing, rest), Probe("stage", ALONE, alone)]


def in_one_call(probes: Sequence[Probe]) -> list[Probe]:
    """LeNet up to fc2 and then the first or the last way, timed as one call.

    Then the last way right after the first, which is not timed. At the end the control: a walk over
    memory, and then the first or the last way.
    """
    ways = [one for one in probes if one.kind == "way"]
    if len(ways) == 1:
        return []
    cut = next(one for one in probes if one.kind == "stage" and one.name == CUTS[-1]).infer
    first, last = ways[0], ways[-1]
    memory = np.ones(_WEIGHTS, np.float32)  # zeros would share one page

    def then(before: Infer, nothing: Infer) -> Infer:
        return lambda image: (before(image), nothing(image))

    def walk(_: Image) -> Any:
        return memory.sum()

    return [
        *(Probe("together", one.name, then(cut, one.infer)) for one in (first, last)),
        Probe("together", after(last.name, first.name), last.infer, before=first.infer),
        *(Probe("together", after(w.name, WALK), then(walk, w.infer)) for w in (first, last)),
    ]


def way(name: str, infer: Infer, evidence: str, operations: int = 0) -> Probe:
    return Probe("way", name, infer, operations, evidence)


def checks(adapter: Adapter, operations: int = 0) -> Probe:
    """The first way: the backend as users call it."""
    evidence = "time of the call minus time without image check and lock"
    return way("checks", adapter.infer, evidence, operations)


def called(adapter: Adapter, name: str, evidence: str, operations: int = 0) -> list[Probe]:
    """The first two ways: as users call it, and without the check."""
    return [checks(adapter, operations), way(name, unchecked(adapter), evidence, operations)]


def unchecked(adapter: Adapter) -> Infer:
    """The function of the backend's file itself, called with a prepared image."""
    answer = adapter.answer
    return lambda _: answer(IMAGES)
