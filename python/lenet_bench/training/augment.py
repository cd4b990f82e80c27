"""New handwriting from old: random turns, sizes, slants, pens and contrasts of MNIST's images.

Some ones and sevens are replaced by European ones (strokes.py).

NumPy on whole batches, so that every framework can learn from the very same pixels.
"""

import numpy as np
from numpy.typing import NDArray

from ..choices import Augmentation
from ..network import IMAGE_SIDE
from .strokes import write

Images = NDArray[np.float32]
Labels = NDArray[np.uint8]

_CENTRE = (IMAGE_SIDE - 1) / 2


def augment(
    images: Images, labels: Labels, change: Augmentation, random: np.random.Generator
) -> Images:
    """Another batch (n, 28, 28) within 0..1, each image changed in its own way."""
    images = rewrite(images, labels, change, random)
    images = move(images, change, random)
    images = redraw(images, change, random)
    images = soften(images, change, random)
    return expose(images, change, random)


def rewrite(
    images: Images, labels: Labels, change: Augmentation, random: np.random.Generator
) -> Images:
    """Some of the ones and sevens are written anew, as Europeans write them."""
    images = images.copy()
    chosen = np.isin(labels, (1, 7)) & (random.random(len(labels)) < change.european)
    for number in np.flatnonzero(chosen):
        images[number] = write(labels[number], random)
    return images


def move(images: Images, change: Augmentation, random: np.random.Generator) -> Images:
    """Turn, size, slant and shift: one affine map an image, read back bilinearly."""
    n = len(images)
    angle = np.deg2rad(_either_way(random, n, change.rotation))
    size = 1 + _either_way(random, n, change.scale)
    slant = _either_way(random, n, change.shear)
    down, right = _either_way(random, n, change.shift), _either_way(random, n, change.shift)
    cosine, sine = np.cos(angle) / size, np.sin(angle) / size
    # A pixel (y, x) of the new image comes from here in the old one.
    y, x = np.meshgrid(*2 * [np.arange(IMAGE_SIDE, dtype=np.float32) - _CENTRE], indexing="ij")
    from_y = _each(cosine) * y + _each(slant * cosine - sine) * x + _each(_CENTRE + down)
    from_x = _each(sine) * y + _each(slant * sine + cosine) * x + _each(_CENTRE + right)
    return sample(images, from_y, from_x)


def sample(images: Images, y: Images, x: Images) -> Images:
    """The images' values at fractional coordinates (n, 28, 28); paper outside of the image."""
    side = IMAGE_SIDE + 3  # one pixel of paper before the image, two after
    padded = np.pad(images, ((0, 0), (1, 2), (1, 2))).reshape(-1)
    y, x = (np.clip(axis + np.float32(1), 0, IMAGE_SIDE + 1) for axis in (y, x))
    top, left = np.floor(y), np.floor(x)
    y, x = y - top, x - left
    first = np.arange(len(images), dtype=np.int64) * side * side
    corner = (top * side + left).astype(np.int64) + first[:, None, None]
    upper = padded[corner] * (1 - x) + padded[corner + 1] * x
    lower = padded[corner + side] * (1 - x) + padded[corner + (side + 1)] * x
    result: Images = upper * (1 - y) + lower * y
    return result


def redraw(images: Images, change: Augmentation, random: np.random.Generator) -> Images:
    """Another pen: half of the images become thicker or thinner."""
    pen = random.uniform(-change.thinner, change.thicker, len(images)).astype(np.float32)
    pen *= random.random(len(images)) < 0.5
    thick, thin = np.maximum(pen, 0), np.maximum(-pen, 0)
    grown, shrunk = _neighbours(images, np.maximum), _neighbours(images, np.minimum)
    return images + _each(thick) * (grown - images) + _each(thin) * (shrunk - images)


def soften(images: Images, change: Augmentation, random: np.random.Generator) -> Images:
    """Out of focus: half of the images are blended with their 3x3 binomial blur."""
    blur = random.uniform(0, change.blur, len(images)).astype(np.float32)
    blur *= random.random(len(images)) < 0.5
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    across = padded[:, :, :-2] + 2 * padded[:, :, 1:-1] + padded[:, :, 2:]
    blurred: Images = (across[:, :-2] + 2 * across[:, 1:-1] + across[:, 2:]) / 16
    return images + _each(blur) * (blurred - images)


def expose(images: Images, change: Augmentation, random: np.random.Generator) -> Images:
    """Paler or darker ink: half of the images get another gamma and a fainter black."""
    n = len(images)
    chosen = random.random(n) < 0.5
    gamma = np.exp(_either_way(random, n, change.contrast) * chosen)
    faint = 1 - random.uniform(0, change.contrast, n) * chosen
    # A sum of products of rounded numbers may leave 0..1 by a rounding error.
    images = np.clip(images, 0, 1)
    return _each(faint) * images ** _each(gamma)


def _neighbours(images: Images, choose: np.ufunc) -> Images:
    """The largest, or least, of each pixel and its four neighbours; paper beyond the edge."""
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    across = choose(padded[:, 1:-1, :-2], padded[:, 1:-1, 2:])
    along = choose(padded[:, :-2, 1:-1], padded[:, 2:, 1:-1])
    result: Images = choose(choose(across, along), images)
    return result


def _either_way(random: np.random.Generator, n: int, most: float) -> NDArray[np.float64]:
    return random.uniform(-most, most, n)


def _each(value: NDArray[np.float64] | Images) -> Images:
    """One number an image, in a shape that broadcasts over its pixels."""
    return value.astype(np.float32)[:, None, None]
