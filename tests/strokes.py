"""MNIST's digits as a pen would write them: thinned to lines, and the lines followed."""

import numpy as np
from PIL import Image

_FINE = 4  # times larger, so that small loops stay open
_EDGE = 0.6  # of a pixel's ink
_SKIP = 5  # a pen is seen at every fifth point

#: The eight neighbours, clockwise from the one above.
_AROUND = [(-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1)]


def strokes(image):
    """Polylines of (x, y) in pixels of the 28x28 image."""
    large = (image.shape[1] * _FINE, image.shape[0] * _FINE)
    fine = Image.fromarray(image.astype(np.float32)).resize(large, Image.Resampling.BICUBIC)
    thin = _thinned(np.asarray(fine) > _EDGE * image.max())
    left = {(int(y), int(x)) for y, x in np.argwhere(thin)}
    edges = {frozenset((a, b)) for a in left for b in _near(a, left)}
    lines = []
    while edges:
        ends = [p for p in left if sum(p in edge for edge in edges) == 1]
        line = [ends[0] if ends else next(iter(next(iter(edges))))]
        while nexts := [edge for edge in edges if line[-1] in edge]:
            edges.remove(nexts[0])
            line.append(next(p for p in nexts[0] if p != line[-1]))
        lines.append([*line[:-1:_SKIP], line[-1]])
    lines = lines or [[point, point] for point in left]
    return [[((x + 0.5) / _FINE, (y + 0.5) / _FINE) for y, x in line] for line in lines]


def _near(point, points):
    """Its neighbours; a diagonal one only where no straight way leads there."""
    y, x = point
    for dy, dx in _AROUND:
        other = (y + dy, x + dx)
        if other in points and not (dy and dx and ((y, x + dx) in points or (y + dy, x) in points)):
            yield other


def _thinned(mask):
    """Zhang and Suen's thinning: lines one pixel wide, as connected as before."""
    mask = np.pad(mask, 1).astype(int)
    changed = True
    while changed:
        changed = False
        for step in (0, 1):
            n = [np.roll(mask, (-dy, -dx), (0, 1)) for dy, dx in _AROUND]
            count = sum(n)
            turns = sum((n[i] == 0) & (n[(i + 1) % 8] == 1) for i in range(8))
            first = n[0] * n[2] * n[4] if step == 0 else n[0] * n[2] * n[6]
            second = n[2] * n[4] * n[6] if step == 0 else n[0] * n[4] * n[6]
            off = (mask == 1) & (count >= 2) & (count <= 6) & (turns == 1)
            off &= (first == 0) & (second == 0)
            mask[off] = 0
            changed |= bool(off.any())
    return mask[1:-1, 1:-1] == 1
