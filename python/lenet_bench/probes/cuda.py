"""The backends in C++ on an NVIDIA GPU: an operation is a kernel that a call puts on the stream.

Entering is an image copied in, ten floats copied out, and the wait for the stream. Where one kernel
computes everything, entering is the same call with a kernel that computes nothing, and the rest is
measured by the GPU's clock. `cudnn:find` has no experiments: each network would find its own
algorithms.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ..registry import cuda, native
from . import COUNTS, CUTS, ENTERING, IMAGES, SOFTMAX, Case, Probe, way

_STAGES = (*CUTS, SOFTMAX)
#: Kernels and cuBLAS calls of each stage: in `cudnn` the bias of a convolution is a separate one.
_CLASSIC = dict(zip(_STAGES, (2, 1, 2, 1, 3, 2, 1), strict=True))
_GRAPH_API = dict(zip(_STAGES, (1, 1, 1, 1, 3, 2, 1), strict=True))
_OUR_OWN = {"conv1 to pool2": 1, "fc1": 1, "fc2 and softmax": 1}

_PROBES = {
    "Cudnn": ("CudnnProbe", _CLASSIC),
    "CudnnGraphApi": ("CudnnGraphApiProbe", _GRAPH_API),
    "FusedOnGpu": ("FusedProbe", _OUR_OWN),
}
_COPIES = "copy of the image in, copy of ten floats out, wait for them"


def probes(case: Case) -> Sequence[Probe]:
    assert case.row.native is not None
    module = cuda.native()
    if case.row.native.cls == "PersistentOnGpu":
        return _of_one_kernel(module.ResidentEcho, case)
    if case.variant == "mapped":
        return _of_one_kernel(module.LaunchAndFlag, case)
    if case.variant == "find":
        return ()
    name, count = _PROBES[case.row.native.cls]
    options = {"variant": case.variant} if case.variant else {}
    made = partial(getattr(module, name), case.weights, case.threads, **options)
    return _of_stages(made, count)


def _of_stages(made: Any, count: Mapping[str, int]) -> Sequence[Probe]:
    """The networks of trivial operations, and LeNet cut after each stage."""

    def trivial(operations: int) -> Any:
        return made(first=0, last=0, trivial=operations).infer

    found = [way(ENTERING, trivial(1), f"{_COPIES}, and one trivial kernel", 1)]
    found += [Probe("operations", str(n), trivial(n), n) for n in COUNTS]
    operations, stages = 0, list(count)
    for last, stage in enumerate(stages, 1):
        first = last - 1 if stage == SOFTMAX else 0
        operations = count[stage] if stage == SOFTMAX else operations + count[stage]
        network = made(first=first, last=last, trivial=0)
        found.append(Probe("stage", stage, network.infer, operations))
    return found


def _of_one_kernel(floor: Any, case: Case) -> Sequence[Probe]:
    """The call with an empty kernel, and the real kernel's time by the GPU's clock."""
    assert case.row.native is not None
    whole: Any = native.build(case.row.native, case.variant, case.weights, case.threads)
    nothing = floor(case.weights, threads=case.threads)

    def gpu_us() -> float:
        us, least_us = (one.profile(IMAGES[0])["kernels_us"] for one in (whole, nothing))
        return float(us - least_us)

    entering = "the same call with a kernel that computes nothing"
    evidence = "by the GPU's clock, less an empty kernel's time, in separate calls"
    return [
        way(ENTERING, nothing.infer, entering),
        Probe("told", "conv1 to softmax", whole.infer, evidence=evidence, gpu_us=gpu_us),
    ]
