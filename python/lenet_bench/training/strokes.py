"""Digits that Europeans write and MNIST hardly has: ones with a long upstroke, crossed sevens.

A digit is a line through points in a unit square (x right, y down), drawn as MNIST's are: 20
pixels high or wide, its mass in the middle of 28x28.
"""

import numpy as np
from numpy.typing import NDArray

from ..network import IMAGE_SIDE

Images = NDArray[np.float32]
Line = NDArray[np.float64]  # points (n, 2)

_BOX = 20  # pixels
_UNSTEADY = 0.02  # of the box: how far a point is from where it should be


def write(digit: int, random: np.random.Generator) -> Images:
    """A one or a seven, (28, 28), of paper (0) and ink (1)."""
    lines = _one(random) if digit == 1 else _seven(random)
    lines = [line + random.normal(0, _UNSTEADY, line.shape) for line in lines]
    pen = random.uniform(0.8, 1.8)  # pixels from the middle of the stroke to its edge
    points = np.concatenate(lines)
    size = (_BOX - 2 * pen) / (points.max(0) - points.min(0)).max()
    starts = np.concatenate([line[:-1] for line in lines]) * size
    ways = np.concatenate([np.diff(line, axis=0) for line in lines]) * size
    lengths = np.hypot(*ways.T)
    mass = np.average(starts + ways / 2, axis=0, weights=lengths)
    starts += (IMAGE_SIDE - 1) / 2 - mass
    return np.clip(pen + 0.5 - _distances(starts, ways), 0, 1).astype(np.float32)


def _distances(starts: Line, ways: Line) -> NDArray[np.float64]:
    """From each pixel to the nearest segment."""
    rows, columns = np.indices((IMAGE_SIDE, IMAGE_SIDE))
    pixels = np.stack([columns, rows], axis=-1)[:, :, np.newaxis]
    along = ((pixels - starts) * ways).sum(-1) / np.maximum((ways**2).sum(-1), 1e-9)
    nearest = starts + np.clip(along, 0, 1)[..., np.newaxis] * ways
    distances: NDArray[np.float64] = np.linalg.norm(pixels - nearest, axis=-1).min(-1)
    return distances


def _one(random: np.random.Generator) -> list[Line]:
    """A stem with an upstroke of up to its own height; one in five stands on a foot."""
    lean = random.uniform(-0.15, 0.15)
    down = random.uniform(0.15, 0.95)
    left = random.uniform(0.2, 0.3 + 0.35 * down)  # a wide flat upstroke would be a seven
    bend = random.uniform(-0.06, 0.06)
    upstroke = [(lean - left, down), (lean - left / 2 + bend, down / 2 + bend), (lean, 0.0)]
    lines = [np.array([*upstroke, (0.0, 1.0)])]
    if random.random() < 0.2:
        half = random.uniform(0.15, 0.35)
        lines.append(np.array([(-half, 1.0), (half, 1.0)]))
    return lines


def _seven(random: np.random.Generator) -> list[Line]:
    """A bar, a stem to the lower left, and a short line through it."""
    wide, foot = random.uniform(0.4, 0.75), random.uniform(0.1, 0.5)
    bend = random.uniform(-0.02, 0.08)
    stem = np.array([(0.0, 0.0), (-foot / 2 + bend, 0.5), (-foot, 1.0)])
    bar = [(-wide, random.uniform(-0.05, 0.08))]
    if random.random() < 0.4:  # begins with a hook
        bar.insert(0, (-wide - random.uniform(0, 0.05), random.uniform(0.1, 0.25)))
    half, rise = random.uniform(0.12, 0.32), random.uniform(-0.05, 0.1)
    middle = stem[1] + (stem[2] - stem[1]) * random.uniform(-0.2, 0.25)
    cross = middle + np.array([(-half, rise), (half, -rise)])
    return [np.concatenate([np.array(bar), stem]), cross]
