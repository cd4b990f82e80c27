"""What the exhibits of frameworks have in common: the boundary, so that each shows its API only."""

from abc import ABC, abstractmethod
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from ..network import CLASSES
from ._input import check_image, check_images

Array = NDArray[np.float32]


class Exhibit(ABC):
    """Checks the images and shapes the answer; an exhibit adds `forward`.

    One thread at a time, since many of these APIs compute in memory of their own.
    """

    _one_at_a_time: Lock

    def __init_subclass__(cls) -> None:
        cls._one_at_a_time = Lock()

    def infer(self, images: Array) -> Array:
        """Probabilities (10,) of one image (28, 28), or (n, 10) of (n, 28, 28)."""
        images = check_images(images)
        if images.ndim == 2:
            with self._one_at_a_time:
                return self.forward(images[np.newaxis])[0]
        if len(images) == 0:  # which few frameworks can do
            return np.empty((0, CLASSES), np.float32)
        with self._one_at_a_time:
            return self.forward(images)

    @abstractmethod
    def forward(self, images: Array) -> Array:
        """Probabilities (n, 10), in memory of their own, of at least one image (n, 28, 28)."""

    def layers(self, image: Array) -> dict[str, Array]:
        """Nothing: these APIs give the answer only."""
        check_image(image)
        return {}

    @abstractmethod
    def describe(self) -> dict[str, str]:
        """What really runs: the framework, its version and what it was told.

        An exhibit that can run on either device names under `device` that on which its API says
        that an answer lies.
        """
