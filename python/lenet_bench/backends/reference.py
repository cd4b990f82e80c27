"""LeNet in float64 NumPy, plain and obviously right: what every other rung is measured against."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ..network import CLASSES, IMAGE_SIDE
from ..weights import Weights
from ._input import check_image, check_images

Array = NDArray[np.float64]

_AT_ONCE = 50  # images of a batch: what they need on their way takes 13 MB


class Reference:
    """The network as its definition reads, image by image along the first axis."""

    def __init__(self, weights: Weights, *, threads: int) -> None:
        self._threads = threads
        self._parameters = {
            name: array.astype(np.float64) for name, array in weights.parameters.items()
        }

    def infer(self, images: NDArray[np.float32]) -> NDArray[np.float32]:
        """Probabilities of one image or of each image of a batch."""
        return self.probabilities(images).astype(np.float32)

    def probabilities(self, images: NDArray[np.float32]) -> Array:
        """What `infer` gives, before it is rounded to float32."""
        images = check_images(images)
        batch = images.reshape(-1, IMAGE_SIDE, IMAGE_SIDE)
        probabilities = np.empty((len(batch), CLASSES))
        for start in range(0, len(batch), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            probabilities[some] = self._forward(batch[some])["probabilities"]
        return probabilities.reshape(*images.shape[:-2], CLASSES)

    def layers(self, image: NDArray[np.float32]) -> dict[str, Array]:
        """Every layer's output, in float64."""
        outputs = self._forward(check_image(image)[np.newaxis])
        return {name: output[0] for name, output in outputs.items()}

    def describe(self) -> dict[str, str]:
        """NumPy's version; there is nothing to choose."""
        return {
            "library": f"NumPy {np.__version__}",
            "dtype": "float64",
            "threads": f"{self._threads} asked; NumPy's BLAS reads OPENBLAS_NUM_THREADS",
        }

    def _forward(self, images: NDArray[np.float32]) -> dict[str, Array]:
        p = self._parameters
        one_channel = images[:, np.newaxis].astype(np.float64)
        conv1 = convolve(one_channel, p["conv1.weight"], p["conv1.bias"])
        pool1 = max_pool(conv1)
        conv2 = convolve(pool1, p["conv2.weight"], p["conv2.bias"])
        pool2 = max_pool(conv2)
        flat = pool2.reshape(len(images), -1)
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


def convolve(images: Array, weight: Array, bias: Array) -> Array:
    """Each output pixel is its window times the kernel, plus the bias; no padding, stride 1."""
    windows = sliding_window_view(images, weight.shape[2:], axis=(2, 3))  # n, in, y, x, ky, kx
    output = np.tensordot(windows, weight, axes=([1, 4, 5], [1, 2, 3])) + bias  # n, y, x, out
    result: Array = output.transpose(0, 3, 1, 2)
    return result


def max_pool(images: Array) -> Array:
    """The largest of each 2x2 square."""
    count, channels, side, _ = images.shape
    squares = images.reshape(count, channels, side // 2, 2, side // 2, 2)
    result: Array = squares.max(axis=(3, 5))
    return result


def softmax(logits: Array) -> Array:
    """Probabilities; shifted by the largest logit, so that no exponential overflows."""
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    result: Array = exponentials / exponentials.sum(axis=1, keepdims=True)
    return result
