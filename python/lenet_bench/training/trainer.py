"""What training needs from a framework: one step, the logits, and the state in Caffe's layout."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Parameters = Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True)
class State:
    """All that a step changes, by the names and in the layout of network.PARAMETERS."""

    parameters: Parameters
    velocity: Parameters  # the momentum buffers


class Trainer(Protocol):
    """LeNet on one framework, with SGD, Nesterov momentum and an L2 penalty on the weights."""

    def step(self, images: NDArray[np.float32], labels: NDArray[np.uint8], rate: float) -> float:
        """Learn from a batch (n, 28, 28); its mean cross-entropy before the step."""
        ...

    def logits(self, images: NDArray[np.float32]) -> NDArray[np.float32]:
        """The ten logits of each image, (n, 10)."""
        ...

    def state(self) -> State:
        """A copy of the state."""
        ...

    def restore(self, state: State) -> None:
        """Go on from this state."""
        ...

    def describe(self) -> dict[str, str]:
        """The framework and what it runs on, with versions."""
        ...
