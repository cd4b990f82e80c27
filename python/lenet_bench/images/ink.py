"""Ink and paper, separated in any light."""

import numpy as np
from numpy.typing import NDArray

from .planes import SMALL, NoInkError, Plane, blurred, fitted, highest, lowest, resized, steepness

_REACH = 0.16  # of the longer side: a window of twice it is wider than any stroke


def light(plain: Plane) -> Plane:
    """Divide the paper's own brightness out: 0 = paper, towards 1 = ink.

    The paper is what a closing leaves: bright things, and dark ones wider than any stroke. So
    gradients and the edges of shadows go, which a blurred background would leave as ghosts.
    """
    height, width = plain.shape
    small = blurred(fitted(plain, SMALL))
    course = np.maximum(trend(small), 0.05)
    reach = max(3, min(round(_REACH * max(small.shape)), round(0.45 * min(small.shape))))
    paper = lowest(highest(np.asarray(small / course, np.float32), reach), reach) * course
    paper = resized(blurred(paper), height, width)
    return np.asarray(1 - plain / np.maximum(paper, 0.02), np.float32)


def trend(seen: Plane) -> Plane:
    """The light's slow course over the paper: a quadratic through the majority of the pixels."""
    height, width = seen.shape
    y, x = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
    terms = np.stack([np.ones_like(x), x, y, x * x, x * y, y * y], -1)
    few = terms[::2, ::2].reshape(-1, 6)  # every fourth pixel is enough
    values = seen[::2, ::2].reshape(-1).astype(np.float64)
    rest = values - np.median(values)
    for _ in range(6):
        spread = 1.5 * np.median(np.abs(rest)) + 0.01
        weight = 1 / (1 + (rest / spread) ** 2) ** 2  # outliers are ink: no weight
        scaled = few * weight[:, None]
        course = np.linalg.solve(scaled.T @ few + 1e-6 * np.eye(6), scaled.T @ values)
        rest = values - few @ course
    return np.asarray(terms @ course, np.float32)


def ink(flat: Plane) -> Plane:
    """Coverage by ink, 0 to 1; a stroke's edge is where it has half its strength."""
    soft = blurred(flat, 2)
    _, level = levels(soft)
    return np.asarray(np.clip((soft / level - 0.3) / 0.4, 0, 1), np.float32)


def levels(flat: Plane) -> tuple[float, float]:
    """How strong the paper's noise gets, and how strong the ink is."""
    low, middle = (float(q) for q in np.quantile(flat, (0.05, 0.25)))  # paper, however much ink
    floor = max(middle, 0.0) + 6 * (middle - low) + 0.015  # five standard deviations above it
    above = flat[flat > floor]
    if above.size == 0:
        raise NoInkError
    counts, edges = np.histogram(np.minimum(above, 1), 64, (0.0, 1.0))  # resizing overshoots
    return floor, otsu(counts, edges)


def otsu(counts: NDArray[np.intp], edges: NDArray[np.float64]) -> float:
    """The mean of the upper of a histogram's two classes, split where they differ most."""
    values = (edges[:-1] + edges[1:]) / 2
    below = np.cumsum(counts)[:-1]
    above = counts.sum() - below
    sums = np.cumsum(counts * values)
    low = sums[:-1] / np.maximum(below, 1)
    high = (sums[-1] - sums[:-1]) / np.maximum(above, 1)
    cut = int(np.argmax(below * above * (high - low) ** 2))
    return float(high[cut] if above[cut] else sums[-1] / counts.sum())


def sharpness(flat: Plane, cut: Plane, level: float) -> float:
    """How steep the outline is, 0 to 1: ink is sharper than the edges of shadows and glare."""
    outline = steepness(cut)
    height = float((outline * steepness(flat)).sum() / max(outline.sum(), 1e-6))
    return min(1.0, 2.5 * height / level)


def check_contrast(flat: Plane, cut: Plane) -> None:
    """Raise NoInkError where what was found is only the paper's own mottle.

    Mottle is soft and hardly stronger than the rest of the paper; a digit is never both.
    """
    soft = blurred(flat, 2)
    ink_, paper = soft[cut > 0.5], soft[cut == 0]
    if not ink_.size or not paper.size:
        return
    middle, most = (float(q) for q in np.quantile(paper, (0.5, 0.99)))
    stands_out = (float(np.mean(ink_)) - middle) / (most - middle + 0.003)
    if stands_out < 3.2 and sharpness(soft, cut, levels(soft)[1]) < 0.28:
        raise NoInkError
