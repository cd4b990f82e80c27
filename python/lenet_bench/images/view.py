"""The view of a picture in which the digit stands out: which colours, inverted or not."""

from dataclasses import dataclass, replace

import numpy as np

from .digit import digit
from .ink import ink, levels, light, sharpness, trend
from .planes import SMALL, NoInkError, Plane, blurred, fitted, rim, steepness


@dataclass(frozen=True)
class View:
    """A way to see a picture as dark ink on light paper."""

    name: str
    weights: tuple[float, float, float]
    offset: float = 0.0
    turned: bool = False  # light ink on dark paper, inverted

    def of(self, picture: Plane) -> Plane:
        """The grey picture."""
        if picture.ndim == 3:
            picture = picture @ np.array(self.weights, np.float32) + np.float32(self.offset)
        return 1 - picture if self.turned else picture


BRIGHTNESS = View("brightness", (0.299, 0.587, 0.114))
#: A faint blue pen is as dark in the red channel as a black pen is in brightness. Differences of
#: channels tell colours of equal brightness apart.
_VIEWS = (
    BRIGHTNESS,
    View("red", (1, 0, 0)),
    View("green", (0, 1, 0)),
    View("blue", (0, 0, 1)),
    View("red less green", (0.5, -0.5, 0), 0.5),
    View("red less blue", (0.5, 0, -0.5), 0.5),
    View("green less blue", (0, 0.5, -0.5), 0.5),
)


def best_view(picture: Plane) -> View:
    """The view in which something like a digit stands out most."""
    small = fitted(picture, SMALL)
    best, best_merit = BRIGHTNESS, 0.0
    for view in _VIEWS if picture.ndim == 3 else (BRIGHTNESS,):
        seen = view.of(small)
        rest = seen - trend(seen)
        cubes = rest.astype(np.float64) ** 3 * steepness(rest)  # ink is sharp, shadows are not
        skew = float(cubes.sum() / (np.abs(cubes).sum() + 1e-12))  # 1: the minority is lighter
        for turned, prior in ((False, 1 - skew), (True, 1 + skew)):
            if prior < 0.05:
                continue  # beyond doubt, and half of the time saved
            merit = _merit(1 - seen if turned else seen) * (0.2 + prior)
            merit *= 0.6 if view.offset else 1.0  # JPEG keeps colour coarsely
            if merit > best_merit * (1.15 if best_merit else 1):
                best, best_merit = replace(view, turned=turned), merit
    return best


def _merit(plain: Plane) -> float:
    """How far ink stands out from the paper's unevenness, if it looks like ink."""
    try:
        flat = light(plain)
        inked = ink(flat)
        cut = digit(inked)
        _, level = levels(blurred(flat, 2))
    except NoInkError:
        return 0.0
    paper = flat[flat < level / 2]
    if not paper.size:
        return 0.0
    contrast = level / (float(np.std(paper)) + 0.02)
    covered = float(np.mean(rim(inked) > 0.5))  # paper reaches the rim; ink seldom does
    return contrast * sharpness(flat, cut, level) * (1 - 0.5 * covered)
