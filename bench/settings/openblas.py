"""OpenBLAS's kernels for other processors, chosen by OPENBLAS_CORETYPE."""

from lenet_bench.backends import Array, Infer
from lenet_bench.registry import load
from lenet_bench.weights import Weights

VARIABLES = {
    "haswell": {"OPENBLAS_CORETYPE": "Haswell"},
    "zen": {"OPENBLAS_CORETYPE": "Zen"},
    "skylakex": {"OPENBLAS_CORETYPE": "SkylakeX"},
    "cooperlake": {"OPENBLAS_CORETYPE": "Cooperlake"},
}


def _own(weights: Weights, threads: int) -> Infer:
    network = load("openblas", threads=threads, weights=weights)

    def infer(images: Array) -> dict[str, Array]:
        return {"probabilities": network.infer(images[0])[None]}

    return infer


def haswell(weights: Weights, threads: int) -> Infer:
    """Kernels in AVX2."""
    return _own(weights, threads)


def zen(weights: Weights, threads: int) -> Infer:
    """Kernels for the first EPYC."""
    return _own(weights, threads)


def skylakex(weights: Weights, threads: int) -> Infer:
    """Kernels in AVX-512."""
    return _own(weights, threads)


def cooperlake(weights: Weights, threads: int) -> Infer:
    """Kernels in AVX-512 of a later Xeon."""
    return _own(weights, threads)
