"""How fast a trainer steps: a trainer around another, with a clock."""

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .trainer import State, Trainer


@dataclass(frozen=True)
class StartUp:
    """What it took before the framework learnt at its pace, in seconds."""

    import_s: float
    build_s: float
    first_step_s: float | None  # traces and compiles; None where nothing was left to learn

    @property
    def total_s(self) -> float:
        """All of it."""
        return self.import_s + self.build_s + (self.first_step_s or 0.0)


class PacedTrainer:
    """Times each step; the first one, which traces and compiles, apart from all others."""

    def __init__(self, trainer: Trainer) -> None:
        self._trainer = trainer
        self._images = 0
        self._seconds = 0.0
        self.first_step_s: float | None = None

    def step(self, images: NDArray[np.float32], labels: NDArray[np.uint8], rate: float) -> float:
        """The trainer's step."""
        began = time.perf_counter()
        loss = self._trainer.step(images, labels, rate)
        took = time.perf_counter() - began
        if self.first_step_s is None:
            self.first_step_s = took
        else:
            self._images += len(images)
            self._seconds += took
        return loss

    def lap(self) -> float | None:
        """Images a second in the steps since the last lap; None where there was none to time."""
        pace = self._images / self._seconds if self._images else None
        self._images, self._seconds = 0, 0.0
        return pace

    def logits(self, images: NDArray[np.float32]) -> NDArray[np.float32]:
        """The trainer's logits."""
        return self._trainer.logits(images)

    def state(self) -> State:
        """The trainer's state."""
        return self._trainer.state()

    def restore(self, state: State) -> None:
        """Have the trainer go on from this state."""
        self._trainer.restore(state)

    def describe(self) -> dict[str, str]:
        """What the trainer tells of itself."""
        return self._trainer.describe()
