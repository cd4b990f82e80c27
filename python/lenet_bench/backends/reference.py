"""LeNet in float64 NumPy, plain and obviously right: what every other rung is measured against."""

import numpy as np
from numpy.typing import NDArray

from ..network import CLASSES
from ..weights import Weights
from ._input import check_image, check_images

Array = NDArray[np.float64]


class Reference:
    """The network as its definition reads; slow on purpose."""

    def __init__(self, weights: Weights, *, threads: int) -> None:
        self._threads = threads
        self._parameters = {
            name: array.astype(np.float64) for name, array in weights.parameters.items()
        }

    def infer(self, images: NDArray[np.float32]) -> NDArray[np.float32]:
        """Probabilities of one image or of each image of a batch."""
        return self.probabilities(images).astype(np.float32)

    def probabilities(self, images: NDArray[np.float32]) -> Array:
        """What `infer` gives before it is rounded to float32."""
        images = check_images(images)
        probabilities = np.empty((*images.shape[:-2], CLASSES))
        for index in np.ndindex(probabilities.shape[:-1]):
            probabilities[index] = self._forward(images[index])["probabilities"]
        return probabilities

    def layers(self, image: NDArray[np.float32]) -> dict[str, Array]:
        """Every layer's output, in float64."""
        return self._forward(check_image(image))

    def describe(self) -> dict[str, str]:
        """NumPy's version: there is nothing to choose."""
        return {"library": f"NumPy {np.__version__}", "dtype": "float64"}

    def _forward(self, image: NDArray[np.float32]) -> dict[str, Array]:
        p = self._parameters
        conv1 = convolve(image[np.newaxis].astype(np.float64), p["conv1.weight"], p["conv1.bias"])
        pool1 = max_pool(conv1)
        conv2 = convolve(pool1, p["conv2.weight"], p["conv2.bias"])
        pool2 = max_pool(conv2)
        fc1 = np.maximum(p["fc1.weight"] @ pool2.ravel() + p["fc1.bias"], 0)
        fc2 = p["fc2.weight"] @ fc1 + p["fc2.bias"]
        return {
            "conv1": conv1,
            "pool1": pool1,
            "conv2": conv2,
            "pool2": pool2,
            "fc1": fc1,
            "fc2": fc2,
            "probabilities": softmax(fc2),
        }


def convolve(inputs: Array, weight: Array, bias: Array) -> Array:
    """Each kernel offset adds its own product of channels; no padding, stride 1."""
    kernel = weight.shape[-1]
    side = inputs.shape[-1] - kernel + 1
    output = np.zeros((len(bias), side, side)) + bias[:, np.newaxis, np.newaxis]
    for y in range(kernel):
        for x in range(kernel):
            window = inputs[:, y : y + side, x : x + side]
            output += np.tensordot(weight[:, :, y, x], window, axes=1)
    return output


def max_pool(inputs: Array) -> Array:
    """The largest of each 2x2 square."""
    channels, height, width = inputs.shape
    result: Array = inputs.reshape(channels, height // 2, 2, width // 2, 2).max(axis=(2, 4))
    return result


def softmax(logits: Array) -> Array:
    """Probabilities; shifted by the largest logit, so that no exponential overflows."""
    exponentials = np.exp(logits - logits.max())
    result: Array = exponentials / exponentials.sum()
    return result
