"""What came of training in one framework or in several, and whether their losses agree.

The same first weights should give the same losses. But float32 sums in another order differ in the
last bits, and each step enlarges the difference, by a factor that grows with the rate: even correct
frameworks diverge in the end. So only the losses of the first steps are compared, at the lowest
rate of the cycle, in steps made for this comparison alone. The tolerance is four times the largest
difference of five seeds in six frameworks.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..choices import Recipe

STEPS = 100  # whose losses are compared, or all of a shorter epoch
TOLERANCE = 0.002  # largest difference of the losses


@dataclass(frozen=True)
class Epoch:
    """One epoch; losses are mean cross-entropies."""

    epoch: int  # from 1
    loss: float  # on the augmented images, while learning
    validation_loss: float
    validation_accuracy: float
    seconds: float
    images_per_s: float  # of the median step


@dataclass(frozen=True)
class FrameworkRun:
    """One row: a framework, and what came of training in it."""

    framework: str
    weights: str  # the file
    status: Literal["running", "ok", "unavailable", "failed"] = "running"
    reason: str | None = None  # one sentence, where it failed
    versions: Mapping[str, str] | None = None
    epochs: tuple[Epoch, ...] = ()
    first_losses: tuple[float, ...] = ()  # of the steps by which frameworks are compared
    test_images: int | None = None
    test_correct: int | None = None  # with the parameters of the chosen epoch
    test_wrong: tuple[tuple[int, int, int], ...] = ()  # as `confusions` counts them

    @property
    def chosen(self) -> Epoch | None:
        """The epoch with the lowest validation loss, whose parameters are kept."""
        return min(self.epochs, key=lambda epoch: epoch.validation_loss, default=None)

    @property
    def images_per_s(self) -> float | None:
        """The median of its epochs' paces."""
        return median(epoch.images_per_s for epoch in self.epochs) if self.epochs else None

    @property
    def test_accuracy(self) -> float | None:
        if self.test_correct is None or not self.test_images:
            return None
        return self.test_correct / self.test_images

    def to_json(self) -> dict[str, Any]:
        """Everything but the losses of the first steps, and what follows from it."""
        row = asdict(self)
        del row["first_losses"]
        return {
            **row,
            "images_per_s": self.images_per_s,
            "chosen_epoch": self.chosen.epoch if self.chosen else None,
            "test_accuracy": self.test_accuracy,
        }


@dataclass(frozen=True)
class TrainingResult:
    """The same recipe in each framework."""

    threads: int  # of each framework; 0: as many as it likes
    recipe: Recipe
    runs: tuple[FrameworkRun, ...]

    @property
    def steps(self) -> int:
        """How many first steps are compared."""
        return max(len(run.first_losses) for run in self.runs)

    @property
    def difference(self) -> float | None:
        """The largest difference between the frameworks' losses at the same first step."""
        losses = [run.first_losses for run in self.runs if run.first_losses]
        if len(losses) < 2:
            return None
        steps: Iterable[tuple[float, ...]] = zip(*losses, strict=True)
        return max(max(step) - min(step) for step in steps)

    @property
    def agrees(self) -> bool:
        """Whether no two losses of the first steps are farther apart than allowed."""
        return self.difference is None or self.difference <= TOLERANCE

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints."""
        agreement = {
            "steps": self.steps,
            "tolerance": TOLERANCE,
            "difference": self.difference,
            "holds": self.agrees,
        }
        return {
            "threads": self.threads,
            "recipe": asdict(self.recipe),
            "runs": [run.to_json() for run in self.runs],
            "agreement": None if self.difference is None else agreement,
        }


def confusions(
    answers: NDArray[np.int64], labels: NDArray[np.uint8]
) -> tuple[tuple[int, int, int], ...]:
    """Of the images that are read wrongly: label, answer, and how many, the most first."""
    wrong = zip(labels[answers != labels], answers[answers != labels], strict=True)
    pairs = Counter((int(label), int(answer)) for label, answer in wrong)
    return tuple((*pair, count) for pair, count in pairs.most_common())
