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
    compile_function = pytensor.function

    def in_c(*arguments: object, **settings: object) -> object:
        return compile_function(*arguments, **{**settings, "mode": "CVM"})

    pytensor.function = in_c
    try:
        return build(weights)
    finally:
        pytensor.function = compile_function
