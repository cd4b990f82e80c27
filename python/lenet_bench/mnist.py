"""MNIST: find its four IDX files or fetch them from a mirror, and read them.

IDX is a big-endian header (magic, then the size of each dimension) and unsigned bytes in
row-major order, usually gzip-compressed.
"""

import gzip
import hashlib
import http.client
import os
import urllib.error
import urllib.request
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .arrays import Bytes, Floats
from .atomic import write_file
from .cache import cache_folder
from .errors import DataError, Misuse
from .network import CLASSES, IMAGE_SIDE
from .units import counted

MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
    "http://yann.lecun.com/exdb/mnist/",
)

#: The environment variable that names the folder of the files.
FOLDER_VARIABLE = "LENET_BENCH_MNIST"

Part = Literal["train", "test"]

_IMAGES_MAGIC = 2051
_LABELS_MAGIC = 2049
_LARGEST_FILE = 256 << 20  # MNIST's largest has 47 MB: more is something else, or a gzip bomb
_TIMEOUT = 20.0  # seconds without data from a mirror


@dataclass(frozen=True)
class Digits:
    """Images (n, 28, 28) of unsigned bytes, 0 = paper and 255 = ink, and their labels (n,)."""

    images: Bytes
    labels: Bytes

    def __len__(self) -> int:
        return len(self.labels)

    def ink(self, which: slice | NDArray[np.int64] = slice(None)) -> Floats:
        """The images as the network takes them: float32 from 0 to 1."""
        ink: Floats = self.images[which] / np.float32(255)
        return ink


#: The four files as the mirrors have them, with the SHA-256 of each.
SOURCES = {
    "train-images-idx3-ubyte.gz": (
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"
    ),
    "train-labels-idx1-ubyte.gz": (
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"
    ),
    "t10k-images-idx3-ubyte.gz": (
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"
    ),
    "t10k-labels-idx1-ubyte.gz": (
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"
    ),
}

_PREFIX: dict[Part, str] = {"train": "train", "test": "t10k"}


def local_folder() -> Path:
    """LENET_BENCH_MNIST, else the cache; nothing is downloaded."""
    return Path(os.environ.get(FOLDER_VARIABLE) or cache_folder("mnist"))


def find_mnist(folder: str | os.PathLike[str] | None = None, *, part: Part | None = None) -> Path:
    """The folder of the files: the given one, or LENET_BENCH_MNIST, or the cache, downloaded.

    Where one `part` is enough, only that is downloaded. Nothing is downloaded into a folder that
    the user named.
    """
    named = folder or os.environ.get(FOLDER_VARIABLE)
    if named:
        return Path(named)
    cache = cache_folder("mnist")
    fetch(cache, part=part)
    return cache


def read_mnist(part: Part, folder: str | os.PathLike[str]) -> Digits:
    """The training or the test images with their labels, checked."""
    if part not in _PREFIX:
        raise Misuse(f"expected train or test, got {part!r}")
    folder, prefix = Path(folder), _PREFIX[part]
    try:
        os.stat(f"{folder}/.")  # noqa: PTH116 - fails where nobody may look into the folder
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{folder}: {reason}; expected a folder with MNIST's IDX files") from None
    images_path = _find_file(folder, f"{prefix}-images", "idx3-ubyte")
    labels_path = _find_file(folder, f"{prefix}-labels", "idx1-ubyte")
    images = read_idx(images_path, _IMAGES_MAGIC)
    labels = read_idx(labels_path, _LABELS_MAGIC)
    if images.shape[1:] != (IMAGE_SIDE, IMAGE_SIDE):
        height, width = images.shape[1:]
        raise DataError(f"{images_path}: expected images of 28x28, found {height}x{width}")
    if len(images) != len(labels):
        raise DataError(
            f"{folder}: {images_path.name} holds {counted(len(images), 'image')},"
            f" but {labels_path.name} holds {counted(len(labels), 'label')}"
        )
    if len(labels) == 0:
        raise DataError(f"{images_path}: holds no image")
    if labels.max() >= CLASSES:
        raise DataError(f"{labels_path}: expected labels from 0 to 9, found {labels.max()}")
    return Digits(images, labels)


def read_idx(path: Path, magic: int) -> Bytes:
    """The array of one IDX file of unsigned bytes, gzip-compressed or not."""
    content = _read_content(path)
    dimensions = magic & 0xFF
    header = 4 + 4 * dimensions
    if len(content) < header:
        raise DataError(
            f"{path}: truncated: expected {header} bytes of header, found {len(content)}"
        )
    found, *shape = (int(n) for n in np.frombuffer(content, ">u4", 1 + dimensions))
    if found != magic:
        raise DataError(
            f"{path}: expected IDX {_KINDS[magic]} (magic {magic}),"
            f" found {_KINDS.get(found, 'something else')} (magic {found})"
        )
    expected, size = prod(shape), len(content) - header
    if size < expected:
        raise DataError(f"{path}: truncated: its header gives {expected} bytes, {size} are there")
    if size > expected:
        raise DataError(f"{path}: {size - expected} bytes too many after the last item")
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)


_KINDS = {_IMAGES_MAGIC: "images", _LABELS_MAGIC: "labels"}


def fetch(
    folder: str | os.PathLike[str],
    mirrors: Sequence[str] = MIRRORS,
    *,
    part: Part | None = None,
) -> None:
    """Make the folder hold the files with the right checksums, from the first good mirror.

    A file with the right checksum stays; a new one is written only when complete and verified, so
    an interrupted download continues with the next file when called again.
    """
    folder = Path(folder)
    for name, sha256 in SOURCES.items():
        if part and not name.startswith(_PREFIX[part]):
            continue
        path = folder / name
        if _sha256(path) != sha256:
            content = _download(name, sha256, mirrors)
            write_file(path, content, DataError)


def _download(name: str, sha256: str, mirrors: Sequence[str]) -> bytes:
    """The file's bytes from the first mirror with the right checksum."""
    reasons = []
    for mirror in mirrors:
        url = mirror.rstrip("/") + "/" + name
        try:
            request = urllib.request.Request(url, headers={"User-Agent": "lenet-bench"})
            with urllib.request.urlopen(request, timeout=_TIMEOUT) as response:
                content: bytes = response.read(_LARGEST_FILE)
        except (OSError, http.client.HTTPException, ValueError) as error:
            reasons.append(f"{url}: {_reason(error)}")
            continue
        if hashlib.sha256(content).hexdigest() == sha256:
            return content
        reasons.append(f"{url}: not the expected file (wrong SHA-256)")
    raise DataError(
        f"{name} cannot be downloaded ({'; '.join(reasons)}); get MNIST's four files"
        f" elsewhere and name their folder with --data or {FOLDER_VARIABLE}"
    )


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"{error.code} {error.reason}"
    if isinstance(error, urllib.error.URLError):
        return str(error.reason)
    return str(error) or type(error).__name__


def _sha256(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def _find_file(folder: Path, name: str, kind: str) -> Path:
    """The file under one of the spellings in use: "-idx3" or ".idx3", with or without ".gz"."""
    spellings = [f"{name}{dot}{kind}{gz}" for dot in "-." for gz in ("", ".gz")]
    for spelling in spellings:
        if os.path.lexists(folder / spelling):
            return folder / spelling
    raise DataError(f"{folder}: {name}-{kind} (or .gz) is absent; expected MNIST's four IDX files")


def _read_content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            is_gzip = file.read(2) == b"\x1f\x8b"
        with gzip.open(path) if is_gzip else path.open("rb") as file:
            content: bytes = file.read(_LARGEST_FILE + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path}: damaged gzip file: {error}") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from None
    if len(content) > _LARGEST_FILE:
        raise DataError(f"{path}: too large to be MNIST (over 256 MiB)")
    return content
