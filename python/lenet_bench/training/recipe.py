"""The recipe: every choice of a training run, and what follows from them without any framework.

The first weights, the split, the order of the images and the rate depend on the recipe alone, so
trainers on different frameworks see the very same batches. Each random draw has a stream of its
own, named by (seed, purpose, epoch, batch).
"""

from dataclasses import dataclass, field
from enum import IntEnum
from math import cos, pi, prod, sqrt

import numpy as np
from numpy.typing import NDArray

from ..errors import LenetBenchError
from ..network import PARAMETERS


class Stream(IntEnum):
    """What a random stream is for."""

    WEIGHTS = 0
    SPLIT = 1
    ORDER = 2
    AUGMENTATION = 3


@dataclass(frozen=True)
class Augmentation:
    """How far a training image may differ from MNIST's: the largest change of each kind."""

    rotation: float = 12.0  # degrees, either way
    scale: float = 0.12  # of the size, larger or smaller
    shear: float = 0.15
    shift: float = 2.0  # pixels, either way
    thicker: float = 0.5  # 1: the stroke grows by a pixel on each side
    thinner: float = 0.5  # 1: the stroke loses a pixel on each side
    blur: float = 0.5  # 1: wholly the 3x3 binomial blur
    contrast: float = 0.3  # of the ink's darkness, and of its gamma's logarithm
    european: float = 0.15  # of the ones and sevens: replaced by European ones


@dataclass(frozen=True)
class Recipe:
    """SGD with Nesterov momentum and a one-cycle rate, on augmented images."""

    epochs: int = 30
    batch: int = 128
    rate: float = 0.05  # at the top of the cycle
    momentum: float = 0.9
    weight_decay: float = 5e-4  # of the weights, not of the biases
    seed: int = 1
    validation: int = 5000  # training images held out to choose the epoch
    images: int | None = None  # use only so many of the training images: for a quick try
    augmentation: Augmentation = field(default_factory=Augmentation)

    def stream(self, purpose: Stream, *position: int) -> np.random.Generator:
        """The random numbers for one purpose at one position of the run."""
        return np.random.default_rng([self.seed, purpose, *position])


def first_weights(recipe: Recipe) -> dict[str, NDArray[np.float32]]:
    """The parameters before the first step: Caffe's xavier filler for weights, zero for biases."""
    random = recipe.stream(Stream.WEIGHTS)
    parameters: dict[str, NDArray[np.float32]] = {}
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
