"""The page as a file."""

from __future__ import annotations

from pathlib import Path

from ...atomic import write_atomically
from ...errors import ResultError


def write_page(path: Path, html: str) -> None:
    """Put it in the file's place; a stream such as /dev/stdout gets it."""
    if path.is_dir():
        raise ResultError(f"{path}: expected a file to write, found a directory")
    try:
        write_atomically(path, html.encode())
    except OSError as error:
        raise ResultError(f"{path}: cannot be written: {error.strerror}") from None
