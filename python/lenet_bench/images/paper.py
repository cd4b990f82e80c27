"""The paper that the digit is on: cut out of its table, or given a margin."""

import numpy as np

from .digit import components
from .ink import otsu
from .planes import SMALL, Plane, bounds, fitted, rim, steepness
from .view import BRIGHTNESS


def sheet(picture: Plane) -> Plane | None:
    """The sheet of paper cut out of a darker table, None where there is no table.

    Else the sheet itself, small and bright, would pass for the digit.
    """
    small = BRIGHTNESS.of(fitted(picture, SMALL))
    table, middle, level = _two_tones(small)
    labels, count = components(small > middle)
    if count == 0 or table > 0.75 * level or np.mean(rim(small) > middle) > 0.4:
        return None
    bright = labels == np.argmax(np.bincount(labels.ravel())[1:]) + 1
    top, bottom, left, right = bounds(bright)
    height, width = bottom - top, right - left
    touched = (top == 0, left == 0, bottom == small.shape[0], right == small.shape[1])
    if sum(touched) > 2:
        return None  # a half of the paper that lies in the light
    covers = height * width / small.size
    filled = float(np.mean(bright[top:bottom, left:right]))  # 0.65 in the thickest of digits
    if (
        filled < 0.7
        or covers < 0.15
        or covers > 0.95
        or min(height, width) < 0.3 * max(height, width)
    ):
        return None
    outline = steepness(bright.astype(np.float32))
    if float((outline * steepness(small)).sum() / outline.sum()) < 0.2 * (level - table):
        return None  # soft: light falling off, not a sheet's edge
    inset, ratio = 0.03 * max(height, width), picture.shape[0] / small.shape[0]
    rows = slice(int((top + inset) * ratio), int((bottom - inset) * ratio))
    columns = slice(int((left + inset) * ratio), int((right - inset) * ratio))
    inner = small[int(top + inset) : int(bottom - inset), int(left + inset) : int(right - inset)]
    return picture[rows, columns] if np.mean(inner < middle) > 0.004 else None


def with_margin(picture: Plane) -> Plane | None:
    """Room made around a thick digit that fills its picture, None where there is room.

    Without it there is more ink than paper, and the holes would pass for the digit.
    """
    small = BRIGHTNESS.of(fitted(picture, SMALL))
    dark, middle, light_ = _two_tones(small)
    between = np.abs(small - middle) < 0.25 * (light_ - dark)
    if light_ - dark < 0.2 or np.mean(between) > 0.15:
        return None  # uneven light, not two tones
    bright = small > middle
    around = np.concatenate([bright[0], bright[:, -1], bright[-1, ::-1], bright[::-1, 0]])
    crossings = np.count_nonzero(around != np.roll(around, 1))
    if crossings == 2 or not 0.15 < np.mean(bright) < 0.85:  # a shadow's edge crosses the rim twice
        return None
    edge = rim(fitted(picture, SMALL))
    tone = edge if edge.ndim == 1 else BRIGHTNESS.of(edge[None])[0]
    of_paper = (tone > middle) == (np.mean(around) > 0.5)
    if float(np.ptp(np.percentile(tone[of_paper], (5, 95)))) > 0.25 * (light_ - dark):
        return None  # a shadow or a gradient
    paper = np.median(edge[of_paper], axis=0)
    room = round(0.2 * max(picture.shape[:2]))
    height, width = picture.shape[:2]
    out = np.empty((height + 2 * room, width + 2 * room, *picture.shape[2:]), np.float32)
    out[:] = paper
    out[room : room + height, room : room + width] = picture
    return out


def _two_tones(small: Plane) -> tuple[float, float, float]:
    """The mean of the darker pixels, the middle, and the mean of the lighter ones."""
    counts, edges = np.histogram(small, 64)
    light_ = otsu(counts, edges)
    darker = small < light_
    dark = float(np.mean(small[darker])) if darker.any() else light_
    return dark, (dark + light_) / 2, light_
