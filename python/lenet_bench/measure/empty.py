"""The empty backend, which shows what the harness costs: it is in every comparison."""

import numpy as np

from ..arrays import Floats
from ..network import CLASSES
from ..weights import Weights

#: Its name in the rounds and in the result file.
EMPTY = "empty"


class Empty:
    """Answers nothing: a call, a return and two readings of the clock are left."""

    def __init__(self, weights: Weights, *, threads: int) -> None:  # noqa: ARG002
        self._probabilities = np.zeros(CLASSES, np.float32)

    def infer(self, images: Floats) -> Floats:  # noqa: ARG002
        return self._probabilities
