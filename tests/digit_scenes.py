"""Photograph-like pictures of digits, made from a seed: what the tests of accuracy read.

A scene gets an inker, which makes ink of a height with strokes of a share of it, lays the ink on
paper, lights it, photographs it and stores it as a file.
"""

import io

import numpy as np
from digit_photos import (
    BLACK,
    WHITE,
    as_bytes,
    camera,
    fibres,
    gradient,
    lay,
    margin_line,
    pen,
    rule,
    shadow,
    sheet,
    specks,
    stored,
    tilted,
)
from PIL import Image

PAPERS = [
    (0.97, 0.97, 0.97), (0.95, 0.93, 0.88), (0.9, 0.92, 0.95), (0.93, 0.9, 0.8), (0.8, 0.8, 0.8),
]  # fmt: skip
INKS = [
    (0.08, 0.08, 0.1), (0.1, 0.15, 0.5), (0.05, 0.05, 0.35), (0.6, 0.08, 0.1), (0.05, 0.35, 0.15),
]  # fmt: skip


def _pick(rng, colors):
    return colors[rng.integers(len(colors))]


def _size(rng, low, high):
    """A picture's (height, width), portrait to landscape."""
    side = rng.integers(low, high)
    ratio = rng.uniform(0.7, 1.4)
    return int(side * ratio**0.5), int(side / ratio**0.5)


def _placed(size, ink, rng, inset=0.04):
    """Somewhere on the sheet, clear of its edges where it can be."""
    at = []
    for whole, part in zip(size, ink.shape, strict=True):
        gap = int(inset * whole)
        at.append(int(rng.integers(gap, max(gap + 1, whole - part - gap))))
    return at[0], at[1]


def _written(inker, rng, size, share=(0.4, 0.8), stroke=(0.05, 0.12)):
    """Ink that takes `share` of the picture with strokes of `stroke` of its height."""
    height = max(5, int(size[0] * rng.uniform(*share)))
    ink = inker(height, float(rng.uniform(*stroke)))
    if ink.shape[1] > size[1] * 0.95:
        height = int(height * size[1] * 0.9 / ink.shape[1])
        ink = inker(max(5, height), float(rng.uniform(*stroke)))
    return ink


def drawing(inker, rng):
    """A paint program's black on white, with or without smooth edges."""
    size = _size(rng, 60, 500)
    ink = _written(inker, rng, size, (0.35, 0.85), (0.04, 0.18))
    if rng.random() < 0.5:
        ink = (ink > 0.5).astype(np.float32)
    color = _pick(rng, [BLACK, BLACK, *INKS])
    out = lay(sheet(size, WHITE), ink, color, _placed(size, ink, rng))
    return stored(out, str(rng.choice(["PNG", "BMP", "GIF", "TIFF"])))


def tablet(inker, rng):
    """A thick white brush on black: the canvas of a demo."""
    size = (side := int(rng.integers(100, 400)), side)
    ink = _written(inker, rng, size, (0.4, 0.85), (0.08, 0.2))
    out = lay(sheet(size, BLACK), ink, WHITE, _placed(size, ink, rng))
    return stored(out, str(rng.choice(["PNG", "JPEG"])), grey=bool(rng.random() < 0.5))


def icon(inker, rng):
    """A tiny picture, 12 to 40 pixels, that the digit fills."""
    big = (side := int(rng.integers(12, 40)) * 8, side)
    ink = _written(inker, rng, big, (0.7, 0.9), (0.1, 0.16))
    dark = rng.random() < 0.5
    paper, color = (BLACK, WHITE) if dark else (WHITE, BLACK)
    out = lay(sheet(big, paper), ink, color, _placed(big, ink, rng))
    small = Image.fromarray(as_bytes(out)).reduce(8)
    file = io.BytesIO()
    small.convert("L").save(file, "PNG")
    return file.getvalue()


def scan(inker, rng):
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


def photo(inker, rng):
    """A phone's photo of a note: uneven light, askew, a little blurred."""
    size = _size(rng, 200, 1400)
    ink = _written(inker, rng, size, (0.25, 0.7), (0.04, 0.12))
    out = lay(sheet(size, _pick(rng, PAPERS)), ink, _pick(rng, INKS), _placed(size, ink, rng, 0.12),
              rng.uniform(0.7, 1))  # fmt: skip
    out = gradient(fibres(tilted(out, rng), rng, 0.01), rng, rng.uniform(0.1, 0.6))
    out = camera(out, rng, rng.uniform(0, ink.shape[0] * 0.012), rng.uniform(0.005, 0.03))
    return stored(out, "JPEG", quality=int(rng.integers(35, 95)))


def shaded(inker, rng):
    """A photo with a shadow's edge across it."""
    size = _size(rng, 200, 1000)
    ink = _written(inker, rng, size, (0.3, 0.7), (0.05, 0.12))
    out = lay(sheet(size, _pick(rng, PAPERS)), ink, _pick(rng, INKS), _placed(size, ink, rng, 0.1))
    out = shadow(gradient(tilted(out, rng), rng, 0.3), rng, rng.uniform(0.25, 0.6))
    out = camera(out, rng, rng.uniform(0, 2), rng.uniform(0.005, 0.025))
    return stored(out, "JPEG", quality=int(rng.integers(40, 95)))


def _lined(inker, rng, *, squared):
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


def ruled(inker, rng):
    """On ruled paper, at times with a red margin."""
    return _lined(inker, rng, squared=False)


def squared(inker, rng):
    return _lined(inker, rng, squared=True)


def faint(inker, rng):
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


def pencil(inker, rng):
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


def chalk(inker, rng):
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


def whiteboard(inker, rng):
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


def marker(inker, rng):
    """A felt marker so thick that it nearly fills the loops."""
    size = _size(rng, 150, 700)
    ink = _written(inker, rng, size, (0.6, 0.9), (0.14, 0.22))
    out = lay(sheet(size, _pick(rng, PAPERS)), ink, _pick(rng, INKS), _placed(size, ink, rng))
    out = camera(gradient(out, rng, rng.uniform(0, 0.4)), rng, rng.uniform(0, 1.5), 0.01)
    return stored(out, "JPEG", quality=int(rng.integers(50, 95)))


def hairline(inker, rng):
    """Strokes of one or two pixels on a picture of hundreds."""
    size = _size(rng, 300, 1400)
    height = int(size[0] * rng.uniform(0.4, 0.8))
    ink = inker(height, rng.uniform(1.0, 2.5) / height)
    ink = ink if ink.shape[1] < size[1] else ink[:, : size[1]]
    out = lay(sheet(size, WHITE), ink, BLACK, _placed(size, ink, rng))
    return stored(out, "PNG")


def desk(inker, rng):
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


def cropped(inker, rng):
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


def broken(inker, rng):
    """A dying pen: gaps in the strokes."""
    size = _size(rng, 150, 600)
    ink = _written(inker, rng, size, (0.4, 0.8), (0.06, 0.12))
    for _ in range(int(rng.integers(1, 3))):
        y = int(ink.shape[0] * rng.uniform(0.2, 0.8))
        ink[y : y + max(2, int(ink.shape[0] * rng.uniform(0.015, 0.04)))] = 0
    out = lay(sheet(size, _pick(rng, PAPERS)), ink, _pick(rng, INKS), _placed(size, ink, rng))
    out = specks(camera(out, rng, 0.5, 0.01), rng, int(rng.integers(0, 8)), ink.shape[0] * 0.03)
    return stored(out, "JPEG", quality=85)


def colored(inker, rng):
    """Coloured ink on coloured paper of much the same brightness."""
    size = _size(rng, 150, 600)
    ink = _written(inker, rng, size, (0.4, 0.8), (0.06, 0.14))
    pairs = [
        ((0.9, 0.75, 0.3), (0.3, 0.5, 0.9)), ((0.85, 0.5, 0.55), (0.3, 0.55, 0.7)),
        ((0.55, 0.8, 0.55), (0.8, 0.4, 0.6)), ((0.3, 0.45, 0.8), (0.85, 0.8, 0.3)),
        ((0.8, 0.3, 0.25), (0.25, 0.6, 0.3)), ((1.0, 0.95, 0.4), (0.9, 0.4, 0.3)),
    ]  # fmt: skip
    paper, color = pairs[rng.integers(len(pairs))]
    out = lay(sheet(size, paper), ink, color, _placed(size, ink, rng))
    out = camera(gradient(out, rng, rng.uniform(0, 0.4)), rng, rng.uniform(0, 1), 0.01)
    return stored(out, str(rng.choice(["PNG", "JPEG"])))


def transparent(inker, rng):
    """Ink on nothing: an alpha channel."""
    size = _size(rng, 80, 500)
    ink = _written(inker, rng, size, (0.4, 0.85), (0.05, 0.16))
    color = _pick(rng, [BLACK, WHITE, *INKS, (0.95, 0.9, 0.5)])
    alpha = lay(sheet(size, BLACK), ink, WHITE, _placed(size, ink, rng))[..., :1]
    hidden = BLACK if rng.random() < 0.5 else WHITE  # what lies under full transparency
    rgb = np.where(alpha > 0, np.array(color, np.float32), np.array(hidden, np.float32))
    file = io.BytesIO()
    rgba = np.dstack([as_bytes(rgb.astype(np.float32)), as_bytes(alpha)])
    Image.fromarray(rgba).save(file, str(rng.choice(["PNG", "WEBP", "TIFF"])), lossless=True)
    return file.getvalue()


def strip(inker, rng):
    """A picture far from square."""
    long, short = int(rng.integers(300, 1200)), int(rng.integers(60, 200))
    size = (short, long) if rng.random() < 0.6 else (long, short)
    ink = inker(int(short * rng.uniform(0.5, 0.7)), float(rng.uniform(0.07, 0.12)))
    out = lay(sheet(size, _pick(rng, PAPERS)), ink, _pick(rng, INKS), _placed(size, ink, rng, 0.05))
    out = camera(gradient(out, rng, rng.uniform(0, 0.4)), rng, 0.5, 0.012)
    return stored(out, "JPEG", quality=80)


def murky(inker, rng):
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


def bitmap(inker, rng):
    """One bit a pixel, or sixteen."""
    size = _size(rng, 60, 500)
    ink = _written(inker, rng, size, (0.4, 0.85), (0.06, 0.16))
    cover = lay(sheet(size, BLACK), ink, WHITE, _placed(size, ink, rng))[..., 0]
    cover = cover if rng.random() < 0.3 else 1 - cover
    file = io.BytesIO()
    if rng.random() < 0.5:
        one = Image.fromarray(as_bytes(cover)).point(lambda v: 255 * (v > 127), "1")
        one.save(file, str(rng.choice(["PNG", "PPM", "TIFF", "BMP"])))
    else:
        deep = Image.fromarray(np.asarray(cover * rng.uniform(3000, 65535), np.uint16))
        deep.save(file, str(rng.choice(["PNG", "TIFF", "PPM"])))
    return file.getvalue()


SCENES = {
    scene.__name__: scene
    for scene in (
        drawing, tablet, icon, scan, photo, shaded, ruled, squared, faint, pencil, chalk,
        whiteboard, marker, hairline, desk, cropped, broken, colored, transparent, strip, murky,
        bitmap,
    )
}  # fmt: skip


def photograph(digit, scene, seed):
    rng = np.random.default_rng([seed, digit])

    def inker(height, stroke):
        return pen(digit, rng, height, max(1.0, height * stroke))

    return SCENES[scene](inker, rng)
