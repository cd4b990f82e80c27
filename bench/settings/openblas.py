"""OpenBLAS's kernels for other processors, chosen by OPENBLAS_CORETYPE."""

from lenet_bench.backends import Infer
from lenet_bench.weights import Weights

from . import native

VARIABLES = {
    "haswell": {"OPENBLAS_CORETYPE": "Haswell"},
    "zen": {"OPENBLAS_CORETYPE": "Zen"},
    "skylakex": {"OPENBLAS_CORETYPE": "SkylakeX"},
    "cooperlake": {"OPENBLAS_CORETYPE": "Cooperlake"},
}


def haswell(weights: Weights, threads: int) -> Infer:
    """Kernels in AVX2."""
    return native("openblas", weights, threads)


def zen(weights: Weights, threads: int) -> Infer:
    """Kernels for the first EPYC."""
    return native("openblas", weights, threads)


def skylakex(weights: Weights, threads: int) -> Infer:
    """Kernels in AVX-512."""
    return native("openblas", weights, threads)


def cooperlake(weights: Weights, threads: int) -> Infer:
    """Kernels in AVX-512 of a later Xeon."""
    return native("openblas", weights, threads)
