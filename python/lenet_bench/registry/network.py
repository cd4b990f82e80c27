"""The object that `load` returns: the network on one API."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Network(Protocol):
    """A backend that has been built; it holds its own copy of the weights."""

    def infer(self, images: NDArray[np.float32]) -> NDArray[np.float32]:
        """Probabilities (10,) of one image (28, 28), or (n, 10) of (n, 28, 28).

        Images are float32 from 0 (paper) to 1 (ink). Wrong shapes, types and values (NaN, 0 to
        255) raise ValueError or TypeError.
        """
        ...

    def layers(self, image: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
        """The output of each layer for one image (network.LAYERS).

        Raises LenetBenchError where the API returns only the answer.
        """
        ...

    def describe(self) -> dict[str, str]:
        """What runs: library version, instruction set, algorithm."""
        ...
