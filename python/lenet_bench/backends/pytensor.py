"""LeNet in PyTensor, the heir of Theano.

Expressions of arrays that are rewritten and compiled, here by Numba. Theano had convolutions for
neural networks and PyTensor dropped them, so each is written as windows and a matrix product.
"""

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.tensor import TensorVariable as Tensor

from ..weights import Weights
from ._exhibit import Array, Exhibit


class PyTensor(Exhibit):
    """One compiled function, the weights shared variables in it."""

    def __init__(self, weights: Weights, *, threads: int) -> None:
        self._threads = threads  # BLAS and Numba read their variables when they were imported
        p = {
            name: pytensor.shared(array, name, shape=array.shape)
            for name, array in weights.parameters.items()
        }
        image = pt.tensor("image", dtype="float32", shape=(28, 28))
        x = max_pool(convolve(image[np.newaxis], p["conv1.weight"], p["conv1.bias"], 28))
        x = max_pool(convolve(x, p["conv2.weight"], p["conv2.bias"], 12))
        x = pt.maximum(pt.dot(p["fc1.weight"], x.ravel()) + p["fc1.bias"], np.float32(0))
        x = pt.dot(p["fc2.weight"], x) + p["fc2.bias"]
        self._function = pytensor.function(
            [image],
            pt.special.softmax(x),
            mode="NUMBA",
            trust_input=True,  # the image is checked already: 5 us of 126
        )

    def forward(self, images: Array) -> Array:
        return np.stack([self._function(image) for image in images])

    def describe(self) -> dict[str, str]:
        return {"library": f"PyTensor {pytensor.__version__}", "threads": str(self._threads)}


def convolve(x: Tensor, weight: Tensor, bias: Tensor, side: int) -> Tensor:
    """Each 5x5 window a column, then one matrix product: im2col."""
    out = side - 4
    windows = [x[:, i : i + out, j : j + out] for i in range(5) for j in range(5)]
    columns = pt.stack(windows, axis=1).reshape((-1, out * out))
    channels = weight.type.shape[0]
    products = pt.dot(weight.reshape((channels, -1)), columns)
    return (products + bias[:, np.newaxis]).reshape((channels, out, out))


def max_pool(x: Tensor) -> Tensor:
    """The largest of each 2x2 square."""
    across = pt.maximum(x[:, ::2], x[:, 1::2])
    return pt.maximum(across[:, :, ::2], across[:, :, 1::2])
