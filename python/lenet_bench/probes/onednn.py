"""oneDNN: an operation is the execution of a primitive, called through the binding only."""

from collections.abc import Sequence
from importlib import import_module

from ..network import LAYERS
from ..registry import native
from . import COUNTS, CUTS, ENTERING, SOFTMAX, Case, Kind, Probe, way


def probes(case: Case) -> Sequence[Probe]:
    assert case.row.native is not None
    native.load(case.row.native)  # which finds the library
    module = import_module(f"lenet_bench.{case.row.native.module}")

    def of(kind: Kind, name: str, layers: Sequence[str] = (), trivial: int = 0) -> Probe:
        made = module.OneDnnProbe(case.weights, case.threads, list(layers), trivial)
        return Probe(kind, name, made.infer, made.operations)

    nothing, layers = of("way", ENTERING), list(LAYERS)
    return [
        way(ENTERING, nothing.infer, "the call through pybind11 without any primitive"),
        *(of("operations", str(count), trivial=count) for count in COUNTS),
        *(of("stage", cut, layers[: layers.index(cut) + 1]) for cut in CUTS),
        of("stage", SOFTMAX, ["probabilities"]),
    ]
