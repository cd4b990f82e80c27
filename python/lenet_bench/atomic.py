"""Write a file whole or not at all: no reader and no crash ever sees a part of it."""

import os
from pathlib import Path


def write_atomically(path: Path, content: bytes) -> None:
    """Put the content in the file's place, old or new after a crash; makes its folder.

    Raises OSError; the file that was there before is then still there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
