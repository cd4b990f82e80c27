"""From a file's bytes to its picture, upright."""

import io
import os
import sys
from contextlib import closing
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..errors import ImageError

if TYPE_CHECKING:
    from PIL.Image import Image

    from ..process import Parent

Plane = NDArray[np.float32]  # (height, width), or with 3 channels, or 4 where it is transparent
Source = str | os.PathLike[str] | bytes | BinaryIO
LARGEST_FILE = 200 << 20  # bytes
LARGEST_PICTURE = 50_000_000  # pixels; a 12-megapixel photo is a quarter of it
_LARGEST_VALUE = 2.0**32  # of a pixel: those of 32 bits have less
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
#: Bytes up to which a file of that kind is decoded in this process.
_LARGEST_HERE = {"Tiff": 0, "Ppm": 1 << 16}
_LARGEST_OF_OTHERS_HERE = 8 << 20
_SCAN, _MOST_SCANS_HERE = b"\xff\xda", 30  # a progressive JPEG has ten, and its previews have more
_EXIF, _LARGEST_EXIF = b"Exif\0\0", 1 << 16
_SECONDS, _MEMORY = 20.0, 3 << 29  # limits of the process that decodes a picture
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}  # each thread reserves memory
_WIDEST = 2048  # pixels of the longer side that are kept: the smallest digits need no more


def content_of(source: Source) -> tuple[str, bytes]:
    """The source's name for messages, and its bytes."""
    content: object
    if isinstance(source, bytes):
        name, content = "the image", source
    elif isinstance(source, str | os.PathLike):
        name = os.fspath(source)
        if not name:
            raise ImageError("expected the name of a picture, got an empty one")
        try:
            if Path(name).is_dir():
                raise ImageError(f"{name}: expected a picture, found a directory")
            with Path(name).open("rb") as file:
                content = file.read(LARGEST_FILE + 1)
        except FileNotFoundError:
            if name.startswith(("http://", "https://")):
                command = f"curl -s {quote(name)} | lenet-bench infer -"
                raise ImageError(f"{name}: nothing is downloaded; try: {command}") from None
            raise ImageError(f"{name}: no such file") from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ImageError(f"{name}: cannot be read: {reason}") from None
    else:
        name = str(getattr(source, "name", "the image"))
        read = getattr(source, "read", lambda _: None)
        content = read(LARGEST_FILE + 1)
    if not isinstance(content, bytes):
        kind = type(source).__name__
        raise TypeError(f"expected a picture's path, bytes or binary stream, got {kind}")
    if not content:
        raise ImageError(f"{name}: the file is empty")
    if len(content) > LARGEST_FILE:
        raise ImageError(f"{name}: larger than {LARGEST_FILE >> 20} MiB, too large for a picture")
    return name, content


def decode(name: str, content: bytes) -> Plane:
    """The file's picture; ImageError where it cannot be had in bounded time and memory."""
    kind = next((kind for magic, kind in _FORMATS if content.startswith(magic)), None)
    if kind is None:
        raise ImageError(f"{name}: not a PNG, JPEG, PNM, GIF, BMP, TIFF or WebP picture")
    try:
        return (
            _decoded(kind, content) if _is_quick(kind, content) else _in_own_process(kind, content)
        )
    except ImageError as error:
        raise ImageError(f"{name}: {error}") from None


def _is_quick(kind: str, content: bytes) -> bool:
    """Whether it is decoded quickly, whatever is in it.

    Pillow reads the text of a PNM byte by byte. Each of a JPEG's scans takes as long as a picture,
    and a small file may have thousands. A TIFF's tags may share one long value, of which older
    versions of Pillow make a copy each, as may Exif data in several pieces; and libtiff prints.
    """
    if len(content) > _LARGEST_HERE.get(kind, _LARGEST_OF_OTHERS_HERE):
        return False
    if kind == "Jpeg":
        return content.count(_SCAN) <= _MOST_SCANS_HERE and content.count(_EXIF) <= 1
    return True


def _in_own_process(kind: str, content: bytes) -> Plane:
    """Decode it in a process of its own, with limits of time and memory."""
    from ..process import Child, Died, Raised, same_modules

    variables = {**same_modules(), **_ONE_THREAD}
    try:
        with closing(Child(f"{__name__}:serve", variables=variables, printed="dropped")) as child:
            picture: Plane = child.answer((kind, content, _MEMORY), _SECONDS)
            return picture
    except Died as death:
        if death.how == "late":
            raise ImageError(f"cannot be decoded within {_SECONDS:g} s") from None
        raise ImageError(f"cannot be decoded: {death.sentence}") from None
    except Raised as error:
        raise ImageError(f"cannot be decoded: {error}") from None


def serve(parent: "Parent") -> None:
    """In the child: decode one picture."""
    kind, content, memory = parent.hear()
    if sys.platform == "linux":  # other systems do not enforce the limit
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    parent.answer(lambda: _decoded(kind, content))


def _decoded(kind: str, content: bytes) -> Plane:
    import logging
    from importlib import import_module

    if not (log := logging.getLogger("PIL")).handlers:  # else it writes to the terminal
        log.addHandler(logging.NullHandler())
    try:
        plugin = import_module(f"PIL.{kind}ImagePlugin")  # Image.open would import four others
        with getattr(plugin, f"{kind}ImageFile")(io.BytesIO(content)) as image:
            width, height = image.size
            if width * height > LARGEST_PICTURE:
                raise ImageError(
                    f"too many pixels; up to {LARGEST_PICTURE // 1_000_000} megapixels are read; "
                    f"it has {width} x {height}"
                )
            if width * height == 0:
                raise ImageError("has no pixels")
            image.draft(None, (_WIDEST, _WIDEST))  # a JPEG is decoded at the size that is needed
            image.load()
            return _upright(image)
    except ImageError:
        raise
    except MemoryError:
        raise ImageError("needs more memory than a picture may take") from None
    except SyntaxError:  # Pillow's, of a file that its plugin does not know
        raise ImageError(f"starts like a {kind.upper()} file but cannot be decoded") from None
    except ImportError as error:
        raise ImageError(f"needs Pillow: {error}") from None
    except Exception as error:  # Pillow's plugins raise nearly anything on damaged files
        raise ImageError(f"damaged or cut short: {error or type(error).__name__}") from None


def _upright(image: "Image") -> Plane:
    """The first frame as floats, upright."""
    readable = len(image.info.get("exif", b"")) <= _LARGEST_EXIF
    orientation = image.getexif().get(0x0112, 1) if readable else 1
    deep = image.mode.startswith("I") or image.mode == "F"
    if deep:  # 16 bits or more, or floats
        values = np.asarray(image)[:: _stride(image), :: _stride(image)].astype(np.float64)
        if not (np.abs(values) <= _LARGEST_VALUE).all():  # nor where one is no number
            raise ImageError("has infinite or huge values or some that are no numbers")
        return _turned(_of_any_range(values), orientation)
    if image.mode in ("LA", "PA", "La", "RGBa") or "transparency" in image.info:
        image = image.convert("RGBA")
    elif image.mode not in ("L", "RGB", "RGBA"):
        image = image.convert("L" if image.mode == "1" else "RGB")
    factor = _stride(image)
    if factor > 1:
        image = image.reduce(factor)
    return _turned(np.asarray(image, np.float32) / np.float32(255), orientation)


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


def _of_any_range(values: NDArray[np.float64]) -> Plane:
    """As 0 to 1: whole numbers by the bits of the largest (12 in 16, say), others stretched."""
    low, high = values.min(), values.max()
    if low >= 0 and (values % 1 == 0).all():
        low, high = 0.0, 2.0 ** int(high).bit_length() - 1
    return np.asarray((values - low) / ((high - low) or 1.0), np.float32)
