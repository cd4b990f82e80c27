"""The variables that tinygrad's documentation names for speed."""

from lenet_bench.backends import Infer
from lenet_bench.backends.tinygrad import jit
from lenet_bench.weights import Weights

VARIABLES = {"llvm": {"DEV": "CPU:LLVM"}}


def llvm(weights: Weights) -> Infer:
    """Kernels compiled by LLVM's library in place of clang."""
    return jit(weights)
