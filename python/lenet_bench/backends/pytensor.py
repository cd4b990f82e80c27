"""LeNet in PyTensor, the successor of Theano.

Expressions of arrays that are rewritten and compiled, here by Numba. Theano had convolutions for
neural networks and PyTensor dropped them, so each is written as windows and a matrix product.
"""

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.tensor import TensorVariable as Tensor

from ..weights import Weights
from . import Infer


def build(weights: Weights) -> Infer:
    """One compiled function for one image, the weights shared variables in it."""
    # load
    p = {
        name: pytensor.shared(array, name, shape=array.shape)
        for name, array in weights.parameters.items()
    }
    image = pt.tensor("image", dtype="float32", shape=(28, 28))
    # conv1 and pool1
    x = max_pool(convolve(image[np.newaxis], p["conv1.weight"], p["conv1.bias"], 28))
    # conv2 and pool2
    x = max_pool(convolve(x, p["conv2.weight"], p["conv2.bias"], 12))
    x = pt.maximum(pt.dot(p["fc1.weight"], x.ravel()) + p["fc1.bias"], np.float32(0))
    x = pt.dot(p["fc2.weight"], x) + p["fc2.bias"]
    function = pytensor.function(
        [image],
        pt.special.softmax(x),
        mode="NUMBA",
        trust_input=True,  # without a check of types: 5 us of 126
    )
    return lambda images: function(images[0])[np.newaxis]


# conv1 and conv2
def convolve(x: Tensor, weight: Tensor, bias: Tensor, side: int) -> Tensor:
    """Each 5x5 window a column, then one matrix product: im2col."""
    out = side - 4
    windows = [x[:, i : i + out, j : j + out] for i in range(5) for j in range(5)]
    columns = pt.stack(windows, axis=1).reshape((-1, out * out))
    channels = weight.type.shape[0]
    products = pt.dot(weight.reshape((channels, -1)), columns)
    return (products + bias[:, np.newaxis]).reshape((channels, out, out))


# pool1 and pool2
def max_pool(x: Tensor) -> Tensor:
    """The largest of each 2x2 square."""
    across = pt.maximum(x[:, ::2], x[:, 1::2])
    return pt.maximum(across[:, :, ::2], across[:, :, 1::2])
