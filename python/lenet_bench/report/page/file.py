"""The page as a file."""

from __future__ import annotations

from pathlib import Path

from ...atomic import write_atomically, writing
from ...errors import ResultError


def write_page(path: Path, html: str) -> None:
    """Put it in the file's place; a stream such as /dev/stdout gets it."""
    if path.is_dir():
        raise ResultError(f"{path}: expected a file to write, found a directory")
    with writing(path, ResultError):
        write_atomically(path, html.encode())
