"""Any picture of a digit -> 28x28 as MNIST made its own.

    decode -> (sheet, margin) -> grey -> zoom -> light -> ink -> digit -> scale -> centre

MNIST cut each digit out of a clean black-and-white form, fitted it into 20x20 pixels and put its
centre of mass in the middle of 28x28. The first five steps make that clean form out of a photo;
`explain` shows every step's picture.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import ImageError
from ..network import IMAGE_SIDE
from .decode import NO_INK, Source, content_of, decode
from .digit import digit
from .fit import centre, scale, zoom
from .ink import check_contrast, ink, light
from .paper import sheet, with_margin
from .planes import SMALL, NoInkError, Plane, bounds, centre_of_mass, fitted, rim
from .view import best_view

OVERVIEW = 320  # pixels of the longer side while looking for the digit


@dataclass(frozen=True)
class Step:
    """One step from a file to the network's input, and its result."""

    name: str
    summary: str
    picture: Plane  # 0 to 1; grey, or colour in the last axis


def read_image(source: Source) -> NDArray[np.float32]:
    """Any picture of one digit as MNIST would have made it: (28, 28), 0 = paper, 1 = ink.

    `source` is a path, a file's bytes or a binary stream. Raises ImageError.
    """
    return explain(source)[-1].picture


def explain(source: Source) -> list[Step]:
    """The steps that `read_image` takes, in order; the last one's picture is its answer."""
    name, content = content_of(source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow warns of odd metadata
        picture = decode(name, content)
    steps = [Step("decode", "the file's picture, upright", picture)]
    ready = as_mnist(picture)
    if ready is not None:
        return [*steps, Step("untouched", "already in MNIST's own format", ready)]
    try:
        paper = sheet(picture)
        if paper is not None:
            picture = paper
            steps.append(Step("sheet", "the sheet of paper, cut out of the darker table", paper))
        roomy = with_margin(picture)
        if roomy is not None:
            picture = roomy
            steps.append(Step("margin", "room made around a digit that fills its picture", roomy))
        overview = fitted(picture, OVERVIEW)
        view = best_view(overview)
        seen = view.of(overview)
        note = view.name + (", inverted: the ink is light" if view.turned else "")
        steps.append(Step("grey", note, seen))
        close, note = zoom(picture, digit(ink(light(seen))))
        plain = view.of(close)
        steps.append(Step("zoom", note, plain))
        flat = light(plain)
        steps.append(Step("light", "the paper's shading divided out: ink on black", flat))
        inked = ink(flat)
        steps.append(Step("ink", "what stands out from the paper and its noise", inked))
        cut = digit(inked)
        steps.append(Step("digit", "the strokes that belong together; specks and edges out", cut))
        if max(picture.shape) > SMALL:  # enlarged pixels are always soft
            check_contrast(flat, cut)
        boxed = scale(cut)
        steps.append(Step("scale", "fitted into 20x20, strokes as wide as a pen's", boxed))
        steps.append(Step("centre", "the centre of mass in the middle of 28x28", centre(boxed)))
    except NoInkError:
        raise ImageError(f"{name}: {NO_INK}") from None
    return steps


def as_mnist(picture: Plane) -> Plane | None:
    """The picture itself if it already is as MNIST makes it, else None.

    All 70,000 of MNIST have a dark rim, a longer side of 18 to 20 and their centre of mass
    within half a pixel of (14, 14); a drawing merely saved as 28x28 has not.
    """
    if picture.shape != (IMAGE_SIDE, IMAGE_SIDE):
        return None
    edge = rim(picture)
    on = picture > 0.13
    if np.mean(edge > 0.13) > 0.1 or not on.any():
        return None
    top, bottom, left, right = bounds(on)
    y, x = centre_of_mass(np.where(on, picture, 0))
    fits = 14 <= max(bottom - top, right - left) <= 22
    return picture if fits and abs(y - 14) <= 2 and abs(x - 14) <= 2 else None
