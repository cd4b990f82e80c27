"""Random networks and images, from a seed: what the backends' tests are fed."""

from math import prod

import numpy as np
from lenet_bench.network import PARAMETERS
from lenet_bench.weights import Weights
from numpy.typing import NDArray

Images = NDArray[np.float32]


def random_weights(seed: int, scale: float = 1.0) -> Weights:
    """Weights that keep every layer's values of the same size, as training does."""
    random = np.random.default_rng(seed)
    parameters = {}
    for name, shape in PARAMETERS.items():
        inputs = prod(PARAMETERS[name.replace("bias", "weight")][1:])
        values = random.normal(0, scale / np.sqrt(inputs), shape)
        parameters[name] = values.astype(np.float32)
    return Weights(parameters)


def random_images(seed: int, count: int) -> Images:
    """Every pixel anywhere between paper and ink."""
    return np.random.default_rng(seed).random((count, 28, 28), dtype=np.float32)


def random_image(seed: int) -> Images:
    return random_images(seed, 1)[0]
