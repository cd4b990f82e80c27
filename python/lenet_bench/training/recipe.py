"""What follows from the recipe (choices.py) without any framework.

The first weights, the split, the order of the images and the rate depend on the recipe alone, so
trainers on different frameworks see the very same batches. Each random draw has a stream of its
own, named by (seed, purpose, epoch, batch).
"""

from math import cos, pi, prod, sqrt

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats
from ..choices import Recipe, Stream
from ..errors import LenetBenchError
from ..network import PARAMETERS


def first_weights(recipe: Recipe) -> dict[str, Floats]:
    """The parameters before the first step: Caffe's xavier filler for weights, zero for biases."""
    random = recipe.stream(Stream.WEIGHTS)
    parameters: dict[str, Floats] = {}
    for name, shape in PARAMETERS.items():
        bound = sqrt(3 / prod(shape[1:])) if name.endswith(".weight") else 0.0
        parameters[name] = random.uniform(-bound, bound, shape).astype(np.float32)
    return parameters


def split(recipe: Recipe, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The numbers of the images to learn from, and of those held out for validation."""
    count = count if recipe.images is None else min(count, recipe.images)
    if count <= recipe.validation:
        raise LenetBenchError(
            f"holding out {recipe.validation} of {count} training images for validation leaves"
            " none; use more, or hold out fewer (--validation)"
        )
    order = recipe.stream(Stream.SPLIT).permutation(count)
    return np.sort(order[recipe.validation :]), np.sort(order[: recipe.validation])


def order(recipe: Recipe, epoch: int, images: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """One epoch's batches of image numbers; images that do not fill a batch are skipped."""
    shuffled = recipe.stream(Stream.ORDER, epoch).permutation(images)
    last = max(0, len(images) - recipe.batch)  # too few for a batch are one
    return [shuffled[at : at + recipe.batch] for at in range(0, last + 1, recipe.batch)]


def rate(recipe: Recipe, step: int, steps: int) -> float:
    """The one-cycle rate: up from 1/25 of its top over 30 % of the steps, then down to nothing."""
    top, rise = recipe.rate, 0.3 * steps
    if step < rise:
        return _cosine(top / 25, top, step / rise)
    return _cosine(top, top / 25e4, (step - rise) / max(1.0, steps - 1 - rise))


def _cosine(start: float, end: float, way: float) -> float:
    return end + (start - end) * (1 + cos(pi * min(way, 1.0))) / 2
