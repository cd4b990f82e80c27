"""Write a file whole or not at all: no reader and no crash ever sees a part of it."""

import os
from pathlib import Path


def write_atomically(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Put the content in the file's place, old or new after a crash; makes its folder.

    Without `durable` a power cut may leave an empty file, but no time goes to waiting for the disk.
    Raises OSError; the file that was there before is then still there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _temporary(path)
    try:
        with temporary.open("wb") as file:
            file.write(content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def check_writable(path: Path) -> None:
    """Raise OSError where the file could not be written; makes its folder and leaves the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _temporary(path)
    temporary.touch()
    temporary.unlink()


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}")
