"""Accuracy and parity: every test image through every rung, against the float64 reference."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .backends import Backend, tolerance
from .backends.reference import Reference
from .mnist import Digits
from .network import CLASSES
from .weights import Weights

Array = NDArray[np.float64]

_BATCH = 250  # images a call: often enough to show progress, long enough to be cheap

#: Told after each batch: whose it was, and how many images it had.
Progress = Callable[[str, int], None]


@dataclass(frozen=True)
class Disagreement:
    """An image of which a rung and the reference say different digits."""

    index: int  # in the test set
    label: int
    reference: int
    digit: int  # the rung's
    margin: float  # by how much the reference prefers its own digit: how close a call it was


@dataclass(frozen=True)
class Verification:
    """How one rung did."""

    backend: str
    images: int
    accuracy: float  # of the labels, from 0 to 1
    max_difference: float  # of any probability of any image, from the reference's
    tolerance: float
    disagreements: tuple[Disagreement, ...]

    @property
    def passed(self) -> bool:
        """Whether the rung kept within its tolerance; NaN has not."""
        return self.max_difference <= self.tolerance

    def to_json(self) -> dict[str, Any]:
        """Plain data, with the verdict."""
        return {**asdict(self), "passed": self.passed}


def reference_probabilities(digits: Digits, weights: Weights, progress: Progress) -> Array:
    """The truth (n, 10) that all rungs are measured against, in float64."""
    reference = Reference(weights, threads=1)
    return _in_batches("reference", reference.probabilities, digits, progress)


def verify(
    name: str, backend: Backend, digits: Digits, truth: Array, progress: Progress
) -> Verification:
    """Compare one rung with the reference's probabilities of the same images."""
    found = _in_batches(name, backend.infer, digits, progress)
    answers, expected = found.argmax(axis=1), truth.argmax(axis=1)
    return Verification(
        backend=name,
        images=len(digits),
        accuracy=float((answers == digits.labels).mean()),
        max_difference=float(np.abs(found - truth).max()),
        tolerance=tolerance(name),
        disagreements=tuple(
            Disagreement(
                index=int(index),
                label=int(digits.labels[index]),
                reference=int(expected[index]),
                digit=int(answers[index]),
                margin=float(truth[index, expected[index]] - truth[index, answers[index]]),
            )
            for index in np.flatnonzero(answers != expected)
        ),
    )


def _in_batches(
    name: str,
    infer: Callable[[NDArray[np.float32]], NDArray[np.floating]],
    digits: Digits,
    progress: Progress,
) -> Array:
    found = np.empty((len(digits), CLASSES))
    for start in range(0, len(digits), _BATCH):
        part = slice(start, min(start + _BATCH, len(digits)))
        found[part] = infer(digits.ink(part))
        progress(name, part.stop - part.start)
    return found
