"""What came of training in one framework or in several: the model, its file, and the agreement.

Frameworks that begin alike ought to learn alike. But float32 sums in another order differ in their
last bits, and each step hands the difference on, larger by a factor that grows with the rate: two
correct frameworks part sooner or later. So only the losses of the first steps are compared, at the
rate that a cycle begins with, apart from the run itself. docs/training.md shows what was measured.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from statistics import median
from typing import Any, Literal

import msgspec

from ..errors import ResultError
from ..results.machine import Machine
from ..results.versioned import decode, read_object, write_object
from .recipe import Recipe

Status = Literal["ok", "unavailable", "failed", "interrupted"]

KIND, SCHEMA = "training", 1  # the number is raised with every change that would be misread

STEPS = 100  # that are compared
TOLERANCE = 0.002  # of their losses


@dataclass(frozen=True)
class Epoch:
    """One epoch; losses are mean cross-entropies."""

    epoch: int  # from 1
    loss: float  # on the augmented images, while learning
    validation_loss: float
    validation_accuracy: float
    seconds: float
    images_per_s: float | None = None  # in the framework's steps, without the run's first one


@dataclass(frozen=True)
class StartUp:
    """What it took before the framework learnt at its pace, in seconds."""

    import_s: float
    build_s: float
    first_step_s: float | None  # traces and compiles

    @property
    def total_s(self) -> float:
        return self.import_s + self.build_s + (self.first_step_s or 0.0)


@dataclass(frozen=True)
class FrameworkRun:
    """One row: a framework, and what came of training in it."""

    framework: str
    status: Status
    reason: str | None = None  # one sentence, where the status is not ok
    versions: Mapping[str, str] | None = None
    start_up: StartUp | None = None
    peak_rss_mib: float | None = None  # of its process
    epochs: tuple[Epoch, ...] = ()
    losses: tuple[float, ...] = ()  # of every step
    first_losses: tuple[float, ...] = ()  # of the steps by which frameworks are compared
    test_images: int | None = None
    test_correct: int | None = None  # with the parameters of the chosen epoch

    @property
    def over(self) -> bool:
        """Whether it has ended, well or not."""
        return self.status == "ok" or self.reason is not None

    @property
    def chosen(self) -> Epoch | None:
        """The epoch with the lowest validation loss, whose parameters are kept."""
        return min(self.epochs, key=lambda epoch: epoch.validation_loss, default=None)

    @property
    def images_per_s(self) -> float | None:
        """The median of its epochs' paces."""
        paces = [epoch.images_per_s for epoch in self.epochs if epoch.images_per_s]
        return median(paces) if paces else None

    @property
    def test_accuracy(self) -> float | None:
        if self.test_correct is None or not self.test_images:
            return None
        return self.test_correct / self.test_images

    def to_json(self) -> dict[str, Any]:
        """Everything but the losses of each step, and what follows from them."""
        row = asdict(self)
        del row["losses"], row["first_losses"]
        return {
            **row,
            "steps": len(self.losses),
            "images_per_s": self.images_per_s,
            "chosen_epoch": self.chosen.epoch if self.chosen else None,
            "test_accuracy": self.test_accuracy,
            "start_up_s": self.start_up.total_s if self.start_up else None,
        }


@dataclass(frozen=True)
class Agreement:
    """The largest difference between the losses of two frameworks at the same step."""

    frameworks: tuple[str, ...]
    steps: int  # that were compared, from the first
    tolerance: float
    difference: float
    step: int  # where it was found, from 1
    lowest: str  # the frameworks that differ most there
    highest: str
    so_far: tuple[float, ...]  # the largest difference up to each step

    @property
    def holds(self) -> bool:
        """Whether all stay within the tolerance."""
        return self.difference <= self.tolerance


def agreement(losses: Mapping[str, Sequence[float]]) -> Agreement | None:
    """Compare the losses of all frameworks that have any; None where that is only one."""
    losses = {framework: values for framework, values in losses.items() if values}
    if len(losses) < 2:
        return None
    steps = [dict(zip(losses, step, strict=True)) for step in zip(*losses.values(), strict=False)]
    worst = max(steps, key=_spread)
    return Agreement(
        frameworks=tuple(losses),
        steps=len(steps),
        tolerance=TOLERANCE,
        difference=_spread(worst),
        step=1 + steps.index(worst),
        lowest=min(worst, key=worst.__getitem__),
        highest=max(worst, key=worst.__getitem__),
        so_far=tuple(accumulate(map(_spread, steps), max)),
    )


def _spread(step: Mapping[str, float]) -> float:
    return max(step.values()) - min(step.values())


@dataclass(frozen=True)
class TrainingResult:
    """The same recipe in each framework, over or under way."""

    version: str  # of lenet-bench
    argv: tuple[str, ...]
    started: str  # ISO 8601, UTC
    machine: Machine
    threads: int | None  # of each framework; None: as many as it likes
    recipe: Recipe
    data_sha256: str  # of the training images and their labels
    runs: tuple[FrameworkRun, ...] = ()
    schema: int = SCHEMA
    kind: str = KIND

    @property
    def agreement(self) -> Agreement | None:
        """How far the losses of the first steps are apart."""
        return agreement({run.framework: run.first_losses for run in self.runs})

    def run(self, framework: str) -> FrameworkRun | None:
        return next((run for run in self.runs if run.framework == framework), None)

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints: everything but the losses of each step."""
        agreed = self.agreement
        return {
            "schema": self.schema,
            "started": self.started,
            "threads": self.threads,
            "recipe": asdict(self.recipe),
            "runs": [run.to_json() for run in self.runs],
            "agreement": {**asdict(agreed), "holds": agreed.holds} if agreed else None,
        }


def write_training(path: Path, result: TrainingResult) -> None:
    write_object(path, msgspec.to_builtins(result))


def read_training(path: Path) -> TrainingResult:
    """Read and check a result file; ResultError says what is wrong with it."""
    try:
        result: TrainingResult = decode(TrainingResult, read_object(path, KIND, SCHEMA))
    except ValueError as error:
        raise ResultError(f"{path}: damaged result file: {error}") from None
    return result
