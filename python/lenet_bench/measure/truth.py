"""The reference's answers: a backend with other answers is not timed, or its times are dropped.

The images are pen strokes as sparse as MNIST's digits.
"""

from collections.abc import Mapping
from itertools import pairwise
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from msgspec import UNSET, UnsetType
from numpy.typing import NDArray

from ..network import IMAGE_SIDE, LENET
from ..registry import FLOAT32, load
from ..results import Other
from ..weights import Weights, read_weights

Floats = NDArray[np.float32]

ROTATING = 10  # 31 KB: a backend finds them in the caches, as an application's newest image is
STRETCHES = 5  # of the timed calls, each with as many images of its own
_PROBES, _PROBED = 6, 24
_PEN = 1.3  # pixels: gives about the fifth of inked pixels that MNIST's digits have


class Known(NamedTuple):
    """Images with the reference's probabilities of each."""

    images: Floats
    probabilities: Floats


class Truth:
    """The images of a run, and the float64 reference's probabilities of each.

    Computed before the run: BLAS threads spin after a product and would disturb timed calls.
    """

    network = LENET
    other: Other | UnsetType = UNSET  # what is in LeNet's place
    model: Mapping[str, Any] | None = None  # the file to load, of a model of the user's own
    said, judge = "probabilities", "the reference's"

    def __init__(self, weights: Weights, seed: int) -> None:
        self._reference = load("reference", weights=weights)
        self.sha256 = weights.sha256
        self.rotating = self._known(strokes(ROTATING, seed=0))  # for the warm-up and batches
        self.edges = self._known(edge_cases())
        own = strokes(STRETCHES * ROTATING + _PROBES * _PROBED, seed=seed + 1)  # new to backends
        timed, new = np.split(own, [STRETCHES * ROTATING])
        self.timed = [self._known(images) for images in np.split(timed, STRETCHES)]
        self.new = [self._known(images) for images in np.split(new, _PROBES)]  # for the probes

    def of(self, images: Floats) -> Floats:
        """The probabilities of any images."""
        return self._reference.infer(images)

    def difference(self, found: Floats, expected: Floats) -> float:
        """How far these answers are from the reference's, by the largest difference."""
        return float(np.abs(found.reshape(expected.shape) - expected).max(initial=0))

    def allowed(self, tolerance: float) -> float:
        """The difference that a backend of this tolerance may have."""
        return tolerance

    def taken_by(self, backend: str, images: Floats) -> Floats:  # noqa: ARG002
        """The images as this backend takes them."""
        return images

    def _known(self, images: Floats) -> Known:
        return Known(images, self.of(images))


def as_much_more(allowed: float, tolerance: float) -> float:
    """A backend that is given more than float32 for LeNet, as Winograd is, is given it here."""
    return allowed * tolerance / FLOAT32


def truth_of(network: str, weights: str | PathLike[str] | None, seed: int) -> Truth:
    """Those of LeNet with these weights, or of another network."""
    if network == LENET:
        return Truth(read_weights(weights), seed)
    from .network_truth import NetworkTruth

    return NetworkTruth(network)


def strokes(count: int, seed: int) -> Floats:
    """So many different images (count, 28, 28), the same for the same seed."""
    random = np.random.default_rng(seed)
    return np.stack([_stroke(random.uniform(6, 22, (4, 2))) for _ in range(count)])


def edge_cases() -> Floats:
    """Images that show what strokes do not: nothing, ink all over, noise, one pixel."""
    images = np.zeros((4, IMAGE_SIDE, IMAGE_SIDE), np.float32)
    images[1] = 1
    images[2] = np.random.default_rng(0).random((IMAGE_SIDE, IMAGE_SIDE), np.float32)
    images[3, -1, -1] = 1
    return images


def _stroke(corners: NDArray[np.float64]) -> Floats:
    """A pen drawn along these corners."""
    along = np.linspace(0, 1, 40)[:, np.newaxis]
    path = np.concatenate([a + along * (b - a) for a, b in pairwise(corners)])
    down, across = (np.arange(IMAGE_SIDE) - path.T[..., np.newaxis]) ** 2
    squared = (down[:, :, np.newaxis] + across[:, np.newaxis]).min(axis=0)  # to the nearest point
    ink = np.clip(1.5 * np.exp(-squared / _PEN**2), 0, 1)
    return np.where(ink < 0.02, 0, ink).astype(np.float32)
