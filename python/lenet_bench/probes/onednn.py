"""oneDNN: an operation is the execution of a primitive, called through the binding only."""

from collections.abc import Sequence
from importlib import import_module

from ..network import LAYERS
from ..registry import native
from ..registry.backend import Backend
from ..weights import Weights
from . import COUNTS, CUTS, ENTERING, SOFTMAX, Probe, way


def probes(row: Backend, variant: str, weights: Weights, threads: int) -> Sequence[Probe]:  # noqa: ARG001
    assert row.native is not None
    native.load(row.native)  # which finds the library
    module = import_module(f"lenet_bench.{row.native.module}")

    def of(kind: str, name: str, layers: Sequence[str] = (), trivial: int = 0) -> Probe:
        made = module.OneDnnProbe(weights, threads, list(layers), trivial)
        return Probe(kind, name, made.infer, made.operations)  # type: ignore[arg-type]

    nothing = of("way", ENTERING)
    layers = list(LAYERS)
    return [
        way(ENTERING, nothing.infer, "the call through pybind11 without any primitive"),
        *(of("operations", str(count), trivial=count) for count in COUNTS),
        *(of("stage", cut, layers[: layers.index(cut) + 1]) for cut in CUTS),
        of("stage", SOFTMAX, ["probabilities"]),
    ]
