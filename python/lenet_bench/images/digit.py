"""The strokes that make up the digit, without specks, edges and printed boxes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .planes import Mask, NoInkError, Plane, bounds, highest, rim


def digit(inked: Plane) -> Plane:
    """Keep the strokes that make up the digit."""
    strokes = inked > 0.5
    reach = max(1, round(0.012 * max(inked.shape)))  # a dying pen's gaps are no wider than twice it
    labels, count = components(highest(strokes.astype(np.float32), reach) > 0)
    if count == 0:
        raise NoInkError
    labels = np.where(inked > 0, labels, 0)
    parts = _parts(labels, inked, count)
    parts = [part for part in parts if not _is_box(part, parts, labels)]
    main = max(parts, key=lambda part: part.merit)
    kept, size = {main.number}, main.size
    grew = True
    while grew:
        near = [
            part
            for part in parts
            if part.number not in kept
            and part.mass > 0.04 * main.mass
            and part.rim < 0.12
            and any(part.gap(other) < 0.2 * size for other in parts if other.number in kept)
        ]
        kept |= {part.number for part in near}
        grew = bool(near)
    return np.where(np.isin(labels, list(kept)), inked, np.float32(0))


@dataclass(frozen=True)
class _Part:
    """A connected piece of ink."""

    number: int
    mass: float
    box: tuple[int, int, int, int]  # top, bottom, left, right
    rim: float  # the share of the picture's rim that it covers
    merit: float  # how likely it is the digit, or the greatest part of it

    @property
    def size(self) -> int:
        top, bottom, left, right = self.box
        return max(bottom - top, right - left)

    def gap(self, other: "_Part") -> int:
        """Pixels between the two boxes, 0 where they overlap."""
        top, bottom, left, right = self.box
        top2, bottom2, left2, right2 = other.box
        return max(top - bottom2, top2 - bottom, left - right2, left2 - right, 0)


def _is_box(part: _Part, parts: list[_Part], labels: NDArray[np.intp]) -> bool:
    """Whether this is a printed box around the digit: straight sides, and other ink inside."""
    top, bottom, left, right = part.box
    inside = any(
        top < p.box[0] and p.box[1] < bottom and left < p.box[2] and p.box[3] < right
        for p in parts
        if p.mass > 0.1 * part.mass and p.size > 0.2 * part.size
    )
    if not inside:
        return False
    piece = labels[top:bottom, left:right] == part.number
    deep = max(1, round(0.1 * part.size))
    sides = (
        piece[:deep].any(0),
        piece[-deep:].any(0),
        piece[:, :deep].any(1),
        piece[:, -deep:].any(1),
    )
    return sum(float(np.mean(side)) > 0.8 for side in sides) >= 3


def _parts(labels: NDArray[np.intp], inked: Plane, count: int) -> list[_Part]:
    height, width = labels.shape
    mass = np.bincount(labels.ravel(), inked.ravel(), count + 1)
    edge = rim(labels)
    on_rim = np.bincount(edge, minlength=count + 1) / edge.size
    parts = []
    for number in range(1, count + 1):
        if mass[number] < 0.01 * mass[1:].max():
            continue
        top, bottom, left, right = box = bounds(labels == number)
        off = np.hypot((top + bottom) / height - 1, (left + right) / width - 1) / 2
        merit = mass[number] ** 0.5 * (1.2 - off) * (0.05 if on_rim[number] > 0.12 else 1.0)
        parts.append(_Part(number, float(mass[number]), box, float(on_rim[number]), float(merit)))
    return parts


def components(mask: Mask) -> tuple[NDArray[np.intp], int]:
    """Label the connected parts (8 neighbours) 1, 2, ...: runs of each row, joined."""
    height, width = mask.shape
    padded = np.zeros((height, width + 2), np.int8)
    padded[:, 1:-1] = mask
    steps = np.diff(padded, axis=1)
    row, start = np.nonzero(steps == 1)
    stop = np.nonzero(steps == -1)[1]
    if row.size == 0:
        return np.zeros(mask.shape, np.intp), 0
    parent = list(range(row.size))

    def root(k: int) -> int:
        while parent[k] != k:
            parent[k] = parent[parent[k]]
            k = parent[k]
        return k

    first = np.searchsorted(row, np.arange(height + 1)).tolist()
    starts, stops = start.tolist(), stop.tolist()
    for y in range(1, height):
        above, here = first[y - 1], first[y]
        while above < first[y] and here < first[y + 1]:
            if starts[above] <= stops[here] and starts[here] <= stops[above]:
                a, b = root(above), root(here)
                parent[max(a, b)] = min(a, b)
            if stops[above] < stops[here]:
                above += 1
            else:
                here += 1
    roots = np.array([root(k) for k in range(row.size)])
    numbers = np.unique(roots, return_inverse=True)[1] + 1
    labels = np.zeros(mask.shape, np.intp)
    labels[mask] = np.repeat(numbers, stop - start)
    return labels, int(numbers.max())
