"""Photograph-like pictures of digits, made from a seed: what the image tests read.

A digit is ink (coverage 0..1), drawn by a wavering pen or grown from an MNIST image; a scene lays
it on paper, lights it, photographs it and stores it as a file.
"""

import io
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter

Array = NDArray[np.float32]
Color = tuple[float, float, float]


@dataclass(frozen=True)
class Photo:
    """One picture: its file's bytes, its scene and what it shows."""

    digit: int
    scene: str
    content: bytes


# --- the pen ---------------------------------------------------------------------------------

#: How people write each digit: strokes of control points in a unit box (x right, y down); a
#: point given twice is a corner.
GLYPHS: dict[int, list[list[list[tuple[float, float]]]]] = {
    0: [
        [[(0.5, 0), (0.2, 0.2), (0.15, 0.6), (0.4, 1), (0.75, 0.8), (0.8, 0.3), (0.5, 0)]],
        [[(0.5, 0), (0.33, 0.25), (0.3, 0.7), (0.48, 1), (0.67, 0.7), (0.68, 0.25), (0.47, 0.0)]],
        [[(0.6, 0.03), (0.2, 0.1), (0.05, 0.5), (0.3, 1), (0.8, 0.9), (0.95, 0.4), (0.5, 0.0)]],
    ],
    1: [
        [[(0.5, 0), (0.5, 0.5), (0.5, 1)]],
        [[(0.58, 0), (0.5, 0.5), (0.42, 1)]],
        [[(0.34, 0.2), (0.52, 0), (0.52, 0), (0.5, 1)]],
        [[(0.34, 0.2), (0.52, 0), (0.52, 0), (0.5, 1)], [(0.28, 1), (0.74, 1)]],
    ],
    2: [
        [[(0.18, 0.25), (0.35, 0.03), (0.68, 0.05), (0.75, 0.3), (0.5, 0.62), (0.15, 1),
          (0.15, 1), (0.85, 0.98)]],
        [[(0.2, 0.2), (0.45, 0.0), (0.75, 0.15), (0.68, 0.5), (0.4, 0.88), (0.15, 0.95),
          (0.2, 0.78), (0.45, 0.85), (0.6, 0.98), (0.9, 0.9)]],
    ],
    3: [
        [[(0.2, 0.12), (0.5, 0), (0.75, 0.2), (0.62, 0.4), (0.4, 0.47), (0.4, 0.47), (0.7, 0.55),
          (0.8, 0.78), (0.5, 1), (0.15, 0.88)]],
        [[(0.2, 0.03), (0.75, 0.02), (0.75, 0.02), (0.45, 0.4), (0.45, 0.4), (0.75, 0.55),
          (0.75, 0.85), (0.45, 1), (0.15, 0.9)]],
    ],
    4: [
        [[(0.25, 0), (0.15, 0.6), (0.15, 0.6), (0.88, 0.58)], [(0.68, 0.2), (0.62, 1)]],
        [[(0.65, 0), (0.1, 0.68), (0.1, 0.68), (0.9, 0.68)], [(0.65, 0.02), (0.65, 1)]],
        [[(0.22, 0.05), (0.2, 0.5), (0.2, 0.5), (0.7, 0.5)], [(0.72, 0), (0.7, 0.5), (0.7, 1)]],
    ],
    5: [
        [[(0.28, 0.02), (0.2, 0.45), (0.2, 0.45), (0.55, 0.38), (0.8, 0.65), (0.6, 0.97),
          (0.15, 0.9)], [(0.28, 0.03), (0.8, 0.0)]],
        [[(0.8, 0.02), (0.28, 0.03), (0.28, 0.03), (0.22, 0.45), (0.22, 0.45), (0.6, 0.42),
          (0.78, 0.7), (0.5, 1), (0.15, 0.92)]],
    ],
    6: [
        [[(0.7, 0), (0.35, 0.28), (0.2, 0.7), (0.38, 0.99), (0.72, 0.93), (0.77, 0.66),
          (0.5, 0.52), (0.23, 0.72)]],
        [[(0.45, 0), (0.25, 0.4), (0.22, 0.8), (0.45, 1), (0.72, 0.85), (0.6, 0.62), (0.24, 0.75)]],
    ],
    7: [
        [[(0.15, 0.03), (0.85, 0.03), (0.85, 0.03), (0.4, 1)]],
        [[(0.12, 0.05), (0.8, 0.02), (0.8, 0.02), (0.55, 0.5), (0.45, 1)]],
        [[(0.15, 0.03), (0.85, 0.03), (0.85, 0.03), (0.4, 1)], [(0.38, 0.5), (0.82, 0.48)]],
        [[(0.14, 0.18), (0.16, 0.03), (0.16, 0.03), (0.85, 0.03), (0.85, 0.03), (0.45, 1)]],
    ],
    8: [
        [[(0.7, 0.12), (0.42, 0.02), (0.23, 0.22), (0.5, 0.47), (0.78, 0.75), (0.5, 1),
          (0.2, 0.78), (0.5, 0.47), (0.77, 0.22), (0.66, 0.06)]],
        [[(0.5, 0.47), (0.25, 0.25), (0.5, 0), (0.75, 0.25), (0.5, 0.47)],
         [(0.5, 0.47), (0.18, 0.75), (0.5, 1), (0.82, 0.75), (0.5, 0.47)]],
    ],
    9: [
        [[(0.75, 0.18), (0.45, 0.02), (0.2, 0.25), (0.42, 0.48), (0.75, 0.25), (0.75, 0.25),
          (0.73, 1)]],
        [[(0.75, 0.15), (0.45, 0.02), (0.2, 0.25), (0.4, 0.48), (0.74, 0.3), (0.76, 0.2),
          (0.76, 0.6), (0.6, 0.97), (0.25, 0.92)]],
        [[(0.72, 0.12), (0.4, 0.05), (0.25, 0.3), (0.5, 0.45), (0.72, 0.2), (0.72, 0.2),
          (0.5, 1)]],
    ],
}  # fmt: skip


def pen(digit: int, rng: Generator, height: int, width: float) -> Array:
    """The digit written by an unsteady hand: `height` pixels tall, strokes `width` pixels wide."""
    strokes = GLYPHS[digit][rng.integers(len(GLYPHS[digit]))]
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


def grown(image: NDArray[np.uint8], height: int, boldness: float = 0.5) -> Array:
    """An MNIST image as smooth ink `height` pixels tall; a lower boldness thins its strokes."""
    ys, xs = np.nonzero(image > 40)
    cut = Image.fromarray(image[ys.min() : ys.max() + 1, xs.min() : xs.max() + 1])
    framed = Image.new("L", (cut.width + 2, cut.height + 2))
    framed.paste(cut, (1, 1))
    factor = height / cut.height
    size = (max(1, round(framed.width * factor)), max(1, round(framed.height * factor)))
    big = np.asarray(framed.resize(size, Image.Resampling.BICUBIC), np.float32) / 255
    steep = max(2.0, factor / 2)
    return np.clip((big - (1 - boldness)) * steep + 0.5, 0, 1)


def _spline(points: NDArray[np.float64]) -> NDArray[np.float64]:
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


# --- paper, light and camera -----------------------------------------------------------------


def sheet(size: tuple[int, int], color: Color) -> Array:
    """Plain paper, (height, width, 3)."""
    return np.ones((*size, 3), np.float32) * np.array(color, np.float32)


def lay(paper: Array, ink: Array, color: Color, at: tuple[int, int], opacity: float = 1) -> Array:
    """Put ink on the paper with its upper left corner `at` (y, x); what sticks out is cut off."""
    cover = np.zeros(paper.shape[:2], np.float32)
    y, x = at
    top, left = max(y, 0), max(x, 0)
    part = ink[top - y :, left - x :][: cover.shape[0] - top, : cover.shape[1] - left]
    cover[top : top + part.shape[0], left : left + part.shape[1]] = part
    alpha = (cover * opacity)[..., None]
    return np.asarray(paper * (1 - alpha) + np.array(color, np.float32) * alpha, np.float32)


def rule(paper: Array, gap: int, color: Color, rng: Generator, *, squared: bool = False) -> Array:
    """Ruled or squared lines `gap` pixels apart."""
    out = paper.copy()
    wide = max(1, round(gap / rng.uniform(18, 40)))
    strength = rng.uniform(0.4, 0.9)
    for axis in (0, 1) if squared else (0,):
        for start in range(int(rng.integers(gap)), out.shape[axis], gap):
            lines = out[start : start + wide] if axis == 0 else out[:, start : start + wide]
            lines *= 1 - strength
            lines += strength * np.array(color, np.float32)
    return out


def margin_line(paper: Array, color: Color, rng: Generator) -> Array:
    """One vertical line near the left edge."""
    out = paper.copy()
    w = out.shape[1]
    x = int(w * rng.uniform(0.04, 0.12))
    out[:, x : x + max(1, w // 200)] = np.array(color, np.float32)
    return out


def tilted(paper: Array, rng: Generator, degrees: float = 8, keystone: float = 0.05) -> Array:
    """The sheet seen askew: rotated and in perspective, its edges outside the picture."""
    h, w = paper.shape[:2]
    angle = np.deg2rad(rng.uniform(-degrees, degrees))
    corners = np.array([(0, 0), (0, h), (w, h), (w, 0)], float)
    corners += rng.uniform(-keystone, keystone, (4, 2)) * min(h, w)
    centre = np.array([w / 2, h / 2])
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    corners = (corners - centre) @ turn + centre
    pad = max(h, w) // 2
    framed = Image.fromarray(_bytes(np.pad(paper, ((pad, pad), (pad, pad), (0, 0)), "reflect")))
    seen = framed.transform(
        (w, h), Image.Transform.QUAD, tuple((corners + pad).ravel()), Image.Resampling.BICUBIC
    )
    return np.asarray(seen, np.float32) / 255


def gradient(paper: Array, rng: Generator, depth: float) -> Array:
    """Light that falls off across the picture, straight and a little curved."""
    h, w = paper.shape[:2]
    y, x = np.mgrid[-1 : 1 : h * 1j, -1 : 1 : w * 1j]
    a = rng.uniform(0, 2 * np.pi)
    t = (np.cos(a) * x + np.sin(a) * y) / 1.4
    light = 1 - depth * (0.5 + 0.5 * t) - depth * 0.3 * rng.uniform(0, 1) * (x**2 + y**2) / 2
    tint = 1 + rng.normal(0, 0.03, 3) * light[..., None]
    return np.asarray(paper * light[..., None] * tint, np.float32)


def shadow(paper: Array, rng: Generator, depth: float) -> Array:
    """A shadow with a soft edge across the picture: a hand, a phone."""
    h, w = paper.shape[:2]
    y, x = np.mgrid[-1 : 1 : h * 1j, -1 : 1 : w * 1j]
    a = rng.uniform(0, 2 * np.pi)
    t = np.cos(a) * x + np.sin(a) * y + rng.uniform(-0.5, 0.5) + 0.15 * np.sin(3 * x + 2 * y)
    soft = rng.uniform(0.02, 0.2)
    light = 1 - depth / (1 + np.exp(-np.clip(t / soft, -40, 40)))
    return np.asarray(paper * light[..., None], np.float32)


def vignette(paper: Array, depth: float) -> Array:
    """Corners that a cheap lens darkens."""
    h, w = paper.shape[:2]
    y, x = np.mgrid[-1 : 1 : h * 1j, -1 : 1 : w * 1j]
    return np.asarray(paper * (1 - depth * ((x**2 + y**2) / 2) ** 1.5)[..., None], np.float32)


def specks(paper: Array, rng: Generator, count: int, largest: float) -> Array:
    """Dust and dots, up to `largest` pixels across."""
    picture = Image.fromarray(_bytes(paper))
    draw = ImageDraw.Draw(picture)
    h, w = paper.shape[:2]
    for _ in range(count):
        x, y, r = rng.uniform(0, w), rng.uniform(0, h), rng.uniform(0.3, max(0.4, largest / 2))
        shade = int(rng.uniform(0, 150))
        draw.ellipse((x - r, y - r, x + r, y + r), fill=(shade, shade, shade))
    return np.asarray(picture, np.float32) / 255


def fibres(paper: Array, rng: Generator, depth: float) -> Array:
    """Paper's own mottle: noise at a coarse and a fine scale."""
    h, w = paper.shape[:2]
    coarse = Image.fromarray(rng.normal(0, 1, (h // 24 + 2, w // 24 + 2)).astype(np.float32))
    mottle = np.asarray(coarse.resize((w, h), Image.Resampling.BICUBIC))
    fine = rng.normal(0, 0.5, (h, w))
    return np.asarray(paper * (1 + depth * (mottle + fine))[..., None], np.float32)


def camera(paper: Array, rng: Generator, blur: float, noise: float) -> Array:
    """Blur (pixels) and sensor noise (0..1)."""
    out = paper
    if blur > 0.2:
        soft = Image.fromarray(_bytes(out)).filter(ImageFilter.GaussianBlur(blur))
        out = np.asarray(soft, np.float32) / 255
    grain = rng.normal(0, noise, (*out.shape[:2], 1)) + rng.normal(0, noise * 0.6, out.shape)
    return np.asarray(out + grain, np.float32)


def stored(paper: Array, form: str, **options: object) -> bytes:
    """The picture as a file's bytes."""
    file = io.BytesIO()
    picture = Image.fromarray(_bytes(paper))
    if options.pop("grey", False):
        picture = picture.convert("L")
    picture.save(file, form, **options)
    return file.getvalue()


def _bytes(paper: Array) -> NDArray[np.uint8]:
    return np.asarray(np.clip(paper * 255 + 0.5, 0, 255), np.uint8)


# --- scenes ----------------------------------------------------------------------------------

#: Makes ink of a given height whose strokes take a given share of it.
Inker = Callable[[int, float], Array]
Scene = Callable[[Inker, Generator], bytes]

BLACK, WHITE = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
PAPERS: list[Color] = [
    (0.97, 0.97, 0.97), (0.95, 0.93, 0.88), (0.9, 0.92, 0.95), (0.93, 0.9, 0.8), (0.8, 0.8, 0.8),
]  # fmt: skip
INKS: list[Color] = [
    (0.08, 0.08, 0.1), (0.1, 0.15, 0.5), (0.05, 0.05, 0.35), (0.6, 0.08, 0.1), (0.05, 0.35, 0.15),
]  # fmt: skip


def _pick(rng: Generator, colors: list[Color]) -> Color:
    return colors[rng.integers(len(colors))]


def _size(rng: Generator, low: int, high: int) -> tuple[int, int]:
    """A picture's (height, width), portrait to landscape."""
    side = rng.integers(low, high)
    ratio = rng.uniform(0.7, 1.4)
    return int(side * ratio**0.5), int(side / ratio**0.5)


def _placed(
    size: tuple[int, int], ink: Array, rng: Generator, inset: float = 0.04
) -> tuple[int, int]:
    """Somewhere on the sheet, clear of its edges where it can be."""
    at = []
    for whole, part in zip(size, ink.shape, strict=True):
        gap = int(inset * whole)
        at.append(int(rng.integers(gap, max(gap + 1, whole - part - gap))))
    return at[0], at[1]


def _written(
    inker: Inker,
    rng: Generator,
    size: tuple[int, int],
    share: tuple[float, float] = (0.4, 0.8),
    stroke: tuple[float, float] = (0.05, 0.12),
) -> Array:
    """Ink that takes `share` of the picture with strokes of `stroke` of its height."""
    height = max(5, int(size[0] * rng.uniform(*share)))
    ink = inker(height, float(rng.uniform(*stroke)))
    if ink.shape[1] > size[1] * 0.95:
        height = int(height * size[1] * 0.9 / ink.shape[1])
        ink = inker(max(5, height), float(rng.uniform(*stroke)))
    return ink


def drawing(inker: Inker, rng: Generator) -> bytes:
    """A paint program's black on white, with or without smooth edges."""
    size = _size(rng, 60, 500)
    ink = _written(inker, rng, size, (0.35, 0.85), (0.04, 0.18))
    if rng.random() < 0.5:
        ink = (ink > 0.5).astype(np.float32)
    color = _pick(rng, [BLACK, BLACK, *INKS])
    out = lay(sheet(size, WHITE), ink, color, _placed(size, ink, rng))
    return stored(out, str(rng.choice(["PNG", "BMP", "GIF", "TIFF"])))


def tablet(inker: Inker, rng: Generator) -> bytes:
    """A thick white brush on black: the canvas of a demo."""
    size = (side := int(rng.integers(100, 400)), side)
    ink = _written(inker, rng, size, (0.4, 0.85), (0.08, 0.2))
    out = lay(sheet(size, BLACK), ink, WHITE, _placed(size, ink, rng))
    return stored(out, str(rng.choice(["PNG", "JPEG"])), grey=bool(rng.random() < 0.5))


def icon(inker: Inker, rng: Generator) -> bytes:
    """A tiny picture, 12 to 40 pixels, that the digit fills."""
    big = (side := int(rng.integers(12, 40)) * 8, side)
    ink = _written(inker, rng, big, (0.7, 0.9), (0.1, 0.16))
    dark = rng.random() < 0.5
    paper, color = (BLACK, WHITE) if dark else (WHITE, BLACK)
    out = lay(sheet(big, paper), ink, color, _placed(big, ink, rng))
    small = Image.fromarray(_bytes(out)).reduce(8)
    file = io.BytesIO()
    small.convert("L").save(file, "PNG")
    return file.getvalue()


def scan(inker: Inker, rng: Generator) -> bytes:
    """A flatbed scan: even light, specks, now and then the lid's black edge."""
    size = _size(rng, 200, 900)
    ink = _written(inker, rng, size, (0.3, 0.7), (0.04, 0.1))
    out = lay(sheet(size, _pick(rng, PAPERS)), ink, _pick(rng, INKS), _placed(size, ink, rng, 0.1))
    out = specks(out, rng, int(rng.integers(0, 30)), ink.shape[0] * 0.03)
    if rng.random() < 0.4:
        edge = max(1, int(min(size) * rng.uniform(0.01, 0.05)))
        out = out.copy()
        (out[:edge] if rng.random() < 0.5 else out[:, -edge:])[:] = 0.05
    out = camera(out, rng, rng.uniform(0, 1), 0.015)
    return stored(out, "JPEG", quality=int(rng.integers(50, 95)), grey=bool(rng.random() < 0.4))


def photo(inker: Inker, rng: Generator) -> bytes:
    """A phone's photo of a note: uneven light, askew, a little blurred."""
    size = _size(rng, 200, 1400)
    ink = _written(inker, rng, size, (0.25, 0.7), (0.04, 0.12))
    out = lay(sheet(size, _pick(rng, PAPERS)), ink, _pick(rng, INKS), _placed(size, ink, rng, 0.12),
              rng.uniform(0.7, 1))  # fmt: skip
    out = gradient(fibres(tilted(out, rng), rng, 0.01), rng, rng.uniform(0.1, 0.6))
    out = camera(out, rng, rng.uniform(0, ink.shape[0] * 0.012), rng.uniform(0.005, 0.03))
    return stored(out, "JPEG", quality=int(rng.integers(35, 95)))


def shaded(inker: Inker, rng: Generator) -> bytes:
    """A photo with a shadow's edge across it."""
    size = _size(rng, 200, 1000)
    ink = _written(inker, rng, size, (0.3, 0.7), (0.05, 0.12))
    out = lay(sheet(size, _pick(rng, PAPERS)), ink, _pick(rng, INKS), _placed(size, ink, rng, 0.1))
    out = shadow(gradient(tilted(out, rng), rng, 0.3), rng, rng.uniform(0.25, 0.6))
    out = camera(out, rng, rng.uniform(0, 2), rng.uniform(0.005, 0.025))
    return stored(out, "JPEG", quality=int(rng.integers(40, 95)))


def _lined(inker: Inker, rng: Generator, *, squared: bool) -> bytes:
    size = _size(rng, 250, 1000)
    ink = _written(inker, rng, size, (0.25, 0.6), (0.06, 0.12))
    gap = int(ink.shape[0] * (rng.uniform(0.25, 0.8) if squared else rng.uniform(0.5, 1.3)))
    color = _pick(rng, [(0.55, 0.65, 0.85), (0.65, 0.65, 0.65), (0.85, 0.6, 0.6), (0.5, 0.7, 0.8)])
    out = rule(sheet(size, _pick(rng, PAPERS[:4])), max(6, gap), color, rng, squared=squared)
    if not squared and rng.random() < 0.5:
        out = margin_line(out, (0.85, 0.3, 0.35), rng)
    out = lay(out, ink, _pick(rng, INKS), _placed(size, ink, rng, 0.14), rng.uniform(0.8, 1))
    if rng.random() < 0.7:
        out = tilted(out, rng, 6, 0.03)
    out = gradient(out, rng, rng.uniform(0, 0.4))
    out = camera(out, rng, rng.uniform(0, 1.2), rng.uniform(0, 0.02))
    return stored(out, "JPEG", quality=int(rng.integers(50, 95)))


def ruled(inker: Inker, rng: Generator) -> bytes:
    """On ruled paper, at times with a red margin."""
    return _lined(inker, rng, squared=False)


def squared(inker: Inker, rng: Generator) -> bytes:
    """On squared paper."""
    return _lined(inker, rng, squared=True)


def faint(inker: Inker, rng: Generator) -> bytes:
    """A faint blue pen on unevenly lit grey paper."""
    size = _size(rng, 200, 1000)
    ink = _written(inker, rng, size, (0.3, 0.7), (0.03, 0.08))
    grey = rng.uniform(0.55, 0.75)
    color = (grey - rng.uniform(0.15, 0.3), grey - rng.uniform(0.1, 0.2), grey + 0.02)
    out = lay(sheet(size, (grey, grey, grey)), ink, color, _placed(size, ink, rng, 0.1))
    out = gradient(fibres(out, rng, 0.008), rng, rng.uniform(0.3, 0.6))
    if rng.random() < 0.4:
        out = shadow(out, rng, rng.uniform(0.15, 0.35))
    out = camera(out, rng, rng.uniform(0, 1), rng.uniform(0.005, 0.02))
    return stored(out, "JPEG", quality=int(rng.integers(60, 95)))


def pencil(inker: Inker, rng: Generator) -> bytes:
    """A tiny pencil digit on a large sheet."""
    size = _size(rng, 500, 1600)
    ink = inker(int(max(28, size[0] * rng.uniform(0.05, 0.15))), float(rng.uniform(0.05, 0.1)))
    grain = np.clip(rng.normal(0.85, 0.3, ink.shape), 0, 1).astype(np.float32)
    shade = rng.uniform(0.3, 0.55)
    out = lay(sheet(size, _pick(rng, PAPERS)), ink * grain, (shade, shade, shade),
              _placed(size, ink, rng, 0.15))  # fmt: skip
    out = gradient(fibres(out, rng, 0.006), rng, rng.uniform(0, 0.4))
    out = camera(out, rng, rng.uniform(0, 0.8), rng.uniform(0, 0.015))
    return stored(out, "JPEG", quality=int(rng.integers(60, 95)))


def chalk(inker: Inker, rng: Generator) -> bytes:
    """Chalk on a board that was wiped before."""
    size = _size(rng, 200, 1000)
    ink = _written(inker, rng, size, (0.3, 0.7), (0.06, 0.12))
    grain = np.clip(rng.normal(0.75, 0.3, ink.shape), 0, 1).astype(np.float32)
    board = _pick(rng, [(0.12, 0.22, 0.17), (0.1, 0.1, 0.11), (0.2, 0.22, 0.24), (0.1, 0.2, 0.3)])
    out = fibres(sheet(size, board), rng, 0.12)
    color = _pick(rng, [(0.92, 0.92, 0.9), (0.9, 0.85, 0.45), (0.9, 0.6, 0.65)])
    out = lay(out, ink * grain, color, _placed(size, ink, rng, 0.1))
    out = camera(gradient(tilted(out, rng), rng, 0.4), rng, rng.uniform(0.3, 1.5), 0.02)
    return stored(out, "JPEG", quality=int(rng.integers(40, 95)))


def whiteboard(inker: Inker, rng: Generator) -> bytes:
    """A coloured marker on a shining board, with the lamp's glare."""
    size = _size(rng, 250, 1200)
    ink = _written(inker, rng, size, (0.25, 0.65), (0.06, 0.14))
    out = lay(sheet(size, (0.8, 0.82, 0.83)), ink, _pick(rng, INKS), _placed(size, ink, rng, 0.1))
    out = gradient(tilted(out, rng), rng, rng.uniform(0.1, 0.4))
    y, x = np.mgrid[0 : size[0], 0 : size[1]] / max(size)
    spot = np.exp(-((x - rng.random()) ** 2 + (y - rng.random()) ** 2) / rng.uniform(0.01, 0.06))
    out = np.asarray(out + 0.35 * spot[..., None], np.float32)
    out = camera(out, rng, rng.uniform(0, 1.5), 0.012)
    return stored(out, "JPEG", quality=int(rng.integers(50, 95)))


def marker(inker: Inker, rng: Generator) -> bytes:
    """A felt marker so thick that it nearly fills the loops."""
    size = _size(rng, 150, 700)
    ink = _written(inker, rng, size, (0.6, 0.9), (0.14, 0.22))
    out = lay(sheet(size, _pick(rng, PAPERS)), ink, _pick(rng, INKS), _placed(size, ink, rng))
    out = camera(gradient(out, rng, rng.uniform(0, 0.4)), rng, rng.uniform(0, 1.5), 0.01)
    return stored(out, "JPEG", quality=int(rng.integers(50, 95)))


def hairline(inker: Inker, rng: Generator) -> bytes:
    """Strokes of one or two pixels on a picture of hundreds."""
    size = _size(rng, 300, 1400)
    height = int(size[0] * rng.uniform(0.4, 0.8))
    ink = inker(height, rng.uniform(1.0, 2.5) / height)
    ink = ink if ink.shape[1] < size[1] else ink[:, : size[1]]
    out = lay(sheet(size, WHITE), ink, BLACK, _placed(size, ink, rng))
    return stored(out, "PNG")


def desk(inker: Inker, rng: Generator) -> bytes:
    """A white slip photographed on a dark table."""
    size = _size(rng, 300, 1000)
    wood = _pick(rng, [(0.3, 0.2, 0.12), (0.15, 0.15, 0.16), (0.4, 0.3, 0.2)])
    table = fibres(sheet(size, wood), rng, 0.06)
    cut = [int(s * rng.uniform(0.55, 0.9)) for s in size]
    slip = sheet((cut[0], cut[1]), _pick(rng, PAPERS[:4]))
    ink = _written(inker, rng, (cut[0], cut[1]), (0.4, 0.7), (0.06, 0.12))
    slip = lay(slip, ink, _pick(rng, INKS), _placed((cut[0], cut[1]), ink, rng, 0.1))
    y, x = (int(rng.integers(0, s - c + 1)) for s, c in zip(size, cut, strict=True))
    out = table.copy()
    out[y : y + cut[0], x : x + cut[1]] = slip
    out = gradient(tilted(out, rng, 4, 0.0), rng, rng.uniform(0, 0.4))
    return stored(camera(out, rng, rng.uniform(0.3, 1.2), 0.012), "JPEG", quality=80)


def cropped(inker: Inker, rng: Generator) -> bytes:
    """A digit that fills its picture to the edges."""
    height = int(rng.integers(40, 500))
    ink = inker(height, float(rng.uniform(0.06, 0.14)))
    ys, xs = np.nonzero(ink > 0.3)
    ink = ink[ys.min() : ys.max() + 1, xs.min() : xs.max() + 1]
    pad = int(height * rng.choice([0.0, 0.02, 0.05]))
    size = (ink.shape[0] + 2 * pad, max(8, ink.shape[1] + 2 * pad))
    out = lay(sheet(size, _pick(rng, PAPERS)), ink, _pick(rng, INKS), (pad, pad))
    out = camera(gradient(out, rng, rng.uniform(0, 0.3)), rng, rng.uniform(0, 0.8), 0.01)
    return stored(out, "JPEG", quality=int(rng.integers(60, 95)))


def broken(inker: Inker, rng: Generator) -> bytes:
    """A dying pen: gaps in the strokes."""
    size = _size(rng, 150, 600)
    ink = _written(inker, rng, size, (0.4, 0.8), (0.06, 0.12))
    for _ in range(int(rng.integers(1, 3))):
        y = int(ink.shape[0] * rng.uniform(0.2, 0.8))
        ink[y : y + max(2, int(ink.shape[0] * rng.uniform(0.015, 0.04)))] = 0
    out = lay(sheet(size, _pick(rng, PAPERS)), ink, _pick(rng, INKS), _placed(size, ink, rng))
    out = specks(camera(out, rng, 0.5, 0.01), rng, int(rng.integers(0, 8)), ink.shape[0] * 0.03)
    return stored(out, "JPEG", quality=85)


def colored(inker: Inker, rng: Generator) -> bytes:
    """Coloured ink on coloured paper of much the same brightness."""
    size = _size(rng, 150, 600)
    ink = _written(inker, rng, size, (0.4, 0.8), (0.06, 0.14))
    pairs: list[tuple[Color, Color]] = [
        ((0.9, 0.75, 0.3), (0.3, 0.5, 0.9)), ((0.85, 0.5, 0.55), (0.3, 0.55, 0.7)),
        ((0.55, 0.8, 0.55), (0.8, 0.4, 0.6)), ((0.3, 0.45, 0.8), (0.85, 0.8, 0.3)),
        ((0.8, 0.3, 0.25), (0.25, 0.6, 0.3)), ((1.0, 0.95, 0.4), (0.9, 0.4, 0.3)),
    ]  # fmt: skip
    paper, color = pairs[rng.integers(len(pairs))]
    out = lay(sheet(size, paper), ink, color, _placed(size, ink, rng))
    out = camera(gradient(out, rng, rng.uniform(0, 0.4)), rng, rng.uniform(0, 1), 0.01)
    return stored(out, str(rng.choice(["PNG", "JPEG"])))


def transparent(inker: Inker, rng: Generator) -> bytes:
    """Ink on nothing: an alpha channel."""
    size = _size(rng, 80, 500)
    ink = _written(inker, rng, size, (0.4, 0.85), (0.05, 0.16))
    color = _pick(rng, [BLACK, WHITE, *INKS, (0.95, 0.9, 0.5)])
    alpha = lay(sheet(size, BLACK), ink, WHITE, _placed(size, ink, rng))[..., :1]
    hidden = BLACK if rng.random() < 0.5 else WHITE  # what lies under full transparency
    rgb = np.where(alpha > 0, np.array(color, np.float32), np.array(hidden, np.float32))
    file = io.BytesIO()
    rgba = np.dstack([_bytes(rgb.astype(np.float32)), _bytes(alpha)])
    Image.fromarray(rgba).save(file, str(rng.choice(["PNG", "WEBP", "TIFF"])), lossless=True)
    return file.getvalue()


def strip(inker: Inker, rng: Generator) -> bytes:
    """A picture far from square."""
    long, short = int(rng.integers(300, 1200)), int(rng.integers(60, 200))
    size = (short, long) if rng.random() < 0.6 else (long, short)
    ink = inker(int(short * rng.uniform(0.5, 0.7)), float(rng.uniform(0.07, 0.12)))
    out = lay(sheet(size, _pick(rng, PAPERS)), ink, _pick(rng, INKS), _placed(size, ink, rng, 0.05))
    out = camera(gradient(out, rng, rng.uniform(0, 0.4)), rng, 0.5, 0.012)
    return stored(out, "JPEG", quality=80)


def murky(inker: Inker, rng: Generator) -> bytes:
    """Low contrast, much noise, heavy compression."""
    size = _size(rng, 150, 700)
    ink = _written(inker, rng, size, (0.35, 0.75), (0.07, 0.14))
    base = rng.uniform(0.35, 0.75)
    step = rng.uniform(0.12, 0.25) * (-1 if base > 0.5 or rng.random() < 0.5 else 1)
    out = lay(
        sheet(size, (base, base, base)), ink, (base + step,) * 3, _placed(size, ink, rng, 0.1)
    )
    out = camera(gradient(out, rng, 0.2), rng, rng.uniform(0, 1.5), rng.uniform(0.02, 0.05))
    return stored(out, "JPEG", quality=int(rng.integers(20, 60)))


def bitmap(inker: Inker, rng: Generator) -> bytes:
    """One bit a pixel, or sixteen."""
    size = _size(rng, 60, 500)
    ink = _written(inker, rng, size, (0.4, 0.85), (0.06, 0.16))
    cover = lay(sheet(size, BLACK), ink, WHITE, _placed(size, ink, rng))[..., 0]
    cover = cover if rng.random() < 0.3 else 1 - cover
    file = io.BytesIO()
    if rng.random() < 0.5:
        one = Image.fromarray(_bytes(cover)).point(lambda v: 255 * (v > 127), "1")
        one.save(file, str(rng.choice(["PNG", "PPM", "TIFF", "BMP"])))
    else:
        deep = Image.fromarray(np.asarray(cover * rng.uniform(3000, 65535), np.uint16))
        deep.save(file, str(rng.choice(["PNG", "TIFF", "PPM"])))
    return file.getvalue()


SCENES: dict[str, Scene] = {
    scene.__name__: scene
    for scene in (
        drawing, tablet, icon, scan, photo, shaded, ruled, squared, faint, pencil, chalk,
        whiteboard, marker, hairline, desk, cropped, broken, colored, transparent, strip, murky,
        bitmap,
    )
}  # fmt: skip


def photograph(digit: int, scene: str, seed: int, mnist: NDArray[np.uint8] | None = None) -> Photo:
    """One picture of `digit`: in pen strokes, or grown from the MNIST image given."""
    rng = np.random.default_rng([seed, digit])

    def inker(height: int, stroke: float) -> Array:
        if mnist is None:
            return pen(digit, rng, height, max(1.0, height * stroke))
        return grown(mnist, height, float(np.clip(0.25 + stroke * 4, 0.3, 0.7)))

    return Photo(digit, scene, SCENES[scene](inker, rng))
