"""OpenBLAS: an operation is a call of BLAS; other code belongs to its stage.

The softmax is our own code without a network of its own, so it is in `unexplained`.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from ..registry import native
from . import COUNTS, CUTS, ENTERING, Case, Probe, way

_CALLS = {"conv1": 1, "pool1": 1, "conv2": 2, "pool2": 2, "fc1": 3, "fc2": 4}


def probes(case: Case) -> Sequence[Probe]:
    assert case.row.native is not None
    native.load(case.row.native)  # which finds the library
    module = import_module(f"lenet_bench.{case.row.native.module}")

    def made(stages: int = 0, trivial: int = 0) -> Any:
        return module.OpenBlasProbe(case.weights, case.threads, stages, trivial)

    return [
        way(ENTERING, made().infer, "the call through pybind11, with a copy of ten pixels"),
        *(Probe("operations", str(n), made(trivial=n).infer, n) for n in COUNTS),
        *(Probe("stage", cut, made(n).infer, _CALLS[cut]) for n, cut in enumerate(CUTS, 1)),
    ]
