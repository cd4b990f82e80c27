"""The user's caches: what is made or downloaded once, and later run or read.

Compiled code is run with the user's rights. So a file counts only where nobody else could have put
it: it, its folder and all folders above are the user's or the system's, and others may not write
them. Others may write a folder such as /tmp, where only the owner of an entry can replace it. The
name of a file ends with the SHA-256 of its content, which shows damage.
"""

import hashlib
import os
import shlex
import shutil
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from .atomic import write_atomically
from .errors import Unavailable

_OURS = 0o700
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_UNFINISHED = "."  # names of unfinished files begin with it
_UNFINISHED_S = 3600.0  # an unfinished file so old is of a killed process
ELSEWHERE = "name another folder: export XDG_CACHE_HOME=DIR"


def base_folder(variable: str, below_home: str, nowhere: str) -> Path:
    """lenet-bench's folder in one of the XDG base directories; `nowhere` is without a home."""
    chosen = Path(os.environ.get(variable, ""))
    if not chosen.is_absolute():  # the specification says to ignore such a path
        try:
            chosen = Path.home() / below_home
        except RuntimeError:  # an unknown user, as in a container
            chosen = Path(nowhere)
    return chosen / "lenet-bench"


def cache_folder(kind: str) -> Path:
    """The cache folder of that kind; it may not exist."""
    without_home = Path(gettempdir(), f"cache-of-{os.geteuid()}")
    return base_folder("XDG_CACHE_HOME", ".cache", str(without_home)) / kind


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        why = "it is no folder" if isinstance(error, FileExistsError) else error.strerror
        where = f"{error.filename}: " if error.filename else ""
        raise Unavailable(f"the cache cannot be used ({where}{why}); {ELSEWHERE}") from None


@_explained()
def own_folder(kind: str) -> Path:
    """The cache folder, made if it is absent; raise Unavailable if others could write there."""
    folder = Path(os.path.realpath(cache_folder(kind)))
    for place in (*reversed(folder.parents), folder):
        place.mkdir(mode=_OURS, exist_ok=True)
    trusted = {os.geteuid(), 0, Path("/").stat().st_uid}  # the owner of / may replace all of it
    for place in (folder, *folder.parents):
        about = place.stat()
        if about.st_uid not in trusted or (place == folder and about.st_uid != os.geteuid()):
            raise Unavailable(
                f"{place} belongs to another user, who could replace what is in the cache; "
                f"{ELSEWHERE}"
            )
        if about.st_mode & _OTHERS_MAY_WRITE and not about.st_mode & stat.S_ISVTX:
            raise Unavailable(
                f"other users may write {place} and could replace what is in the cache; fix it "
                f"with: chmod go-w {shlex.quote(str(place))}"
            )
    for old in folder.glob(f"{_UNFINISHED}*"):  # of a killed process
        with suppress(FileNotFoundError):  # or of one that has just finished it
            if time.time() - old.lstat().st_mtime > _UNFINISHED_S:
                shutil.rmtree(old, ignore_errors=True) if old.is_dir() else old.unlink()
    return folder


def made(
    kind: str, name: str, made_of: Iterable[str], make: Callable[[Path], bytes], suffix: str = ""
) -> Path:
    """The file with the result of `make`, made anew only if the texts in `made_of` change.

    `make` gets an empty folder to work in. Raises Unavailable where the cache cannot be used.
    """
    key = hashlib.sha256("\0".join(made_of).encode(errors="surrogateescape")).hexdigest()[:16]
    found = find(kind, f"{name}-{key}", suffix)
    if found:
        return found
    with _explained():
        work = TemporaryDirectory(dir=own_folder(kind), prefix=_UNFINISHED)
    with work as folder:
        return keep(kind, f"{name}-{key}", make(Path(folder)), suffix)


@_explained()
def find(kind: str, name: str, suffix: str = "") -> Path | None:
    """The file of that name; a damaged one, or another user's, is removed."""
    if not os.path.lexists(cache_folder(kind)):
        return None
    for path in sorted(own_folder(kind).glob(f"{name}-{'?' * 64}{suffix}")):
        if _is_ours(path) and path == _place(path.parent, name, path.read_bytes(), suffix):
            return path
        path.unlink(missing_ok=True)
    return None


@_explained()
def keep(kind: str, name: str, content: bytes, suffix: str = "") -> Path:
    """Write the content for `find`."""
    folder = own_folder(kind)
    path = _place(folder, name, content, suffix)
    write_atomically(path, content, mode=0o600)
    return path


@_explained()
def prune(kind: str, most: int) -> None:
    """Remove the oldest files of this kind until the others have at most so many bytes."""
    paths = sorted(own_folder(kind).iterdir(), key=lambda path: path.lstat().st_mtime)
    left = sum(path.lstat().st_size for path in paths)
    for path in paths:
        if left <= most:
            break
        left -= path.lstat().st_size
        path.unlink(missing_ok=True)


def _place(folder: Path, name: str, content: bytes, suffix: str) -> Path:
    return folder / f"{name}-{hashlib.sha256(content).hexdigest()}{suffix}"


def _is_ours(path: Path) -> bool:
    about = path.lstat()
    alone = about.st_uid == os.geteuid() and not about.st_mode & _OTHERS_MAY_WRITE
    return stat.S_ISREG(about.st_mode) and alone
