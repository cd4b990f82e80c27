"""The backends in C++: their classes make the pieces, and are called in one way."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from ..errors import Unsupported
from ..experiment_names import COUNTS, ENTERING, NOTHING
from ..network import LAYERS, LENET, STAGES
from ..networks.pieces import Piece
from ..registry import cuda, native
from . import Case, Probe, Way, experiments

ONE_EACH = dict.fromkeys(STAGES, 1)
#: Kernels and cuBLAS calls of each stage: in `cudnn` the bias of a convolution is a separate one.
_GRAPH_API = ONE_EACH | {"fc1": 3, "fc2": 2}
CUDA: dict[str, tuple[str, Mapping[str, int]]] = {
    "Cudnn": ("CudnnProbe", _GRAPH_API | {"conv1": 2, "conv2": 2}),
    "CudnnGraphApi": ("CudnnGraphApiProbe", _GRAPH_API),
    "FusedOnGpu": ("FusedProbe", {"conv1 to pool2": 1, "fc1": 1, "fc2 and softmax": 1}),
}
#: One kernel computes everything; a class whose kernel computes nothing.
_ONE_KERNEL = {"PersistentOnGpu": "ResidentEcho", "mapped": "LaunchAndFlag"}
_BINDING = "the call through pybind11, of a network that does nothing"
_COPIES = "copy of the image in, a trivial kernel, copy of ten floats out, wait for them"


def native_probes(case: Case) -> Iterator[Probe]:
    """Empty for `fused`, and `cudnn:find`, where each piece would find its own algorithms."""
    of, variant = case.row.native, case.variant
    assert of is not None
    if variant == "find" or of.cls == "Fused":
        return
    if case.network.name != LENET:
        raise Unsupported("it is taken apart with LeNet only")
    if floor := _ONE_KERNEL.get(variant) or _ONE_KERNEL.get(of.cls):
        yield from _of_one_kernel(case, getattr(cuda.native(), floor))
    elif of.cls in CUDA:
        name, count = CUDA[of.cls]
        count = _GRAPH_API if variant == "fused" else count
        options = {"variant": variant} if variant else {}
        cls = getattr(cuda.native(), name)

        def kernels(piece: Piece) -> Any:
            return cls(case.weights, case.threads, 0, piece.stages, piece.trivial, **options)

        yield from experiments(numbered(count, launched=1), kernels, [_entering(_COPIES)])
    else:
        native.load(of)  # which finds the library
        probe = getattr(import_module(f"lenet_bench.{of.module}"), f"{of.cls}Probe")

        def made(piece: Piece) -> Any:
            kept = list(LAYERS)[: piece.stages] if of.cls == "OneDnn" else piece.stages
            return probe(case.weights, case.threads, kept, piece.trivial)

        count = dict(ONE_EACH)
        if of.cls == "OpenBlas":
            del count["softmax"]  # our own code, which it cannot leave out
        yield from experiments(numbered(count), made, [_entering(_BINDING)])


def _entering(evidence: str) -> Way:
    return Way(ENTERING, evidence, lambda made: made.infer)


def numbered(count: Mapping[str, int], launched: int = 0) -> Iterator[Piece]:
    """Pieces for a class that makes them: by how many stages and trivial layers they have."""
    yield Piece("way", NOTHING, launched, trivial=launched)
    for number in COUNTS:
        yield Piece("operations", str(number), number, trivial=number)
    operations = 0
    for stages, (name, more) in enumerate(count.items(), 1):
        operations += more
        yield Piece("stage", name, operations, stages)


def _of_one_kernel(case: Case, floor: Any) -> Iterator[Probe]:
    """The call with a kernel that computes nothing, and the real one's time by the GPU's clock."""
    assert case.row.native is not None
    whole: Any = native.build(case.row.native, case.variant, case.weights, case.threads)
    nothing = floor(case.weights, threads=case.threads)

    def gpu_us() -> float:
        us, least_us = (one.profile(case.images[0])["kernels_us"] for one in (whole, nothing))
        return float(us - least_us)

    evidence = "by the GPU's clock, less an empty kernel's time, in separate calls"
    yield Probe("way", ENTERING, nothing.infer, 0, "the same call, of an empty kernel")
    yield Probe("told", "conv1 to softmax", whole.infer, evidence=evidence, gpu_us=gpu_us)
