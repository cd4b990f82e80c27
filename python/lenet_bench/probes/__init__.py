"""The experiments of `why`: other networks in LeNet's place, and other ways to call them.

A file an API, found by the row's `module`; it has a function

    probes(case) -> Sequence[Probe]

or none for a variant that it does not know. There are six kinds of experiment:

- ways: a network that does nothing, of LeNet's shapes, called as the backend is called, then with
  one thing after the other left out. The difference of two neighbours is a part of the call; the
  last way is what entering the API costs.
- hand-over: where the last way hands the network to a thread of the runtime's, and only another
  way has a switch for that, the latter with the thread and without.
- together: the last of the stages and then a way, the first or the last one, in one call. After a
  network a way finds its code and data gone from the caches. The last way, too, after the first.
  As a control, a walk over as much memory as LeNet's weights in the last stage's place.
- operations: networks of 1, 4, 16, 64 trivial operations on ten floats, called in the last way.
- stages: LeNet cut after each stage, also called in the last way. The answer is ten floats, so what
  a large array costs on its way out is in no stage. Where operations run eagerly, to read ten
  floats takes longer than trivial operations do; and an array as an answer takes nothing. So there
  the cuts answer with all of it, and are compared with a network that gives its image.
- told: where one kernel on a GPU is all of the network, what the GPU's own clock says of it.

A call on a GPU only enqueues work on a stream. So there the last way runs one kernel and waits.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..networks.placed import varied
from ..registry import devices
from ..registry.adapter import Adapter
from ..registry.backend import Backend
from ..weights import Weights

Image = NDArray[np.float32]
Infer = Callable[[Image], Any]

Kind = Literal["call", "way", "hand-over", "together", "operations", "stage", "told"]

COUNTS = (1, 4, 16, 64)
#: The call where its process may use one core more; timed after all else.
TWO_CORES = "on two cores"
#: Where LeNet is cut; the softmax is an experiment of its own, on ten floats of the image.
CUTS = ("conv1", "pool1", "conv2", "pool2", "fc1", "fc2")
SOFTMAX = "softmax"
#: What the first stage is compared with, where that is not the last way.
NOTHING = "nothing"
#: The last cut with an answer of ten floats only, where the other cuts answer more.
ALONE = "fc2 alone"
#: What stages are compared with, and what entering is, where the cuts' answer is all of an array.
IN_FULL = "nothing in full"
ENTERING = "entering"
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
        """The same; on a GPU it also waits for the answer, since a call there only enqueues it."""
        wait = devices.wait(self.row)
        return (lambda image: wait(infer(image))) if wait else infer


def probes_of(row: Backend, variant: str, weights: Weights, threads: int) -> Sequence[Probe]:
    """Those of a variant; none where nobody has written them, as for what runs on a GPU."""
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

    `trivial` and `cut` make the networks; `count` says of how many operations each stage is, `rest`
    how many take ten floats of what was computed, but for the last cut, which gives no more. Where
    there is a network that gives its `image`, no cut takes ten floats.
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
    """Where a compiler leaves out what is not in the answer, so that the cuts answer with more.

    `nothing` answers as they do; `alone` is the last cut with an answer of ten floats only.
    """
    return [Probe("stage", NOTHING, nothing, rest), Probe("stage", ALONE, alone)]


def together(probes: Sequence[Probe]) -> list[Probe]:
    """LeNet's last cut followed by the first way and by the last, in one call.

    And the last way right after the first, which is not timed. At the end the control: a walk over
    memory, and then the first way or the last.
    """
    ways = [one for one in probes if one.kind == "way"]
    if len(ways) == 1:
        return []
    cut = next(one for one in probes if one.kind == "stage" and one.name == CUTS[-1]).infer
    first, last = ways[0], ways[-1]
    memory = np.ones(_WEIGHTS, np.float32)  # of zeros the system has one page

    def then(before: Infer, nothing: Infer) -> Infer:
        return lambda image: (before(image), nothing(image))

    def walk(_: Image) -> Any:
        return memory.sum()

    after = f"{last.name} after {first.name}"
    walked = [(f"{one.name} after a walk", then(walk, one.infer)) for one in (first, last)]
    return [
        *(Probe("together", one.name, then(cut, one.infer)) for one in (first, last)),
        Probe("together", after, last.infer, before=first.infer),
        *(Probe("together", name, infer) for name, infer in walked),
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
