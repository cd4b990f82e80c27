"""The empty backend: it is timed like all others, and gives the time of the harness itself."""

import numpy as np
from numpy.typing import NDArray

from ..network import CLASSES
from ..weights import Weights

#: Its name in the rounds and in the result file.
NAME = "empty"


class Empty:
    """Does nothing: its time is a call, a return and two readings of the clock."""

    def __init__(self, weights: Weights, *, threads: int) -> None:  # noqa: ARG002
        self._probabilities = np.zeros(CLASSES, np.float32)

    def infer(self, images: NDArray[np.float32]) -> NDArray[np.float32]:  # noqa: ARG002
        return self._probabilities

    def describe(self) -> dict[str, str]:
        return {}
