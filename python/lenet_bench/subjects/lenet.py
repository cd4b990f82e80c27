"""LeNet with its trained weights. Its images are pen strokes as sparse as MNIST's digits."""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats
from ..network import IMAGE_SIDE, LENET
from ..registry import Device, Network, load, names
from ..weights import Weights, default_path, read_weights
from .subject import STRETCHES, Known, Prepared, Run, Subject

if TYPE_CHECKING:
    from ..networks import Graph

ROTATING = 10  # 31 KB: a backend finds them in the caches, as an application's newest image is
_PROBES, _PROBED = 6, 24
_PEN = 1.3  # pixels: gives about the fifth of inked pixels that MNIST's digits have


@dataclass(frozen=True)
class LeNet(Subject):
    """LeNet with the weights of this file; without one, with its own."""

    file: str = ""

    is_by_hand: ClassVar[bool] = True

    @property
    def label(self) -> str:
        return LENET

    @property
    def file_name(self) -> str:
        return Path(self.file or default_path()).name

    def backends(self, device: Device | None) -> list[str]:
        return names(device=device)

    def prepared(self, run: Run) -> Prepared:
        """The float64 reference's probabilities, also of images that the seed gives."""
        weights = self.weights()
        reference = load("reference", weights=weights)

        def known(images: Floats) -> Known:
            return Known(images, reference.infer(images))

        own = strokes(STRETCHES * ROTATING + _PROBES * _PROBED, seed=run.seed + 1)
        timed, new = np.split(own, [STRETCHES * ROTATING])
        return Prepared(
            self,
            weights.sha256,
            rotating=known(strokes(ROTATING, seed=0)),
            edges=known(edge_cases()),
            timed=[known(images) for images in np.split(timed, STRETCHES)],
            new=[known(images) for images in np.split(new, _PROBES)],
        )

    def weights(self) -> Weights:
        return read_weights(self.file or None)

    def build(self, name: str, threads: int, weights: Weights, first: Any) -> Network:  # noqa: ARG002
        return load(name, threads=threads, weights=weights, hide_output=False)

    def graph(self) -> "Graph | None":
        from ..networks import network

        return network(LENET)


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
