"""An epoch's batches: in the recipe's order, augmented, made ahead while the framework learns."""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Executor
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ..mnist import Digits
from .augment import augment
from .recipe import Recipe, Stream, order

Batch = tuple[NDArray[np.float32], NDArray[np.uint8]]

_AHEAD = 8


def epoch_batches(
    recipe: Recipe,
    epoch: int,
    digits: Digits,
    learning: NDArray[np.int64],
    feeder: Executor,
) -> Iterator[Batch]:
    """The batches of an epoch, from 0."""

    def make(number: int, which: NDArray[np.int64]) -> NDArray[np.float32]:
        random = recipe.stream(Stream.AUGMENTATION, epoch, number)
        return augment(digits.ink(which), recipe.augmentation, random)

    batches = order(recipe, epoch, learning)
    to_make = enumerate(batches)
    waiting = deque(feeder.submit(make, *one) for one in islice(to_make, _AHEAD))
    for which in batches:
        images = waiting.popleft().result()
        waiting.extend(feeder.submit(make, *one) for one in islice(to_make, 1))
        yield images, digits.labels[which]
