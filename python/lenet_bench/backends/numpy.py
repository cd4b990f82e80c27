"""LeNet in float32 NumPy: im2col and matmul.

Images lie channels-last (height, width, channels): then a row of a convolution's window is one
run of memory, and im2col of conv2 takes 7 us where channels-first takes 24.
"""

import os
from collections.abc import Callable

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..weights import Weights
from . import Array


def build(weights: Weights) -> Callable[[Array], dict[str, Array]]:
    """The network as an experienced NumPy user writes it; it returns each layer's output."""
    # load
    conv1_weight, conv1_bias = as_matrix(weights["conv1.weight"]), weights["conv1.bias"].copy()
    # load
    conv2_weight, conv2_bias = as_matrix(weights["conv2.weight"]), weights["conv2.bias"].copy()
    # load
    fc1_weight = as_matrix(weights["fc1.weight"].reshape(500, 50, 4, 4))
    # load
    fc1_bias = weights["fc1.bias"].copy()
    # load
    fc2_weight, fc2_bias = weights["fc2.weight"].T.copy(), weights["fc2.bias"].copy()

    def infer(images: Array) -> dict[str, Array]:
        conv1 = convolve(images[..., np.newaxis], conv1_weight, conv1_bias)
        pool1 = max_pool(conv1)
        conv2 = convolve(pool1, conv2_weight, conv2_bias)
        pool2 = max_pool(conv2)
        fc1 = np.maximum(pool2.reshape(-1, 800) @ fc1_weight + fc1_bias, 0)
        fc2 = fc1 @ fc2_weight + fc2_bias
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


# load
def as_matrix(weight: Array) -> Array:
    """(out, in, height, width) as (height * width * in, out), the order of a window's memory."""
    return np.ascontiguousarray(weight.transpose(2, 3, 1, 0)).reshape(-1, len(weight))


# conv1 and conv2
def convolve(images: Array, weight: Array, bias: Array) -> Array:
    """A 5x5 convolution of images (n, side, side, channels) as one matmul."""
    count, side, _, channels = images.shape
    out = side - 4
    image, row, pixel, _ = images.strides
    windows = as_strided(
        images,
        shape=(count, out, out, 5, 5 * channels),
        strides=(image, row, pixel, row, images.itemsize),
        writeable=False,
    )
    output = windows.reshape(count * out * out, 25 * channels) @ weight
    output += bias
    return output.reshape(count, out, out, len(bias))


# pool1 and pool2
def max_pool(images: Array) -> Array:
    """The largest of each 2x2 square."""
    columns = np.maximum(images[:, 0::2], images[:, 1::2])
    return np.maximum(columns[:, :, 0::2], columns[:, :, 1::2])


def softmax(logits: Array) -> Array:
    """Probabilities; shifted by the largest logit, so that no exponential overflows."""
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def describe(threads: int) -> dict[str, str]:
    """The BLAS that NumPy was built with."""
    blas = getattr(np.__config__, "CONFIG", {}).get("Build Dependencies", {}).get("blas", {})
    return {
        "blas": f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip(),
        "threads": blas_threads(threads),
    }


def blas_threads(asked: int) -> str:
    """BLAS reads its thread count once, when NumPy is imported, and only from the environment."""
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
        if os.environ.get(name) == str(asked):
            return f"{asked} ({name})"
    return f"as BLAS chose: set OPENBLAS_NUM_THREADS={asked} before NumPy is imported"
