"""LeNet in float32 NumPy: im2col and matmul.

Images lie channels-last (height, width, channels): then a row of a convolution's window is one
run of memory, and im2col of conv2 takes 7 us where channels-first takes 24.
"""

import os

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from ..network import CLASSES, IMAGE_SIDE
from ..weights import Weights
from ._input import check_image, check_images

Array = NDArray[np.float32]

_AT_ONCE = 16  # images of a batch: what they need on their way stays in the cache


class NumPy:
    """The network as someone writes it who knows NumPy well."""

    def __init__(self, weights: Weights, *, threads: int) -> None:
        self._threads = threads
        self._conv1 = _as_matrix(weights["conv1.weight"])
        self._conv1_bias = weights["conv1.bias"].copy()
        self._conv2 = _as_matrix(weights["conv2.weight"])
        self._conv2_bias = weights["conv2.bias"].copy()
        self._fc1 = _as_matrix(weights["fc1.weight"].reshape(500, 50, 4, 4))
        self._fc1_bias = weights["fc1.bias"].copy()
        self._fc2 = weights["fc2.weight"].T.copy()
        self._fc2_bias = weights["fc2.bias"].copy()

    def infer(self, images: Array) -> Array:
        """Probabilities of one image or of each image of a batch."""
        images = check_images(images)
        batch = images.reshape(-1, IMAGE_SIDE, IMAGE_SIDE)
        probabilities = np.empty((len(batch), CLASSES), np.float32)
        for start in range(0, len(batch), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            probabilities[some] = self._forward(batch[some])["probabilities"]
        return probabilities.reshape(*images.shape[:-2], CLASSES)

    def layers(self, image: Array) -> dict[str, Array]:
        """Every layer's output, channels first again."""
        outputs = self._forward(check_image(image)[np.newaxis])
        return {
            name: output[0].transpose(2, 0, 1) if output.ndim == 4 else output[0]
            for name, output in outputs.items()
        }

    def describe(self) -> dict[str, str]:
        """NumPy, its BLAS, and what holds of the threads."""
        blas = getattr(np.__config__, "CONFIG", {}).get("Build Dependencies", {}).get("blas", {})
        return {
            "library": f"NumPy {np.__version__}",
            "blas": f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip(),
            "threads": _threads_of_blas(self._threads),
        }

    def _forward(self, images: Array) -> dict[str, Array]:
        conv1 = _convolve(images[..., np.newaxis], self._conv1, self._conv1_bias)
        pool1 = _max_pool(conv1)
        conv2 = _convolve(pool1, self._conv2, self._conv2_bias)
        pool2 = _max_pool(conv2)
        fc1 = np.maximum(pool2.reshape(-1, 800) @ self._fc1 + self._fc1_bias, 0)
        fc2 = fc1 @ self._fc2 + self._fc2_bias
        return {
            "conv1": conv1,
            "pool1": pool1,
            "conv2": conv2,
            "pool2": pool2,
            "fc1": fc1,
            "fc2": fc2,
            "probabilities": _softmax(fc2),
        }


def _as_matrix(weight: Array) -> Array:
    """(out, in, height, width) as (height * width * in, out), the order of a window's memory."""
    return np.ascontiguousarray(weight.transpose(2, 3, 1, 0)).reshape(-1, len(weight))


def _convolve(images: Array, weight: Array, bias: Array) -> Array:
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


def _max_pool(images: Array) -> Array:
    """The largest of each 2x2 square."""
    columns = np.maximum(images[:, 0::2], images[:, 1::2])
    return np.maximum(columns[:, :, 0::2], columns[:, :, 1::2])


def _softmax(logits: Array) -> Array:
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities: Array = exponentials / exponentials.sum(axis=1, keepdims=True)
    return probabilities


def _threads_of_blas(asked: int) -> str:
    """BLAS reads its thread count once, when NumPy is imported, and only from the environment."""
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
        if os.environ.get(name) == str(asked):
            return f"{asked} ({name})"
    return f"as BLAS chose: set OPENBLAS_NUM_THREADS={asked} before NumPy is imported"
