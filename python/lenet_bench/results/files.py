"""Result files as bytes: gzipped or not, of a limited size; and where one can be written."""

import zlib
from pathlib import Path

from ..atomic import check_writable, writing
from ..errors import ResultError

_GZIP = b"\x1f\x8b"
MOST_BYTES = 2**26  # of a file, also unpacked: more than any run writes


def read_bytes(path: Path) -> bytes:
    """The file, unpacked; ResultError where it cannot be read or has more than MOST_BYTES."""
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)  # a device may never end
    except OSError as error:
        raise ResultError(f"{path}: cannot be read: {error.strerror}") from None
    if len(content) > MOST_BYTES:
        raise ResultError(f"{path}: has more than {MOST_BYTES // 2**20} MiB, so it is not read")
    return _unpacked(path, content) if content.startswith(_GZIP) else content


def is_gzipped(path: Path) -> bool:
    """Whether the file is compressed, whatever its name."""
    with path.open("rb") as file:
        return file.read(len(_GZIP)) == _GZIP


def _unpacked(path: Path, content: bytes) -> bytes:
    """The gzipped content; ResultError if it is damaged or has more than MOST_BYTES."""
    unzip = zlib.decompressobj(zlib.MAX_WBITS + 16)
    try:
        found = unzip.decompress(content, MOST_BYTES + 1)
    except zlib.error:
        raise ResultError(f"{path}: damaged result file: it cannot be decompressed") from None
    if len(found) > MOST_BYTES:
        raise ResultError(
            f"{path}: unpacks to more than {MOST_BYTES // 2**20} MiB, so it is not read"
        )
    if not unzip.eof or unzip.unused_data:
        raise ResultError(f"{path}: damaged result file: it is truncated or has extra bytes")
    return found


def check_place(path: Path, begins: bytes = b"") -> None:
    """Raise ResultError if the file cannot be written, or begins otherwise; do not change it."""
    with writing(path, ResultError):
        check_writable(path, begins)
