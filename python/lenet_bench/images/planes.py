"""Planes, the arrays of pictures, and operations on them: resize, blur, bounds."""

from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

Plane = NDArray[np.float32]  # (height, width), or (height, width, 3) where it is a colour picture
Mask = NDArray[np.bool_]
SMALL = 96  # enough to judge contrast and light


class NoInkError(Exception):
    """Nothing stands out from the paper."""


def fitted(picture: Plane, side: int) -> Plane:
    """The picture with its longer side `side` pixels."""
    height, width = picture.shape[:2]
    factor = side / max(height, width)
    return resized(picture, max(3, round(height * factor)), max(3, round(width * factor)))


def resized(picture: Plane, height: int, width: int) -> Plane:
    """The picture at that size: averaged where it shrinks, smooth where it grows."""
    from PIL import Image

    if picture.ndim == 3:
        return np.dstack([resized(picture[..., c], height, width) for c in range(3)])
    if picture.shape == (height, width):
        return picture
    shrinks = height < picture.shape[0]
    filter_ = Image.Resampling.BOX if shrinks else Image.Resampling.BICUBIC
    image = Image.fromarray(np.ascontiguousarray(picture))
    return np.asarray(image.resize((width, height), filter_), np.float32)


def highest(plane: Plane, reach: int) -> Plane:
    """The maximum over a square of 2 reach + 1."""
    height, width = plane.shape
    padded = np.pad(plane, reach, constant_values=-np.inf)
    shifts = range(2 * reach + 1)
    rows = reduce(np.maximum, (padded[down : down + height] for down in shifts))
    return reduce(np.maximum, (rows[:, right : right + width] for right in shifts))


def lowest(plane: Plane, reach: int) -> Plane:
    """The minimum over the same square."""
    return -highest(-plane, reach)


def blurred(plane: Plane, times: int = 1) -> Plane:
    """Averaged with its neighbours by 1-2-1 in both directions."""
    for _ in range(times):
        p = np.pad(plane, 1, mode="edge")
        p = p[:-2] + 2 * p[1:-1] + p[2:]
        plane = (p[:, :-2] + 2 * p[:, 1:-1] + p[:, 2:]) / np.float32(16)
    return np.asarray(plane, np.float32)


def steepness(plane: Plane) -> Plane:
    """The length of the gradient."""
    down, across = np.gradient(plane)
    return np.asarray(np.hypot(down, across), np.float32)


def rim(plane: NDArray[Any]) -> NDArray[Any]:
    """The outermost pixels."""
    return np.concatenate([plane[0], plane[-1], plane[:, 0], plane[:, -1]])


def bounds(mask: Mask) -> tuple[int, int, int, int]:
    """top, bottom, left, right of what is set, bottom and right exclusive."""
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    return int(rows[0]), int(rows[-1]) + 1, int(columns[0]), int(columns[-1]) + 1


def centre_of_mass(plane: Plane) -> tuple[float, float]:
    """Row and column."""
    total = float(plane.sum()) or 1.0
    height, width = plane.shape
    return (
        float(plane.sum(1) @ np.arange(height)) / total,
        float(plane.sum(0) @ np.arange(width)) / total,
    )
