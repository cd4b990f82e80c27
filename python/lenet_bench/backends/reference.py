"""LeNet in float64 NumPy, plain and simple: the reference for all others."""

from collections.abc import Callable

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ..weights import Weights
from .numpy import blas_threads

Float64 = NDArray[np.float64]


def build(weights: Weights) -> Callable[[NDArray[np.float32]], dict[str, Float64]]:
    """The network; it gives each layer's output by its name."""
    p = {name: array.astype(np.float64) for name, array in weights.parameters.items()}  # load

    def infer(images: NDArray[np.float32]) -> dict[str, Float64]:
        one_channel = images[:, np.newaxis].astype(np.float64)
        conv1 = convolve(one_channel, p["conv1.weight"], p["conv1.bias"])
        pool1 = max_pool(conv1)
        conv2 = convolve(pool1, p["conv2.weight"], p["conv2.bias"])
        pool2 = max_pool(conv2)
        flat = pool2.reshape(len(images), -1)  # fc1
        fc1 = np.maximum(flat @ p["fc1.weight"].T + p["fc1.bias"], 0)
        fc2 = fc1 @ p["fc2.weight"].T + p["fc2.bias"]
        return {
            "conv1": conv1,
            "pool1": pool1,
            "conv2": conv2,
            "pool2": pool2,
            "fc1": fc1,
            "fc2": fc2,
            "probabilities": softmax(fc2),
        }

    return infer


# conv1 and conv2
def convolve(images: Float64, weight: Float64, bias: Float64) -> Float64:
    """Each output pixel is its window times the kernel, plus the bias; no padding, stride 1."""
    windows = sliding_window_view(images, weight.shape[2:], axis=(2, 3))  # n, in, y, x, ky, kx
    output = np.tensordot(windows, weight, axes=([1, 4, 5], [1, 2, 3])) + bias  # n, y, x, out
    return output.transpose(0, 3, 1, 2)


# pool1 and pool2
def max_pool(images: Float64) -> Float64:
    """The largest of each 2x2 square."""
    count, channels, side, _ = images.shape
    squares = images.reshape(count, channels, side // 2, 2, side // 2, 2)
    return squares.max(axis=(3, 5))


def softmax(logits: Float64) -> Float64:
    """Probabilities; shifted by the largest logit, so that no exponential overflows."""
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def describe(threads: int) -> dict[str, str]:
    """Its precision, and the threads of NumPy's BLAS."""
    return {"dtype": "float64", "threads": blas_threads(threads)}
