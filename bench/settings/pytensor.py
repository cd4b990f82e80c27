"""PyTensor's other linkers, and Numba without fast-math."""

import pytensor
from lenet_bench.backends import Infer
from lenet_bench.backends.pytensor import build
from lenet_bench.weights import Weights

VARIABLES = {"no_fastmath": {"PYTENSOR_FLAGS": "numba__fastmath=False"}}


def no_fastmath(weights: Weights) -> Infer:
    """Numba without its fast-math."""
    return build(weights)


def compiled_in_c(weights: Weights) -> Infer:
    """C in place of Numba: the mode CVM."""
    function = pytensor.function
    pytensor.function = lambda *parts, **rest: function(*parts, **{**rest, "mode": "CVM"})
    return build(weights)
