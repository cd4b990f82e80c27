"""Atomic file writes: neither a reader nor a crash leaves a partial file."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from .errors import LenetBenchError

_OTHER = "it is there and of another kind; give --output another name"


@contextmanager
def writing(path: Path, failure: type[LenetBenchError]) -> Iterator[None]:
    """Turn a failure to write this file into an error of one sentence."""
    try:
        yield
    except OSError as error:
        in_the_way = next(filter(os.path.isfile, path.parents), None)
        why = f"{in_the_way} is no folder" if in_the_way else error.strerror or error
        raise failure(f"{path}: cannot be written: {why}") from None


def write_atomically(
    path: Path, content: bytes, *, durable: bool = True, mode: int = 0o666
) -> None:
    """Replace the file's content; after a crash the file is the old or the new one.

    Creates its folder. The umask is taken from the mode. Without `durable` it does not wait for the
    disk, and a power cut may leave an empty file. Raises OSError and then leaves the old file in
    place. A stream gets the content.
    """
    if is_stream(path):
        path.write_bytes(content)
        return
    path = path.resolve()  # replace the target of a link, not the link
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _temporary(path)
    try:
        temporary.unlink(missing_ok=True)
        with open(temporary, "xb", opener=partial(os.open, mode=mode)) as file:
            file.write(content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_file(
    path: Path,
    content: bytes,
    failure: type[LenetBenchError] = LenetBenchError,
    *,
    durable: bool = True,
) -> None:
    """`write_atomically`, whose failure is an error of one sentence."""
    with writing(path, failure):
        write_atomically(path, content, durable=durable)


def check_writable(path: Path, begins: bytes = b"") -> None:
    """Raise OSError if the file cannot be written, or if it begins with other bytes than these.

    Creates its folder and keeps the file.
    """
    if is_stream(path):
        return
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if begins and path.is_file():
        with path.open("rb") as file:
            if file.read(len(begins)) not in (b"", begins):
                raise FileExistsError(errno.EEXIST, _OTHER)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _temporary(path)
    temporary.unlink(missing_ok=True)
    temporary.touch(exist_ok=False)
    temporary.unlink()


def is_stream(path: Path) -> bool:
    """A device or a pipe (/dev/stdout): renaming a file to it would replace the device itself."""
    return path.exists() and not (path.is_file() or path.is_dir())


def _temporary(path: Path) -> Path:
    """To be created anew: in a folder of several users another may have put a link there."""
    return path.with_name(f".{path.name}.{os.getpid()}")
