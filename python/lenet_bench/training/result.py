"""What came of training in several frameworks: the model, and its file."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, Literal

from ..errors import ResultError
from ..results.typed_json import decode
from ..results.versioned import read_object
from .agreement import Agreement, agreement
from .checkpoint import Epoch, write_file
from .pace import StartUp
from .recipe import Recipe

#: Raised with every change that an older reader would misread.
SCHEMA = 1
KIND = "training"

Status = Literal["ok", "unavailable", "failed", "interrupted"]

_LISTS_OF_NUMBERS = re.compile(r"\[\n[\d\s,.e-]+\]")  # each would have a line a number


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
    first_losses: tuple[float, ...] = ()  # of the steps that frameworks are compared by
    test_images: int | None = None
    test_correct: int | None = None  # with the parameters of the chosen epoch

    @property
    def chosen(self) -> Epoch | None:
        """The epoch with the lowest validation loss, whose parameters were kept."""
        return min(self.epochs, key=lambda epoch: epoch.validation_loss, default=None)

    @property
    def images_per_s(self) -> float | None:
        """Of its epochs' paces, the median."""
        paces = [epoch.images_per_s for epoch in self.epochs if epoch.images_per_s]
        return median(paces) if paces else None

    @property
    def test_accuracy(self) -> float | None:
        """Of the test images, from 0 to 1."""
        if self.test_correct is None or not self.test_images:
            return None
        return self.test_correct / self.test_images


@dataclass(frozen=True)
class TrainingResult:
    """The same recipe in each framework, over or under way."""

    version: str  # of lenet-bench
    argv: tuple[str, ...]
    started: str  # ISO 8601, UTC
    machine: Mapping[str, Any]
    threads: int  # of each framework
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
        """The row of that framework."""
        return next((run for run in self.runs if run.framework == framework), None)


def write_training(path: Path, result: TrainingResult) -> None:
    """Replace the file whole."""
    text = json.dumps(asdict(result), indent=1, allow_nan=False)
    text = _LISTS_OF_NUMBERS.sub(lambda found: " ".join(found[0].split()), text)
    write_file(path, f"{text}\n".encode())


def read_training(path: Path) -> TrainingResult:
    """Read and check a result file; ResultError says what is wrong with it."""
    content = read_object(path, KIND, SCHEMA)
    try:
        result: TrainingResult = decode(TrainingResult, content)
    except ValueError as error:
        raise ResultError(f"{path}: damaged result file: {error}") from None
    return result


def digest(result: TrainingResult) -> dict[str, Any]:
    """What `--json` prints: everything but the losses of each step."""
    agreed = result.agreement
    return {
        "schema": result.schema,
        "started": result.started,
        "threads": result.threads,
        "recipe": result.recipe.to_json(),
        "runs": [_row(run) for run in result.runs],
        "agreement": {**asdict(agreed), "holds": agreed.holds} if agreed else None,
    }


def _row(run: FrameworkRun) -> dict[str, Any]:
    row = asdict(run)
    del row["losses"], row["first_losses"]
    return {
        **row,
        "steps": len(run.losses),
        "images_per_s": run.images_per_s,
        "chosen_epoch": run.chosen.epoch if run.chosen else None,
        "test_accuracy": run.test_accuracy,
        "start_up_s": run.start_up.total_s if run.start_up else None,
    }
