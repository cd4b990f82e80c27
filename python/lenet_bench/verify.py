"""Accuracy and parity: every test image through every rung, against the float64 reference."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .backends import Backend, tolerance
from .mnist import Digits
from .network import CLASSES
from .weights import Weights

Array = NDArray[np.float64]

_BATCH = 100  # a call's share: conv2's windows of so many images take 26 MB in float64

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
    """The truth (n, 10) that all rungs are measured against, in float64.

    The arithmetic of the reference rung, for many images at once: one image at a time takes it
    four times as long. A test holds the two together.
    """
    exact = {name: array.astype(np.float64) for name, array in weights.parameters.items()}
    return _in_batches("reference", lambda images: _forward(exact, images), digits, progress)


def verify(
    name: str, backend: Backend, digits: Digits, truth: Array, progress: Progress
) -> Verification:
    """Compare one rung with the reference's probabilities of the same images."""
    # The reference rung is the truth: it takes 11 s to say once more what it said.
    found = truth if name == "reference" else _in_batches(name, backend.infer, digits, progress)
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


def _forward(parameters: dict[str, Array], images: NDArray[np.float32]) -> Array:
    """The network in float64, channels last."""
    conv1 = _convolve(images[..., np.newaxis].astype(np.float64), parameters, "conv1")
    conv2 = _convolve(_max_pool(conv1), parameters, "conv2")
    pool2 = _max_pool(conv2).transpose(0, 3, 1, 2).reshape(len(images), -1)
    fc1 = np.maximum(pool2 @ parameters["fc1.weight"].T + parameters["fc1.bias"], 0)
    fc2 = fc1 @ parameters["fc2.weight"].T + parameters["fc2.bias"]
    exponentials = np.exp(fc2 - fc2.max(axis=1, keepdims=True))
    probabilities: Array = exponentials / exponentials.sum(axis=1, keepdims=True)
    return probabilities


def _convolve(inputs: Array, parameters: dict[str, Array], layer: str) -> Array:
    weight = parameters[f"{layer}.weight"]
    windows = np.lib.stride_tricks.sliding_window_view(inputs, weight.shape[2:], axis=(1, 2))
    output: Array = np.tensordot(windows, weight, axes=([3, 4, 5], [1, 2, 3]))
    return output + parameters[f"{layer}.bias"]


def _max_pool(inputs: Array) -> Array:
    n, height, width, channels = inputs.shape
    squares = inputs.reshape(n, height // 2, 2, width // 2, 2, channels)
    result: Array = squares.max(axis=(2, 4))
    return result
