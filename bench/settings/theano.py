"""What Theano's pages on configuration and its FAQ name for speed."""

from lenet_bench.backends import Infer
from lenet_bench.backends.theano import build
from lenet_bench.weights import Weights

VARIABLES = {
    "memory_kept": {"THEANO_FLAGS": "allow_gc=False"},
    "fast_math": {
        "THEANO_FLAGS": "gcc.cxxflags=-O3 -ffast-math -ftree-loop-distribution -funroll-loops"
    },
    "eager_vm": {"THEANO_FLAGS": "allow_gc=False,vm.lazy=False"},
    "unoptimized": {"THEANO_FLAGS": "optimizer=fast_compile"},
    "haswell": {"OPENBLAS_CORETYPE": "Haswell"},
}


def memory_kept(weights: Weights) -> Infer:
    """Intermediate arrays kept between calls: allow_gc=False."""
    return build(weights)


def fast_math(weights: Weights) -> Infer:
    """The compiler's flags of the FAQ, -ffast-math among them."""
    return build(weights)


def eager_vm(weights: Weights) -> Infer:
    """Arrays kept, and every operation executed in turn: vm.lazy=False."""
    return build(weights)


def unoptimized(weights: Weights) -> Infer:
    """Few rewrites: optimizer=fast_compile."""
    return build(weights)


def haswell(weights: Weights) -> Infer:
    """OpenBLAS's kernels in AVX2, since the environment's OpenBLAS may not know the processor."""
    return build(weights)
