"""LeNet on CuPy: NumPy's way of writing on a GPU. Convolutions are one matrix product each over
windows that as_strided only points at; cuBLAS multiplies.
"""

import cupy as cp
import numpy as np
from cupy import cublas
from cupy.lib.stride_tricks import as_strided

from ..weights import Weights
from . import Array, Infer


def build(weights: Weights) -> Infer:
    """The network in array code, for one image; each operation is a kernel or a cuBLAS call."""
    p = {name: cp.asarray(array) for name, array in weights.parameters.items()}  # load
    conv1_weight, conv1_bias = p["conv1.weight"].reshape(20, -1), p["conv1.bias"][:, None]
    conv2_weight, conv2_bias = p["conv2.weight"].reshape(50, -1), p["conv2.bias"][:, None]

    def forward(image: "cp.ndarray") -> "dict[str, cp.ndarray]":
        conv1 = convolve(image[None], conv1_weight, conv1_bias)
        pool1 = max_pool(conv1)
        conv2 = convolve(pool1, conv2_weight, conv2_bias)
        pool2 = max_pool(conv2)
        fc1 = cp.maximum(connect(pool2.ravel(), p["fc1.weight"], p["fc1.bias"]), 0)
        fc2 = connect(fc1, p["fc2.weight"], p["fc2.bias"])
        exponentials = cp.exp(fc2 - fc2.max())  # softmax
        return {
            "conv1": conv1,
            "pool1": pool1,
            "conv2": conv2,
            "pool2": pool2,
            "fc1": fc1,
            "fc2": fc2,
            "probabilities": exponentials / exponentials.sum(),  # softmax
        }

    def infer(images: Array) -> Array:
        return cp.asnumpy(forward(cp.asarray(images[0]))["probabilities"])[np.newaxis]

    return infer


# conv1 and conv2
def convolve(inputs: "cp.ndarray", weight: "cp.ndarray", bias: "cp.ndarray") -> "cp.ndarray":
    """All 5x5 windows side by side, one matrix product, and the bias."""
    channels, side, _ = inputs.shape
    out = side - 4
    plane, row, column = inputs.strides
    strides = (plane, row, column, row, column)
    windows = as_strided(inputs, (channels, 5, 5, out, out), strides).reshape(-1, out * out)
    return (weight @ windows + bias).reshape(-1, out, out)


# pool1 and pool2
def max_pool(inputs: "cp.ndarray") -> "cp.ndarray":
    """The largest of each 2x2 square."""
    channels, height, width = inputs.shape
    return inputs.reshape(channels, height // 2, 2, width // 2, 2).max(axis=(2, 4))


# fc1 and fc2
def connect(inputs: "cp.ndarray", weight: "cp.ndarray", bias: "cp.ndarray") -> "cp.ndarray":
    """CuBLAS's gemv, which adds to the copy of the bias that it is given."""
    output = bias.copy()
    cublas.gemv("N", 1.0, weight, inputs, 1.0, output)
    return output
