"""Photograph-like pictures of digits from a seed: written by a wavering pen on paper, lit and
photographed. A digit is ink (coverage 0..1).
"""

import io
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

BLACK, WHITE = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)

#: How people write each digit: strokes of control points in a unit box (x right, y down); a
#: point given twice is a corner.
GLYPHS = {
    0: [[(0.5, 0), (0.2, 0.2), (0.15, 0.6), (0.4, 1), (0.75, 0.8), (0.8, 0.3), (0.5, 0)]],
    1: [[(0.58, 0), (0.5, 0.5), (0.42, 1)]],
    2: [[(0.18, 0.25), (0.35, 0.03), (0.68, 0.05), (0.75, 0.3), (0.5, 0.62), (0.15, 1), (0.15, 1),
         (0.85, 0.98)]],
    3: [[(0.2, 0.12), (0.5, 0), (0.75, 0.2), (0.62, 0.4), (0.4, 0.47), (0.4, 0.47), (0.7, 0.55),
         (0.8, 0.78), (0.5, 1), (0.15, 0.88)]],
    4: [[(0.25, 0), (0.15, 0.6), (0.15, 0.6), (0.88, 0.58)], [(0.68, 0.2), (0.62, 1)]],
    5: [[(0.8, 0.02), (0.28, 0.03), (0.28, 0.03), (0.22, 0.45), (0.22, 0.45), (0.6, 0.42),
         (0.78, 0.7), (0.5, 1), (0.15, 0.92)]],
    6: [[(0.7, 0), (0.35, 0.28), (0.2, 0.7), (0.38, 0.99), (0.72, 0.93), (0.77, 0.66), (0.5, 0.52),
         (0.23, 0.72)]],
    7: [[(0.15, 0.03), (0.85, 0.03), (0.85, 0.03), (0.4, 1)]],
    8: [[(0.7, 0.12), (0.42, 0.02), (0.23, 0.22), (0.5, 0.47), (0.78, 0.75), (0.5, 1),
         (0.2, 0.78), (0.5, 0.47), (0.77, 0.22), (0.66, 0.06)]],
    9: [[(0.75, 0.18), (0.45, 0.02), (0.2, 0.25), (0.42, 0.48), (0.75, 0.25), (0.75, 0.25),
         (0.73, 1)]],
}  # fmt: skip


#: The ones and sevens that most of Europe writes.
EUROPEAN = (
    (1, [[(0.2, 0.45), (0.4, 0.2), (0.62, 0), (0.62, 0), (0.58, 0.5), (0.52, 1)]]),
    (1, [[(0.15, 0.75), (0.4, 0.35), (0.66, 0), (0.66, 0), (0.62, 0.5), (0.6, 1)]]),
    (1, [[(0.3, 0.3), (0.6, 0), (0.6, 0), (0.58, 1)], [(0.3, 1), (0.9, 0.98)]]),
    (7, [[(0.15, 0.03), (0.85, 0.03), (0.85, 0.03), (0.4, 1)], [(0.3, 0.5), (0.85, 0.48)]]),
    (7, [[(0.12, 0.15), (0.15, 0.03), (0.15, 0.03), (0.88, 0.02), (0.88, 0.02), (0.55, 0.5),
          (0.42, 1)], [(0.35, 0.55), (0.8, 0.45)]]),
)  # fmt: skip


def pen(digit, rng, height, width):
    return written(GLYPHS[digit], rng, height, width)


def written(strokes, rng, height, width):
    """The digit written by an unsteady hand: `height` pixels tall, strokes `width` pixels wide."""
    slant, aspect = rng.normal(0.1, 0.12), rng.uniform(0.7, 1.05)
    margin = int(np.ceil(width)) + 2
    scale = 2  # drawn twice as large, then averaged: round, smooth edges
    paths = []
    for stroke in strokes:
        points = np.array(stroke, float) + rng.normal(0, 0.02, (len(stroke), 2))
        path = _spline(points)
        path[:, 0] = (path[:, 0] - 0.5) * aspect + slant * (0.5 - path[:, 1])
        paths.append(path * height)
    low = np.min([p.min(0) for p in paths], 0)
    paths = [(p - low + margin) * scale for p in paths]
    w, h = np.ceil(np.max([p.max(0) for p in paths], 0) + margin * scale).astype(int)
    picture = Image.new("L", (int(w), int(h)))
    draw = ImageDraw.Draw(picture)
    for path in paths:
        pressure = 1 + 0.15 * np.sin(
            np.linspace(0, rng.uniform(2, 9), len(path)) + rng.uniform(0, 6)
        )
        for (x, y), r in zip(path, width * scale / 2 * pressure, strict=True):
            draw.ellipse((x - r, y - r, x + r, y + r), fill=255)
        draw.line([(x, y) for x, y in path], fill=255, width=max(1, round(width * scale * 0.8)))
    picture = picture.reduce(scale)
    return np.asarray(picture, np.float32) / 255


def _spline(points):
    """A Catmull-Rom curve through the points; a doubled point stays a corner."""
    padded = np.vstack([points[:1], points, points[-1:]])
    t = np.linspace(0, 1, 40, endpoint=False)[:, None]
    pieces = []
    for a, b, c, d in zip(padded, padded[1:], padded[2:], padded[3:], strict=False):
        if np.abs(b - c).max() < 0.08 and len(points) > 2:
            pieces.append(b + (c - b) * t)
            continue
        pieces.append(
            0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2
                   + (3 * b - a - 3 * c + d) * t**3)
        )  # fmt: skip
    return np.vstack([*pieces, points[-1:]])


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


def _slope(paper, rng):
    """-1 to 1 or so across the picture, in any direction."""
    h, w = paper.shape[:2]
    y, x = np.mgrid[-1 : 1 : h * 1j, -1 : 1 : w * 1j]
    angle = rng.uniform(0, 2 * np.pi)
    return (np.cos(angle) * x + np.sin(angle) * y)[..., None]


def gradient(paper, rng, depth):
    """Light that falls off across the picture, not all of it white."""
    light = 1 - depth * (0.5 + 0.35 * _slope(paper, rng))
    return np.asarray(paper * light * (1 + rng.normal(0, 0.03, 3) * light), np.float32)


def shadow(paper, rng, depth):
    """A shadow with a soft edge across the picture: a hand, a phone."""
    at = (_slope(paper, rng) + rng.uniform(-0.5, 0.5)) / rng.uniform(0.05, 0.2)
    return np.asarray(paper * (1 - depth / (1 + np.exp(-at))), np.float32)


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


def stored(paper, form, **options):
    file = io.BytesIO()
    Image.fromarray(as_bytes(paper)).save(file, form, **options)
    return file.getvalue()


def as_bytes(paper):
    return np.asarray(np.clip(paper * 255 + 0.5, 0, 255), np.uint8)


def squared(paper, gap, rng):
    """Pale blue squares, `gap` pixels wide."""
    out, wide = paper.copy(), max(1, gap // 25)
    for axis in (0, 1):
        for start in range(int(rng.integers(gap)), out.shape[axis], gap):
            np.moveaxis(out, axis, 0)[start : start + wide] = (0.55, 0.65, 0.85)
    return out


@dataclass(frozen=True)
class Scene:
    """Ink on paper, lit and photographed; a pair is a range to draw from."""

    sides: tuple[int, int] = (250, 1000)  # pixels
    share: tuple[float, float] = (0.3, 0.7)  # the digit's height by the picture's
    stroke: tuple[float, float] = (0.06, 0.12)  # a stroke's width by the digit's height
    paper: tuple[float, float, float] = (0.95, 0.93, 0.88)
    ink: tuple[float, float, float] = (0.1, 0.15, 0.5)
    light: float = 0.4  # how much it falls off
    shadow: float = 0
    askew: bool = False
    squares: bool = False
    grain: float = 0  # how unevenly the pen covers the paper
    mottle: float = 0
    blur: float = 1
    noise: float = 0.015


SCENES = {
    "drawing": Scene((60, 500), (0.35, 0.85), (0.04, 0.18), WHITE, light=0, noise=0),
    "tablet": Scene((100, 400), (0.4, 0.85), (0.08, 0.2), BLACK, WHITE, light=0, noise=0),
    "photo": Scene(light=0.6, askew=True, mottle=0.01, blur=3, noise=0.03),
    "shaded": Scene(askew=True, shadow=0.6),
    "squared": Scene(askew=True, squares=True),
    "pencil": Scene((500, 1600), (0.06, 0.15), ink=(0.4, 0.4, 0.4), grain=0.3, mottle=0.006),
    "chalk": Scene(paper=(0.12, 0.22, 0.17), ink=WHITE, grain=0.3, mottle=0.12),
}


def photograph(digit, name, seed):
    scene, rng = SCENES[name], np.random.default_rng([seed, digit])
    height, width = (int(side) for side in rng.uniform(0.85, 1.15, 2) * rng.integers(*scene.sides))
    ink_height = max(28, int(min(height, width) * rng.uniform(*scene.share)))
    ink = pen(digit, rng, ink_height, max(1.0, ink_height * rng.uniform(*scene.stroke)))
    covered = ink * np.clip(rng.normal(1 - scene.grain, scene.grain, ink.shape), 0, 1)
    paper = fibres(sheet((height, width), scene.paper), rng, scene.mottle)
    if scene.squares:
        paper = squared(paper, int(ink_height * rng.uniform(0.5, 1)), rng)
    gaps = (max(1, whole - part) for whole, part in zip((height, width), ink.shape, strict=True))
    seen = lay(paper, covered, scene.ink, [int(gap * rng.uniform(0.2, 0.8)) for gap in gaps])
    if scene.askew:
        seen = tilted(seen, rng)
    seen = shadow(gradient(seen, rng, scene.light), rng, scene.shadow)
    return stored(camera(seen, rng, rng.uniform(0, scene.blur), scene.noise), "JPEG")
