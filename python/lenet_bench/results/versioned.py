"""All result files of lenet-bench: JSON with a kind and a schema number, gzipped or not."""

import zlib
from pathlib import Path
from typing import Any

import msgspec

from ..atomic import check_writable, is_stream, write_atomically, writing
from ..errors import ResultError, without_middle
from ..texts import json_text

_GZIP = b"\x1f\x8b"
MOST_BYTES = 2**26  # of a file, also unpacked: more than any run writes


def read_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """The file, unpacked; ResultError where it cannot be read or has more than `most` bytes."""
    try:
        with path.open("rb") as file:
            content = file.read(most + 1)  # a device may never end
    except OSError as error:
        raise ResultError(f"{path}: cannot be read: {error.strerror}") from None
    if len(content) > most:
        raise ResultError(f"{path}: has more than {most / 2**20:.0f} MiB, so it is not read")
    return unpacked(path, content, most) if content.startswith(_GZIP) else content


def is_gzipped(path: Path) -> bool:
    """Whether the file is compressed, whatever its name."""
    with path.open("rb") as file:
        return file.read(len(_GZIP)) == _GZIP


def unpacked(path: Path, content: bytes, most: int) -> bytes:
    """The gzipped content; ResultError if it is damaged or has more than `most` bytes."""
    unzip = zlib.decompressobj(zlib.MAX_WBITS + 16)
    try:
        found = unzip.decompress(content, most + 1)
    except zlib.error:
        raise ResultError(f"{path}: damaged result file: it cannot be decompressed") from None
    if len(found) > most:
        raise ResultError(f"{path}: unpacks to more than {most / 2**20:.0f} MiB, so it is not read")
    if not unzip.eof or unzip.unused_data:
        raise ResultError(f"{path}: damaged result file: it is truncated or has extra bytes")
    return found


def parse(content: bytes) -> Any:
    """The JSON value; None where it is none."""
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def check_kind(path: Path, value: Any, kind: str, schema: int) -> dict[str, Any]:
    """The value, an object of that kind and schema; otherwise ResultError says what it is."""
    if value is None:
        raise ResultError(f"{path}: not a result file: it is not JSON")
    number = value.get("schema") if isinstance(value, dict) else None
    if type(number) is not int or "kind" not in value:
        raise ResultError(f"{path}: not a result file: it has no kind or no schema number")
    if value["kind"] != kind:
        other = without_middle(str(value["kind"]), 100)
        raise ResultError(f"{path}: expected the result of a {kind}, got that of a {other}")
    if number != schema:
        newer = number > schema
        raise ResultError(
            f"{path}: written by {'a newer' if newer else 'an older'} lenet-bench (schema {number},"
            f" this one reads {schema}); "
            + ("upgrade with: pip install --upgrade lenet-bench" if newer else "measure anew")
        )
    return dict(value)


def decode(kind: Any, value: Any) -> Any:
    """The JSON value as that type; ValueError names the place of a mismatch."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None


def check_place(path: Path) -> None:
    """Raise ResultError if the file cannot be written; do not change it."""
    with writing(path, ResultError):
        check_writable(path)


def write_object(path: Path, content: dict[str, Any], *, last: bool = True) -> None:
    """Replace the file with the object; a stream, which keeps everything, gets only the `last` one.

    Raises ResultError where it cannot be written.
    """
    if is_stream(path) and not last:
        return
    with writing(path, ResultError):
        write_atomically(path, f"{json_text(content, indent=1)}\n".encode())
