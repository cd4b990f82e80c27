"""Any picture of a digit -> 28x28 as MNIST made its own.

Pillow decodes the file here; csrc/images/ does the rest, for the classroom's page too.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import _images
from ..errors import ImageError
from .decode import Plane, Source, content_of, decode

NO_INK = "shows no pen strokes; a picture of one digit was expected"

#: What each step does, in the order of csrc/images/prepare.hpp.
_STEPS = {
    "decode": "the file's picture, upright",
    "untouched": "already in MNIST's own format",
    "sheet": "the sheet of paper, cut out of the darker table",
    "margin": "room made around a digit that fills its picture",
    "grey": "",
    "zoom": "the whole picture: the digit fills it",
    "light": "the paper's shading divided out: ink on black",
    "ink": "what stands out from the paper and its noise",
    "digit": "the strokes that belong together; specks and edges out",
    "scale": "fitted into 20x20, strokes as wide as a pen's",
    "centre": "the centre of mass in the middle of 28x28",
}
_VIEWS = (
    "brightness",
    "red",
    "green",
    "blue",
    "red less green",
    "red less blue",
    "green less blue",
)


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
    steps, found = _images.explain(picture)
    if not found:
        raise ImageError(f"{name}: {NO_INK}")
    return [_step(*step) for step in steps]


def _step(number: int, about: Sequence[int], picture: Plane) -> Step:
    """What is said of a step, with what it was about."""
    name, summary = list(_STEPS.items())[number]
    if name == "grey":
        view, turned = about
        summary = _VIEWS[view] + (", inverted: the ink is light" if turned else "")
    elif about:
        left, right, top, bottom = (f"{place:,}" for place in about)
        summary = f"columns {left} to {right} and rows {top} to {bottom}, where the digit is"
    return Step(name, summary, picture)
