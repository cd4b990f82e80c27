"""The answers that backends are judged by: who gives others is not timed, or its times are dropped.

The images are pen strokes as sparse as MNIST's digits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from msgspec import UNSET, UnsetType
from numpy.typing import NDArray

from ..network import IMAGE_SIDE, LENET
from ..registry import load
from ..results import Other
from ..weights import Weights, read_weights

if TYPE_CHECKING:
    from .options import CompareOptions, Entry
    from .pinning import Cores

Floats = NDArray[np.float32]

ROTATING = 10  # 31 KB: a backend finds them in the caches, as an application's newest image is
STRETCHES = 5  # of the timed calls, each with as many images of its own
_PROBES, _PROBED = 6, 24
_PEN = 1.3  # pixels: gives about the fifth of inked pixels that MNIST's digits have


class Known(NamedTuple):
    """Images, and the right answer to each."""

    images: Floats
    answers: Floats


def largest_difference(found: Floats, expected: Floats) -> float:
    return float(np.abs(found.reshape(expected.shape) - expected).max(initial=0))


@dataclass(frozen=True)
class ReferenceAnswers:
    """The images of a run, the right answers to them, and how near to those a backend's must be.

    Computed before the run: BLAS threads spin after a product and would disturb timed calls.
    """

    weights_sha256: str
    rotating: Known  # for the warm-up and batches
    edges: Known
    timed: Sequence[Known]  # new to backends, for a stretch each
    new: Sequence[Known] = ()  # likewise, for the probes
    network: str = LENET
    other: Other | UnsetType = UNSET  # what is in LeNet's place
    model: Mapping[str, Any] | None = None  # the file to load, of a model of the user's own
    difference: Callable[[Any, Any], float] = largest_difference
    allowance: float = 1.0  # of a difference, times what a backend is allowed for LeNet
    least: float = 0.0  # that is allowed to all
    as_taken: Callable[[str, Floats], Floats] = lambda _, images: images  # by this backend
    said: str = "probabilities"
    judge: str = "the reference's"
    hint: Callable[[str], str] = lambda _: ""  # after the sentence of this backend's failure

    def allowed(self, tolerance: float) -> float:
        """The difference that a backend of this tolerance may have."""
        return max(self.least, self.allowance * tolerance)


def reference_answers(
    options: CompareOptions,
    entries: Sequence[Entry],
    cores: Cores,
    until_s: float,
    tell: Callable[[str], None],
) -> ReferenceAnswers:
    """Those of LeNet with its weights, of another network, or of a model of the user's own."""
    if options.model:
        from .model_answers import of_model

        return of_model(options, entries, cores, until_s, tell)
    if options.network != LENET:
        from .network_answers import of_network

        return of_network(options.network)
    assert options.seed is not None
    return of_lenet(read_weights(options.weights), options.seed)


def of_lenet(weights: Weights, seed: int) -> ReferenceAnswers:
    """The float64 reference's probabilities, also of images that the seed gives."""
    reference = load("reference", weights=weights)

    def known(images: Floats) -> Known:
        return Known(images, reference.infer(images))

    own = strokes(STRETCHES * ROTATING + _PROBES * _PROBED, seed=seed + 1)
    timed, new = np.split(own, [STRETCHES * ROTATING])
    return ReferenceAnswers(
        weights_sha256=weights.sha256,
        rotating=known(strokes(ROTATING, seed=0)),
        edges=known(edge_cases()),
        timed=[known(images) for images in np.split(timed, STRETCHES)],
        new=[known(images) for images in np.split(new, _PROBES)],
    )


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
