"""The reference's answers: a backend with other answers is not timed, or its times are dropped."""

import numpy as np
from numpy.typing import NDArray

from ..registry import load
from ..weights import Weights
from . import inputs

Floats = NDArray[np.float32]

ROTATING = 10  # 31 KB: a backend finds them in the caches, as an application's newest image is
_UNFORESEEN = 4


class Truth:
    """The images of a run, and the float64 reference's probabilities of each."""

    def __init__(self, weights: Weights, seed: int) -> None:
        self._reference = load("reference", weights=weights)
        self.rotating = inputs.strokes(ROTATING, seed=0)  # those that backends are timed with
        self.edges = inputs.edge_cases()
        self.unforeseen = inputs.strokes(_UNFORESEEN, seed=seed)  # asked once timing is over
        self._known = self._reference.infer(self.rotating)

    def of_rotating(self, numbers: list[int]) -> Floats:
        """The probabilities of some of the images that rotate."""
        return self._known[numbers]

    def of(self, images: Floats) -> Floats:
        """The probabilities of any images."""
        return self._reference.infer(images)
