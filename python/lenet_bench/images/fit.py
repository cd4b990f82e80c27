"""The digit at the size and in the place that MNIST gives it."""

import numpy as np
from numpy.typing import NDArray

from ..network import IMAGE_SIDE
from .planes import NoInkError, Plane, bounds, centre_of_mass, fitted, steepness

BOX = 20  # MNIST fits the digit into this square
FINE = 4  # we shape the strokes at so many times that resolution
_CLOSE = 224  # pixels of the longer side from `zoom` to `scale`


def zoom(picture: Plane, found: Plane) -> tuple[Plane, str]:
    """Cut a small digit out of a large sheet, so that all later steps see it at one size."""
    height, width = picture.shape[:2]
    ratio = height / found.shape[0]
    top, bottom, left, right = bounds(found > 0.5)
    size = max(bottom - top, right - left)
    if size > 0.6 * max(found.shape):
        return fitted(picture, _CLOSE), "the whole picture: the digit fills it"
    room = 0.35 * size + 2
    y0, y1 = max(0, int((top - room) * ratio)), min(height, int((bottom + room) * ratio) + 1)
    x0, x1 = max(0, int((left - room) * ratio)), min(width, int((right + room) * ratio) + 1)
    note = f"columns {x0} to {x1} and rows {y0} to {y1}, where the digit is"
    return fitted(picture[y0:y1, x0:x1], _CLOSE), note


_THIN, _THICK = 2.0, 3.6  # MNIST's strokes in pixels of the 20x20 box, thinnest and thickest
_BLOB = 8.0  # a filled disc or square has 10: no pen wrote it


def scale(cut: Plane) -> Plane:
    """Fit the digit into 20x20 (four times finer here) with strokes of MNIST's width."""
    fine = _boxed(cut)
    if _stroke_width(np.pad(fine, 1)) / FINE > _BLOB:  # a square's sides lie on the box's own
        raise NoInkError
    width = _stroke_width(fine) / FINE
    wanted = min(max(width, _THIN), _THICK)
    if abs(wanted - width) > 0.1:
        fine = _boxed(_swollen(np.pad(fine, 4 * FINE), (wanted - width) * FINE / 2))
    return np.pad(fine, FINE)


def _boxed(cut: Plane) -> Plane:
    """Cropped to the ink, its longer side 20 x FINE."""
    top, bottom, left, right = bounds(cut > 0.5)
    return np.clip(fitted(cut[top:bottom, left:right], BOX * FINE), 0, 1)


def _stroke_width(cover: Plane) -> float:
    """The mean width of the strokes, 2 * area / outline."""
    framed = np.pad(cover, 1)
    return 2 * float(cover.sum()) / max(float(steepness(framed).sum()), 1e-6)


def _swollen(cover: Plane, radius: float) -> Plane:
    """Strokes grown by `radius` pixels on each side; shrunk where it is negative."""
    if radius < 0:
        return 1 - _swollen(1 - cover, -radius)
    reach = int(np.ceil(radius))
    height, width = cover.shape
    padded = np.pad(cover, reach, mode="edge")
    out = cover
    for y in range(-reach, reach + 1):
        for x in range(-reach, reach + 1):
            inside = min(1.0, radius + 0.5 - float(np.hypot(y, x)))  # the disc's edge is soft
            if inside > 0:
                part = padded[reach + y : reach + y + height, reach + x : reach + x + width]
                out = np.maximum(out, part * np.float32(inside))
    return out


def centre(boxed: Plane) -> NDArray[np.float32]:
    """Put the centre of mass in the middle of 28x28."""
    side = IMAGE_SIDE * FINE
    y, x = centre_of_mass(boxed)
    sheet = np.zeros((2 * side, 2 * side), np.float32)
    sheet[: boxed.shape[0], : boxed.shape[1]] = boxed
    down, right = round(side / 2 - 0.5 - y), round(side / 2 - 0.5 - x)
    sheet = np.roll(sheet, (down, right), (0, 1))[:side, :side]
    small = sheet.reshape(IMAGE_SIDE, FINE, IMAGE_SIDE, FINE).mean((1, 3))
    return np.ascontiguousarray(np.clip(small, 0, 1), np.float32)
