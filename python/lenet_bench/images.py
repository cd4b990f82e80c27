"""Any picture of a digit -> 28x28 as MNIST made its own.

    decode -> (sheet, margin) -> grey -> zoom -> light -> ink -> digit -> scale -> centre

MNIST cut each digit out of a clean black-and-white form, fitted it into 20x20 pixels and put its
centre of mass in the middle of 28x28. The first five steps make that clean form out of a photo;
`explain` shows every step's picture.
"""

import io
import os
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from .errors import ImageError
from .network import IMAGE_SIDE

if TYPE_CHECKING:
    from PIL.Image import Image

Source = str | os.PathLike[str] | bytes | BinaryIO
Plane = NDArray[np.float32]  # (height, width), or (height, width, 3) where it is a colour picture
Mask = NDArray[np.bool_]

LARGEST_FILE = 200 << 20  # bytes
LARGEST_PICTURE = 50_000_000  # pixels; a 12-megapixel photo is a quarter of it
_TOO_MANY = f"too many pixels; up to {LARGEST_PICTURE // 1_000_000} megapixels are read"
_NO_INK = "shows no ink; a picture of one digit was expected"
BOX = 20  # MNIST fits the digit into this square ...
FINE = 4  # ... and we shape the strokes in one so many times finer


@dataclass(frozen=True)
class Step:
    """One step of the way from a file to the network's input, and what came out of it."""

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
    name, content = _read(source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow warns of odd metadata, which no reader can mend
        picture = _decode(name, content)
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
        overview = _fitted(picture, _OVERVIEW)
        view = best_view(overview)
        seen = view.of(overview)
        note = view.name + (", turned over: the ink is light" if view.turned else "")
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
        if max(picture.shape) > _SMALL:  # enlarged pixels are always soft
            _check_contrast(flat, cut)
        boxed = scale(cut)
        steps.append(Step("scale", "fitted into 20x20, strokes as wide as a pen's", boxed))
        steps.append(Step("centre", "the centre of mass in the middle of 28x28", centre(boxed)))
    except _NoInkError:
        raise ImageError(f"{name}: {_NO_INK}") from None
    return steps


# --- decode ----------------------------------------------------------------------------------

#: How each format's files begin -> Pillow's name and module for it.
_FORMATS: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG", "Png"),
    (b"\xff\xd8\xff", "Jpeg"),
    (b"GIF8", "Gif"),
    (b"BM", "Bmp"),
    (b"II*\x00", "Tiff"),
    (b"MM\x00*", "Tiff"),
    (b"RIFF", "WebP"),
    *((b"P%d" % kind, "Ppm") for kind in range(1, 7)),
)
_WIDEST = 2048  # pixels of the longer side that are kept: the smallest digits need no more


def _read(source: Source) -> tuple[str, bytes]:
    """What to call the source in a message, and its bytes."""
    if isinstance(source, bytes):
        name, content = "the image", source
    elif isinstance(source, str | os.PathLike):
        name = os.fspath(source)
        try:
            if Path(name).is_dir():
                raise ImageError(f"{name}: expected a picture, found a directory")
            with Path(name).open("rb") as file:
                content = file.read(LARGEST_FILE + 1)
        except FileNotFoundError:
            raise ImageError(f"{name}: no such file") from None
        except PermissionError:
            raise ImageError(f"{name}: no permission to read it") from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ImageError(f"{name}: cannot be read: {reason}") from None
    else:
        name = str(getattr(source, "name", "the image"))
        content = source.read(LARGEST_FILE + 1)
    if not content:
        raise ImageError(f"{name}: the file is empty")
    if len(content) > LARGEST_FILE:
        raise ImageError(f"{name}: larger than {LARGEST_FILE >> 20} MiB, too large for a picture")
    return name, content


def _decode(name: str, content: bytes) -> Plane:
    from importlib import import_module

    from PIL import Image, UnidentifiedImageError

    kind = next((kind for magic, kind in _FORMATS if content.startswith(magic)), None)
    if kind is None:
        raise ImageError(f"{name}: not a picture; PNG, JPEG, PNM, GIF, BMP, TIFF and WebP are read")
    try:
        import_module(f"PIL.{kind}ImagePlugin")  # this one only: all of them take 50 ms to import
        with Image.open(io.BytesIO(content), formats=[kind.upper()]) as image:
            width, height = image.size
            if width * height > LARGEST_PICTURE:
                raise ImageError(f"{name}: {_TOO_MANY}; it has {width} x {height}")
            if width * height == 0:
                raise ImageError(f"{name}: has no pixels")
            image.draft(None, (_WIDEST, _WIDEST))  # a JPEG is decoded at the size that is needed
            image.load()
            return _upright(image)
    except ImageError:
        raise
    except _NoInkError:
        raise ImageError(f"{name}: {_NO_INK}") from None
    except Image.DecompressionBombError:  # Pillow's own limit, 3.5 times ours
        raise ImageError(f"{name}: {_TOO_MANY}") from None
    except UnidentifiedImageError:
        raise ImageError(f"{name}: begins like a {kind.upper()} picture, but is none") from None
    except Exception as error:  # Pillow's plugins raise nearly anything on damaged files
        raise ImageError(f"{name}: damaged or cut short: {error or type(error).__name__}") from None


def _upright(image: "Image") -> Plane:
    """The first frame as grey or colour floats, upright, its transparent parts filled."""
    orientation = image.getexif().get(0x0112, 1)
    deep = image.mode.startswith("I") or image.mode == "F"
    if deep:  # 16 bits or more: whole range used, whatever it is
        values = np.asarray(image, np.float32)
        values = np.nan_to_num(values[:: _stride(image), :: _stride(image)], posinf=0, neginf=0)
        plane = stretched(values)
        return _turned(plane, orientation)
    if image.mode in ("LA", "PA", "La", "RGBa") or "transparency" in image.info:
        image = image.convert("RGBA")
    elif image.mode not in ("L", "RGB", "RGBA"):
        image = image.convert("L" if image.mode == "1" else "RGB")
    factor = _stride(image)
    if factor > 1:
        image = image.reduce(factor)
    plane = np.asarray(image, np.float32) / np.float32(255)
    if plane.ndim == 3 and plane.shape[2] == 4:
        plane = on_paper(plane[..., :3], plane[..., 3])
    if plane.ndim == 3 and (plane == plane[..., :1]).all():
        plane = plane[..., 0]
    return _turned(plane, orientation)


def _stride(image: "Image") -> int:
    return max(1, -(-max(image.size) // _WIDEST))


def _turned(plane: Plane, orientation: int) -> Plane:
    """Undo the camera's turn: EXIF's orientation, 1 to 8."""
    if orientation in (5, 6, 7, 8):
        plane = np.swapaxes(plane, 0, 1)
    if orientation in (2, 3, 6, 7):
        plane = plane[:, ::-1]
    if orientation in (3, 4, 7, 8):
        plane = plane[::-1]
    return np.ascontiguousarray(plane)


def stretched(values: Plane) -> Plane:
    """Samples of any range (12 bits in 16, floats) as 0 to 1."""
    low, high = float(values.min()), float(values.max())
    return np.asarray((values - low) / ((high - low) or 1.0), np.float32)


def on_paper(color: Plane, alpha: Plane) -> Plane:
    """Lay a transparent picture on paper: white, or black where its ink is light."""
    opaque = alpha > 0.5
    if not opaque.any():
        raise _NoInkError
    if opaque.all():
        return color
    grey = _BRIGHTNESS.of(color)
    seen = grey[opaque]
    if float(np.ptp(np.percentile(seen, (5, 95)))) > 0.3 and opaque.mean() > 0.5:
        paper = np.median(color[opaque], axis=0)  # a whole photo with its corners cut off
    else:
        paper = np.full(3, 1.0 if np.median(seen) < 0.5 else 0.0)
    return np.asarray(color * alpha[..., None] + paper * (1 - alpha[..., None]), np.float32)


# --- MNIST's own -----------------------------------------------------------------------------


def as_mnist(picture: Plane) -> Plane | None:
    """The picture itself where it already is what MNIST makes, else None.

    All 70,000 of MNIST have a dark rim, a longer side of 18 to 20 and their centre of mass
    within half a pixel of (14, 14); a drawing merely saved as 28x28 has not.
    """
    if picture.shape != (IMAGE_SIDE, IMAGE_SIDE):
        return None
    rim = _rim(picture)
    on = picture > 0.13
    if np.mean(rim > 0.13) > 0.1 or not on.any():
        return None
    top, bottom, left, right = _bounds(on)
    y, x = _centre_of_mass(np.where(on, picture, 0))
    fits = 14 <= max(bottom - top, right - left) <= 22
    return picture if fits and abs(y - 14) <= 2 and abs(x - 14) <= 2 else None


# --- sheet -----------------------------------------------------------------------------------


def sheet(picture: Plane) -> Plane | None:
    """The sheet of paper cut out of a darker table, None where there is no table.

    Else the sheet itself, small and bright, would pass for the digit.
    """
    small = _BRIGHTNESS.of(_fitted(picture, _SMALL))
    table, middle, level = _two_tones(small)
    labels, count = _components(small > middle)
    if count == 0 or table > 0.75 * level or np.mean(_rim(small) > middle) > 0.4:
        return None
    bright = labels == np.argmax(np.bincount(labels.ravel())[1:]) + 1
    top, bottom, left, right = _bounds(bright)
    height, width = bottom - top, right - left
    covers = height * width / small.size
    filled = float(np.mean(bright[top:bottom, left:right]))  # 0.65 in the thickest of digits
    if (
        filled < 0.7
        or covers < 0.15
        or covers > 0.95
        or min(height, width) < 0.3 * max(height, width)
    ):
        return None
    outline = _steepness(bright.astype(np.float32))
    if float((outline * _steepness(small)).sum() / outline.sum()) < 0.2 * (level - table):
        return None  # soft: light falling off, not a sheet's edge
    inset, ratio = 0.03 * max(height, width), picture.shape[0] / small.shape[0]
    rows = slice(int((top + inset) * ratio), int((bottom - inset) * ratio))
    columns = slice(int((left + inset) * ratio), int((right - inset) * ratio))
    inner = small[int(top + inset) : int(bottom - inset), int(left + inset) : int(right - inset)]
    return picture[rows, columns] if np.mean(inner < middle) > 0.004 else None


def with_margin(picture: Plane) -> Plane | None:
    """Room made around a thick digit that fills its picture, None where there is room.

    Without it there is more ink than paper, and the holes would pass for the digit.
    """
    small = _BRIGHTNESS.of(_fitted(picture, _SMALL))
    dark, middle, light_ = _two_tones(small)
    between = np.abs(small - middle) < 0.25 * (light_ - dark)
    if light_ - dark < 0.2 or np.mean(between) > 0.15:
        return None  # uneven light, not two tones
    bright = small > middle
    around = np.concatenate([bright[0], bright[:, -1], bright[-1, ::-1], bright[::-1, 0]])
    crossings = np.count_nonzero(around != np.roll(around, 1))
    if crossings == 2 or not 0.15 < np.mean(bright) < 0.85:  # a shadow's edge crosses the rim twice
        return None
    rim = _rim(_fitted(picture, _SMALL))
    tone = rim if rim.ndim == 1 else _BRIGHTNESS.of(rim[None])[0]
    of_paper = (tone > middle) == (np.mean(around) > 0.5)
    if float(np.ptp(np.percentile(tone[of_paper], (5, 95)))) > 0.25 * (light_ - dark):
        return None  # a shadow or a gradient
    paper = np.median(rim[of_paper], axis=0)
    room = round(0.2 * max(picture.shape[:2]))
    height, width = picture.shape[:2]
    out = np.empty((height + 2 * room, width + 2 * room, *picture.shape[2:]), np.float32)
    out[:] = paper
    out[room : room + height, room : room + width] = picture
    return out


def _two_tones(small: Plane) -> tuple[float, float, float]:
    """The mean of the darker pixels, the middle, and the mean of the lighter ones."""
    counts, edges = np.histogram(small, 64)
    light_ = _otsu(counts.astype(float), (edges[:-1] + edges[1:]) / 2)
    darker = small < light_
    dark = float(np.mean(small[darker])) if darker.any() else light_
    return dark, (dark + light_) / 2, light_


# --- grey ------------------------------------------------------------------------------------

_OVERVIEW = 320  # pixels of the longer side while looking for the digit
_CLOSE = 224  # and while looking at it
_SMALL = 96  # enough to judge contrast and light


@dataclass(frozen=True)
class View:
    """A way to see a picture as dark ink on light paper."""

    name: str
    weights: tuple[float, float, float]
    offset: float = 0.0
    turned: bool = False  # light ink on dark paper, turned over

    def of(self, picture: Plane) -> Plane:
        """The grey picture."""
        if picture.ndim == 3:
            picture = picture @ np.array(self.weights, np.float32) + np.float32(self.offset)
        return 1 - picture if self.turned else picture


_BRIGHTNESS = View("brightness", (0.299, 0.587, 0.114))
#: A faint blue pen is in red what a black one is in brightness; the differences see colours of
#: one brightness apart.
_VIEWS = (
    _BRIGHTNESS,
    View("red", (1, 0, 0)),
    View("green", (0, 1, 0)),
    View("blue", (0, 0, 1)),
    View("red less green", (0.5, -0.5, 0), 0.5),
    View("red less blue", (0.5, 0, -0.5), 0.5),
    View("green less blue", (0, 0.5, -0.5), 0.5),
)


def best_view(picture: Plane) -> View:
    """The view in which something like a digit stands out most."""
    small = _fitted(picture, _SMALL)
    best, best_merit = _BRIGHTNESS, 0.0
    for view in _VIEWS if picture.ndim == 3 else (_BRIGHTNESS,):
        seen = view.of(small)
        rest = seen - _trend(seen)
        cubes = rest.astype(np.float64) ** 3 * _steepness(rest)  # ink is sharp, shadows are not
        skew = float(cubes.sum() / (np.abs(cubes).sum() + 1e-12))  # 1: the minority is lighter
        for turned, prior in ((False, 1 - skew), (True, 1 + skew)):
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
        _, level = _levels(_blurred(flat, 2))
    except _NoInkError:
        return 0.0
    paper = flat[flat < level / 2]
    if not paper.size:
        return 0.0
    contrast = level / (float(np.std(paper)) + 0.02)
    rim = float(np.mean(_rim(inked) > 0.5))  # paper reaches the rim; ink seldom does
    return contrast * _sharpness(flat, cut, level) * (1 - 0.5 * rim)


def _rim(plane: NDArray[Any]) -> NDArray[Any]:
    """The outermost pixels."""
    return np.concatenate([plane[0], plane[-1], plane[:, 0], plane[:, -1]])


def _sharpness(flat: Plane, cut: Plane, level: float) -> float:
    """How steep the outline is, 0 to 1: ink is sharper than the edges of shadows and glare."""
    outline, steepness = _steepness(cut), _steepness(flat)
    return min(1.0, 2.5 * float((outline * steepness).sum() / max(outline.sum(), 1e-6)) / level)


def _steepness(plane: Plane) -> Plane:
    down, across = np.gradient(plane)
    return np.asarray(np.hypot(down, across), np.float32)


# --- zoom ------------------------------------------------------------------------------------


def zoom(picture: Plane, found: Plane) -> tuple[Plane, str]:
    """Cut a small digit out of a large sheet, so that all later steps see it at one size."""
    height, width = picture.shape[:2]
    ratio = height / found.shape[0]
    top, bottom, left, right = _bounds(found > 0.5)
    size = max(bottom - top, right - left)
    if size > 0.6 * max(found.shape):
        return _fitted(picture, _CLOSE), "the whole picture: the digit fills it"
    room = 0.35 * size + 2
    y0, y1 = max(0, int((top - room) * ratio)), min(height, int((bottom + room) * ratio) + 1)
    x0, x1 = max(0, int((left - room) * ratio)), min(width, int((right + room) * ratio) + 1)
    note = f"columns {x0} to {x1} and rows {y0} to {y1}, where the digit is"
    return _fitted(picture[y0:y1, x0:x1], _CLOSE), note


def _fitted(picture: Plane, side: int) -> Plane:
    """The picture with its longer side `side` pixels."""
    height, width = picture.shape[:2]
    factor = side / max(height, width)
    return _resized(picture, max(3, round(height * factor)), max(3, round(width * factor)))


def _resized(picture: Plane, height: int, width: int) -> Plane:
    from PIL import Image

    if picture.ndim == 3:
        return np.dstack([_resized(picture[..., c], height, width) for c in range(3)])
    if picture.shape == (height, width):
        return picture
    shrinks = height < picture.shape[0]
    filter_ = Image.Resampling.BOX if shrinks else Image.Resampling.BICUBIC
    image = Image.fromarray(np.ascontiguousarray(picture))
    return np.asarray(image.resize((width, height), filter_), np.float32)


# --- light -----------------------------------------------------------------------------------


_REACH = 0.16  # of the longer side: a window of twice it is wider than any stroke


def light(plain: Plane) -> Plane:
    """Divide the paper's own brightness out: 0 = paper, towards 1 = ink.

    The paper is what a closing leaves: bright things, and dark ones wider than any stroke. So
    gradients and the edges of shadows go, which a blurred background would leave as ghosts.
    """
    height, width = plain.shape
    small = _blurred(_fitted(plain, _SMALL))
    trend = np.maximum(_trend(small), 0.05)
    reach = max(3, min(round(_REACH * max(small.shape)), round(0.45 * min(small.shape))))
    paper = _lowest(_highest(np.asarray(small / trend, np.float32), reach), reach) * trend
    paper = _resized(_blurred(paper), height, width)
    return np.asarray(1 - plain / np.maximum(paper, 0.02), np.float32)


def _trend(seen: Plane) -> Plane:
    """The light's slow course over the paper: a quadratic through the majority of the pixels."""
    height, width = seen.shape
    y, x = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j].reshape(2, -1)
    terms = np.stack([np.ones_like(x), x, y, x * x, x * y, y * y], -1)
    values = seen.reshape(-1).astype(np.float64)
    rest = values - np.median(values)
    fit = values
    for _ in range(6):
        spread = 1.5 * np.median(np.abs(rest)) + 0.01
        weight = 1 / (1 + (rest / spread) ** 2) ** 2  # what lies far off is ink and has no say
        scaled = terms * weight[:, None]
        fit = terms @ np.linalg.solve(scaled.T @ terms + 1e-6 * np.eye(6), scaled.T @ values)
        rest = values - fit
    return np.asarray(fit.reshape(height, width), np.float32)


def _highest(plane: Plane, reach: int) -> Plane:
    """The maximum over a square of 2 reach + 1, by doubling: O(log reach)."""
    for axis in (0, 1):
        padded = np.pad(
            plane,
            [(reach, reach) if a == axis else (0, 0) for a in (0, 1)],
            constant_values=-np.inf,
        )
        padded = np.moveaxis(padded, axis, 0)
        done, size = 1, 2 * reach + 1
        while done < size:
            step = min(done, size - done)
            padded = np.maximum(padded[:-step], padded[step:])
            done += step
        plane = np.moveaxis(padded, 0, axis)
    return np.ascontiguousarray(plane)


def _lowest(plane: Plane, reach: int) -> Plane:
    return -_highest(-plane, reach)


def _blurred(plane: Plane, times: int = 1) -> Plane:
    """Averaged with its neighbours by 1-2-1 in both directions."""
    for _ in range(times):
        p = np.pad(plane, 1, mode="edge")
        p = p[:-2] + 2 * p[1:-1] + p[2:]
        plane = (p[:, :-2] + 2 * p[:, 1:-1] + p[:, 2:]) / np.float32(16)
    return np.asarray(plane, np.float32)


# --- ink -------------------------------------------------------------------------------------


class _NoInkError(Exception):
    """Nothing stands out from the paper."""


def ink(flat: Plane) -> Plane:
    """Coverage by ink, 0 to 1: half the strokes' own strength is their edge."""
    soft = _blurred(flat, 2)
    _, level = _levels(soft)
    return np.asarray(np.clip((soft / level - 0.3) / 0.4, 0, 1), np.float32)


def _levels(flat: Plane) -> tuple[float, float]:
    """How strong the paper's noise gets, and how strong the ink is."""
    low, middle = (float(q) for q in np.quantile(flat, (0.05, 0.25)))  # paper, however much ink
    floor = max(middle, 0.0) + 6 * (middle - low) + 0.015  # five standard deviations above it
    above = flat[flat > floor]
    if above.size == 0:
        raise _NoInkError
    counts, edges = np.histogram(np.minimum(above, 1), 64, (0.0, 1.0))  # resizing overshoots
    return floor, _otsu(counts.astype(float), (edges[:-1] + edges[1:]) / 2)


def _otsu(counts: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    """The mean of the upper of two classes, split where they differ most."""
    below = np.cumsum(counts)[:-1]
    above = counts.sum() - below
    sums = np.cumsum(counts * values)
    low = sums[:-1] / np.maximum(below, 1)
    high = (sums[-1] - sums[:-1]) / np.maximum(above, 1)
    cut = int(np.argmax(below * above * (high - low) ** 2))
    return float(high[cut] if above[cut] else sums[-1] / counts.sum())


# --- digit -----------------------------------------------------------------------------------


def digit(inked: Plane) -> Plane:
    """Keep the strokes that make up the digit."""
    strokes = inked > 0.5
    reach = max(1, round(0.012 * max(inked.shape)))  # a dying pen's gaps are no wider than twice it
    labels, count = _components(_highest(strokes.astype(np.float32), reach) > 0)
    if count == 0:
        raise _NoInkError
    labels = np.where(inked > 0, labels, 0)
    parts = _parts(labels, inked, count)
    parts = [part for part in parts if not _is_box(part, parts, labels)]
    main = max(parts, key=lambda part: part.merit)
    kept, size = {main.number}, main.size
    grew = True
    while grew:
        near = [
            part
            for part in parts
            if part.number not in kept
            and part.mass > 0.04 * main.mass
            and part.rim < 0.12
            and any(part.gap(other) < 0.2 * size for other in parts if other.number in kept)
        ]
        kept |= {part.number for part in near}
        grew = bool(near)
    return np.where(np.isin(labels, list(kept)), inked, np.float32(0))


@dataclass(frozen=True)
class _Part:
    """A connected piece of ink."""

    number: int
    mass: float
    box: tuple[int, int, int, int]  # top, bottom, left, right
    rim: float  # the share of the picture's rim that it covers
    merit: float  # how likely it is the digit, or the greatest part of it

    @property
    def size(self) -> int:
        top, bottom, left, right = self.box
        return max(bottom - top, right - left)

    def gap(self, other: "_Part") -> int:
        """Pixels between the two boxes, 0 where they overlap."""
        top, bottom, left, right = self.box
        top2, bottom2, left2, right2 = other.box
        return max(top - bottom2, top2 - bottom, left - right2, left2 - right, 0)


def _is_box(part: _Part, parts: list[_Part], labels: NDArray[np.intp]) -> bool:
    """Whether this is a printed box around the digit: straight sides, and other ink inside."""
    top, bottom, left, right = part.box
    inside = any(
        top < p.box[0] and p.box[1] < bottom and left < p.box[2] and p.box[3] < right
        for p in parts
        if p.mass > 0.1 * part.mass and p.size > 0.2 * part.size
    )
    if not inside:
        return False
    piece = labels[top:bottom, left:right] == part.number
    deep = max(1, round(0.1 * part.size))
    sides = (
        piece[:deep].any(0),
        piece[-deep:].any(0),
        piece[:, :deep].any(1),
        piece[:, -deep:].any(1),
    )
    return sum(float(np.mean(side)) > 0.8 for side in sides) >= 3


def _parts(labels: NDArray[np.intp], inked: Plane, count: int) -> list[_Part]:
    height, width = labels.shape
    mass = np.bincount(labels.ravel(), inked.ravel(), count + 1)
    rim = _rim(labels)
    on_rim = np.bincount(rim, minlength=count + 1) / rim.size
    parts = []
    for number in range(1, count + 1):
        if mass[number] < 0.01 * mass[1:].max():
            continue
        top, bottom, left, right = box = _bounds(labels == number)
        off = np.hypot((top + bottom) / height - 1, (left + right) / width - 1) / 2
        merit = mass[number] ** 0.5 * (1.2 - off) * (0.05 if on_rim[number] > 0.12 else 1.0)
        parts.append(_Part(number, float(mass[number]), box, float(on_rim[number]), float(merit)))
    return parts


def _check_contrast(flat: Plane, cut: Plane) -> None:
    """Raise _NoInkError where what was found is only the paper's own mottle.

    That is soft and hardly stronger than the rest of the paper. Digits are
    never both.
    """
    soft = _blurred(flat, 2)
    ink_, paper = soft[cut > 0.5], soft[cut == 0]
    if not ink_.size or not paper.size:
        return
    middle, most = (float(q) for q in np.quantile(paper, (0.5, 0.99)))
    stands_out = (float(np.mean(ink_)) - middle) / (most - middle + 0.003)
    if stands_out < 3.2 and _sharpness(soft, cut, _levels(soft)[1]) < 0.28:
        raise _NoInkError


def _components(mask: Mask) -> tuple[NDArray[np.intp], int]:
    """Label the connected parts (8 neighbours) 1, 2, ...: runs of each row, joined."""
    height, width = mask.shape
    padded = np.zeros((height, width + 2), np.int8)
    padded[:, 1:-1] = mask
    steps = np.diff(padded, axis=1)
    row, start = np.nonzero(steps == 1)
    stop = np.nonzero(steps == -1)[1]
    if row.size == 0:
        return np.zeros(mask.shape, np.intp), 0
    parent = list(range(row.size))

    def root(k: int) -> int:
        while parent[k] != k:
            parent[k] = parent[parent[k]]
            k = parent[k]
        return k

    first = np.searchsorted(row, np.arange(height + 1)).tolist()
    starts, stops = start.tolist(), stop.tolist()
    for y in range(1, height):
        above, here = first[y - 1], first[y]
        while above < first[y] and here < first[y + 1]:
            if starts[above] <= stops[here] and starts[here] <= stops[above]:
                a, b = root(above), root(here)
                parent[max(a, b)] = min(a, b)
            if stops[above] < stops[here]:
                above += 1
            else:
                here += 1
    roots = np.array([root(k) for k in range(row.size)])
    numbers = np.unique(roots, return_inverse=True)[1] + 1
    labels = np.zeros(mask.shape, np.intp)
    labels[mask] = np.repeat(numbers, stop - start)
    return labels, int(numbers.max())


def _bounds(mask: Mask) -> tuple[int, int, int, int]:
    """top, bottom, left, right of what is set, bottom and right exclusive."""
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    return int(rows[0]), int(rows[-1]) + 1, int(columns[0]), int(columns[-1]) + 1


# --- scale and centre ------------------------------------------------------------------------

_THIN, _THICK = 2.0, 3.6  # MNIST's strokes in pixels of the 20x20 box, thinnest and thickest


def scale(cut: Plane) -> Plane:
    """Fit the digit into 20x20 (four times finer here) with strokes of MNIST's width."""
    fine = _boxed(cut)
    width = _stroke_width(fine) / FINE
    wanted = min(max(width, _THIN), _THICK)
    if abs(wanted - width) > 0.1:
        fine = _boxed(_swollen(np.pad(fine, 4 * FINE), (wanted - width) * FINE / 2))
    return np.pad(fine, FINE)


def _boxed(cut: Plane) -> Plane:
    """Cropped to the ink, its longer side 20 x FINE."""
    top, bottom, left, right = _bounds(cut > 0.5)
    return np.clip(_fitted(cut[top:bottom, left:right], BOX * FINE), 0, 1)


def _stroke_width(cover: Plane) -> float:
    """Area over half the outline: what a stroke of any course has as its width."""
    framed = np.pad(cover, 1)
    return 2 * float(cover.sum()) / max(float(_steepness(framed).sum()), 1e-6)


def _swollen(cover: Plane, radius: float) -> Plane:
    """Strokes grown by `radius` pixels on each side; shrunk where it is negative."""
    if radius < 0:
        return 1 - _swollen(1 - cover, -radius)
    reach = int(np.ceil(radius))
    height, width = cover.shape
    padded = np.pad(cover, reach, mode="edge")
    out = cover
    for y in range(-reach, reach + 1):
        for x in range(-reach, reach + 1):
            inside = min(1.0, radius + 0.5 - float(np.hypot(y, x)))  # the disc's edge is soft
            if inside > 0:
                part = padded[reach + y : reach + y + height, reach + x : reach + x + width]
                out = np.maximum(out, part * np.float32(inside))
    return out


def centre(boxed: Plane) -> NDArray[np.float32]:
    """Put the centre of mass in the middle of 28x28."""
    side = IMAGE_SIDE * FINE
    y, x = _centre_of_mass(boxed)
    sheet = np.zeros((2 * side, 2 * side), np.float32)
    sheet[: boxed.shape[0], : boxed.shape[1]] = boxed
    down, right = round(side / 2 - 0.5 - y), round(side / 2 - 0.5 - x)
    sheet = np.roll(sheet, (down, right), (0, 1))[:side, :side]
    small = sheet.reshape(IMAGE_SIDE, FINE, IMAGE_SIDE, FINE).mean((1, 3))
    return np.ascontiguousarray(np.clip(small, 0, 1), np.float32)


def _centre_of_mass(plane: Plane) -> tuple[float, float]:
    total = float(plane.sum()) or 1.0
    height, width = plane.shape
    return (
        float(plane.sum(1) @ np.arange(height)) / total,
        float(plane.sum(0) @ np.arange(width)) / total,
    )
