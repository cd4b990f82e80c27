"""The images that backends are timed and checked with: pen strokes as sparse as MNIST's digits."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..network import IMAGE_SIDE

Images = NDArray[np.float32]

_PEN = 1.3  # pixels: gives about the fifth of inked pixels that MNIST's digits have


def strokes(count: int, seed: int) -> Images:
    """Different images (count, 28, 28), the same for the same seed."""
    random = np.random.default_rng(seed)
    return np.stack([_stroke(random.uniform(6, 22, (4, 2))) for _ in range(count)])


def edge_cases() -> Images:
    """Edge cases that strokes do not cover: no ink, ink all over, noise, one pixel."""
    images = np.zeros((4, IMAGE_SIDE, IMAGE_SIDE), np.float32)
    images[1] = 1
    images[2] = np.random.default_rng(0).random((IMAGE_SIDE, IMAGE_SIDE), np.float32)
    images[3, -1, -1] = 1
    return images


def _stroke(corners: NDArray[np.float64]) -> Images:
    """A pen drawn along these corners."""
    along = np.linspace(0, 1, 40)[:, np.newaxis]
    path = np.concatenate([a + along * (b - a) for a, b in pairwise(corners)])
    pixels = np.stack(np.meshgrid(*[np.arange(IMAGE_SIDE)] * 2, indexing="ij"), axis=-1)
    distance = np.linalg.norm(pixels[:, :, np.newaxis] - path, axis=-1).min(axis=-1)
    ink = np.clip(1.5 * np.exp(-((distance / _PEN) ** 2)), 0, 1)
    return np.where(ink < 0.02, 0, ink).astype(np.float32)
