"""Digits of a printed font, from which quantizers take the ranges of activations.

They are not handwriting, so the test images stay unseen; but the network recognises them with the
same confidence.
"""

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from ..network import CLASSES, IMAGE_SIDE

_COUNT = 200


def digits() -> NDArray[np.float32]:
    """The same images (count, 28, 28) each time, of several sizes, angles and weights."""
    random = np.random.default_rng(0)
    return np.stack([_drawn(number % CLASSES, random) for number in range(_COUNT)])


def _drawn(digit: int, random: np.random.Generator) -> NDArray[np.float32]:
    picture = Image.new("L", (IMAGE_SIDE, IMAGE_SIDE))
    font = ImageFont.load_default(random.uniform(22, 30))
    middle = (IMAGE_SIDE / 2, IMAGE_SIDE / 2)
    bold = int(random.integers(2))
    ImageDraw.Draw(picture).text(middle, str(digit), 255, font, "mm", stroke_width=bold)
    turned = picture.rotate(random.uniform(-15, 15), Image.Resampling.BILINEAR)
    return np.asarray(turned, np.float32) / np.float32(255)
