"""Photograph-like pictures of MNIST's digits from a seed: on paper, lit and photographed. A digit
is ink (coverage 0..1).
"""

import io
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageFilter

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


def tilted(paper, rng):
    """The sheet seen askew: rotated and in perspective, its edges outside the picture."""
    h, w = paper.shape[:2]
    angle = np.deg2rad(rng.uniform(-8, 8))
    corners = np.array([(0, 0), (0, h), (w, h), (w, 0)], float)
    corners += rng.uniform(-0.05, 0.05, (4, 2)) * min(h, w)
    centre = np.array([w / 2, h / 2])
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    pad = max(h, w) // 2
    corners = (corners - centre) @ turn + centre + pad
    framed = Image.fromarray(as_bytes(np.pad(paper, ((pad, pad), (pad, pad), (0, 0)), "reflect")))
    form = Image.Transform.QUAD
    seen = framed.transform((w, h), form, tuple(corners.ravel()), Image.Resampling.BICUBIC)
    return np.asarray(seen, np.float32) / 255


def lit(paper, rng, depth, shadow):
    """Light that falls off across the picture, and a shadow with a soft edge: a hand, a phone."""
    height, width = paper.shape[:2]
    y, x = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
    angle = rng.uniform(0, 2 * np.pi)
    slope = (np.cos(angle) * x + np.sin(angle) * y)[..., None]
    light = 1 - depth * (0.5 + 0.35 * slope)
    light = light * (1 + rng.normal(0, 0.03, 3) * light)  # not all of it is white
    edge = (slope + rng.uniform(-0.5, 0.5)) / rng.uniform(0.05, 0.2)
    return np.asarray(paper * light * (1 - shadow / (1 + np.exp(-edge))), np.float32)


def fibres(paper, rng, depth):
    """Paper's own mottle: noise at a coarse and a fine scale."""
    h, w = paper.shape[:2]
    coarse = Image.fromarray(rng.normal(0, 1, (h // 24 + 2, w // 24 + 2)).astype(np.float32))
    mottle = np.asarray(coarse.resize((w, h), Image.Resampling.BICUBIC))
    fine = rng.normal(0, 0.5, (h, w))
    return np.asarray(paper * (1 + depth * (mottle + fine))[..., None], np.float32)


def camera(paper, rng, blur, noise):
    """Blur (pixels) and sensor noise (0..1)."""
    out = paper
    if blur > 0.2:
        soft = Image.fromarray(as_bytes(out)).filter(ImageFilter.GaussianBlur(blur))
        out = np.asarray(soft, np.float32) / 255
    grain = rng.normal(0, noise, (*out.shape[:2], 1)) + rng.normal(0, noise * 0.6, out.shape)
    return np.asarray(out + grain, np.float32)


def saved(picture, form="PNG", **options):
    """The file of a picture, or of an array of bytes."""
    file = io.BytesIO()
    image = picture if isinstance(picture, Image.Image) else Image.fromarray(picture)
    image.save(file, form, **options)
    return file.getvalue()


def stored(paper, form, **options):
    return saved(as_bytes(paper), form, **options)


def as_bytes(paper):
    return np.asarray(np.clip(paper * 255 + 0.5, 0, 255), np.uint8)


def squared(paper, gap, rng):
    """Pale blue squares, `gap` pixels wide."""
    out, wide = paper.copy(), max(1, gap // 25)
    for axis in (0, 1):
        for start in range(int(rng.integers(gap)), out.shape[axis], gap):
            np.moveaxis(out, axis, 0)[start : start + wide] = (0.55, 0.65, 0.85)
    return out


#: What differs from an ordinary photograph.
SCENES: dict[str, dict[str, Any]] = {
    "drawing": {"sides": (60, 500), "share": (0.35, 0.85), "paper": WHITE, "light": 0, "noise": 0},
    "photo": {"light": 0.6, "askew": True, "mottle": 0.01, "blur": 3, "noise": 0.03},
    "shaded": {"askew": True, "shadow": 0.6},
    "squared": {"askew": True, "squares": True},
    "pencil": {
        "sides": (500, 1600),
        "share": (0.06, 0.15),
        "ink": (0.4, 0.4, 0.4),
        "grain": 0.3,
        "mottle": 0.006,
    },
    "chalk": {"paper": (0.12, 0.22, 0.17), "ink": WHITE, "grain": 0.3, "mottle": 0.12},
}


def photograph(digit, name, seed):
    return taken(digit, np.random.default_rng([seed, digit]), **SCENES[name])


def taken(
    digit,
    rng,
    *,
    sides=(250, 1000),  # in pixels, from and to
    share=(0.3, 0.7),  # the digit's height by the picture's, from and to
    paper=(0.95, 0.93, 0.88),
    ink=(0.1, 0.15, 0.5),
    light=0.4,  # how much it falls off
    shadow=0,
    askew=False,
    squares=False,
    grain=0,  # how unevenly the pen covers the paper
    mottle=0,
    blur=1,
    noise=0.015,
):
    """Ink on paper, lit and photographed."""
    height, width = (int(side) for side in rng.uniform(0.85, 1.15, 2) * rng.integers(*sides))
    tall = max(28, int(min(height, width) * rng.uniform(*share)))
    strokes = pen(digit, tall)
    covered = strokes * np.clip(rng.normal(1 - grain, grain, strokes.shape), 0, 1)
    seen = fibres(sheet((height, width), paper), rng, mottle)
    if squares:
        seen = squared(seen, int(tall * rng.uniform(0.5, 1)), rng)
    sizes = zip((height, width), strokes.shape, strict=True)
    gaps = (max(1, whole - part) for whole, part in sizes)
    seen = lay(seen, covered, ink, [int(gap * rng.uniform(0.2, 0.8)) for gap in gaps])
    if askew:
        seen = tilted(seen, rng)
    seen = lit(seen, rng, light, shadow)
    return stored(camera(seen, rng, rng.uniform(0, blur), noise), "JPEG")
