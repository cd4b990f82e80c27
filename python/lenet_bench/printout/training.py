"""What came of a training run, for people."""

from __future__ import annotations  # the types of one command are not imported for another

from typing import TYPE_CHECKING

from ..terminal import Screen
from .facts import fact_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..training import TrainResult


def training(screen: Screen, result: TrainResult) -> Iterator[str]:
    """What came of a training run, and where it lies."""
    chosen = result.chosen
    facts = {
        "weights": str(result.weights),
        "curve": str(result.curve),
        "epoch": f"{chosen.epoch} of {len(result.history)}, chosen by its validation loss",
        "validation": f"{100 * chosen.validation_accuracy:.2f} % right",
        "test": f"{100 * result.test_accuracy:.2f} % of {result.test_images:,} images right",
    }
    yield from fact_lines(screen, facts)
