"""The variables that tinygrad's documentation names for speed."""

from lenet_bench.backends import Infer
from lenet_bench.backends.tinygrad import jit
from lenet_bench.weights import Weights

VARIABLES = {
    "beam": {"BEAM": "2"},
    "llvm": {"DEV": "CPU:LLVM"},
    "beam_llvm": {"BEAM": "2", "DEV": "CPU:LLVM"},
}


def beam(weights: Weights) -> Infer:
    """Kernels found by a search that times them: BEAM=2."""
    return jit(weights)


def llvm(weights: Weights) -> Infer:
    """Kernels compiled by LLVM's library in place of clang."""
    return jit(weights)


def beam_llvm(weights: Weights) -> Infer:
    """The search, and LLVM's library."""
    return jit(weights)
