"""Pictures of digits: those in images/, and MNIST's digits as ink on plain paper (0..1)."""

import io
from pathlib import Path

import numpy as np
from PIL import Image

BLACK, WHITE = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)

IMAGES = Path(__file__).parents[1] / "images"
#: Each ends with the digit that it shows.
SAMPLES = sorted(IMAGES.glob("*-[0-9].*"))


def pen(digit, height):
    """MNIST's own writing of the digit, that many pixels tall and as sharp as a pen's."""
    with Image.open(IMAGES / f"digit-{digit}.png") as image:
        cut = image.crop(image.getbbox())
    width = round(height * cut.width / cut.height)
    large = cut.resize((width, height), Image.Resampling.BICUBIC)
    return np.clip(np.asarray(large, np.float32) / 64 - 1.5, 0, 1)


def sheet(size, color):
    """Plain paper, (height, width, 3)."""
    return np.ones((*size, 3), np.float32) * np.array(color, np.float32)


def lay(paper, ink, color, at):
    """Put ink on the paper with its upper left corner `at` (y, x); what sticks out is cut off."""
    cover = np.zeros(paper.shape[:2], np.float32)
    y, x = at
    part = ink[: cover.shape[0] - y, : cover.shape[1] - x]
    cover[y : y + part.shape[0], x : x + part.shape[1]] = part
    alpha = cover[..., None]
    return np.asarray(paper * (1 - alpha) + np.array(color, np.float32) * alpha, np.float32)


def saved(picture, form="PNG", **options):
    """The file of a picture, or of an array of bytes."""
    file = io.BytesIO()
    image = picture if isinstance(picture, Image.Image) else Image.fromarray(picture)
    image.save(file, form, **options)
    return file.getvalue()
