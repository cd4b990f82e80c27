"""The shared form of a result, and the checks of shared files."""

import hashlib
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePath
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from ..errors import ResultError
from ..results import Log, read_log
from ..results.files import unpacked
from ..results.log import as_lines, as_log
from ..results.plausible import faults
from ..results.private import OTHER_WEIGHTS, PROGRAM, options, public
from ..results.thin import thinned
from ..texts import with_texts
from ..weights import default_path

MOST_BYTES = 450_000
_MOST_UNPACKED = 2**22
SUFFIX = ".jsonl.gz"

_public = lru_cache(maxsize=4096)(public)  # blocks say the same again and again

Line = TypeVar("Line", bound=msgspec.Struct)


@dataclass(frozen=True)
class Given:
    """A file to share: its name, its content, and the log in it."""

    name: str
    content: bytes
    log: Log


def given(path: Path) -> Given:
    """The shared form of the file; ResultError where it cannot be shared."""
    return check(path, _plain(shared(read_log(path))))


def check(source: Path, log: Log) -> Given:
    """The log as a file to share; ResultError says why it cannot be shared."""
    for fault in faults(log):
        raise ResultError(f"{source}: cannot be shared: {fault}")
    lines = as_lines(log)
    content = packed(lines)
    if len(content) > MOST_BYTES or len(lines) > _MOST_UNPACKED:
        raise ResultError(
            f"{source}: cannot be shared: it has {len(content) / 1000:.0f} kB, at most "
            f"{MOST_BYTES // 1000} are allowed; measure fewer rounds or backends"
        )
    return Given(_name(log, lines), content, log)


def packed(lines: bytes) -> bytes:
    """The file of a shared log's lines."""
    pack = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS + 16)  # no name and no date in it
    return pack.compress(lines) + pack.flush()


def check_file(path: Path) -> Given:
    """Check a file from a stranger; ResultError says why it is refused."""
    found = received(path)
    if path.name != found.name:
        raise ResultError(f"{path}: expected the name {found.name}, which `share` gives it")
    return found


def received(path: Path) -> Given:
    """The same, whatever its name."""
    if path.is_symlink() or not path.is_file():
        raise ResultError(f"{path}: not a plain file")
    if (size := path.stat().st_size) > MOST_BYTES:
        raise ResultError(
            f"{path}: has {size / 1000:.0f} kB, at most {MOST_BYTES // 1000} are allowed: write it "
            "with `lenet-bench share`"
        )
    lines = unpacked(path, path.read_bytes(), _MOST_UNPACKED)
    found = check(path, as_log(path, lines))
    if as_lines(found.log) != lines:
        raise ResultError(f"{path}: not written by `lenet-bench share`: it has other fields")
    return found


def shared_files(paths: Iterable[Path]) -> Iterator[Path]:
    """These files; of a folder all its files except its README."""
    for path in paths:
        found = sorted(path.iterdir()) if path.is_dir() else [path]
        yield from (one for one in found if one.name != "README.md")


def texts(log: Log) -> list[str]:
    """Each text that a program wrote into its blocks, once."""
    found: set[str | None] = set()
    for block in log.blocks:
        found |= {block.reason, *block.batch_refusals.values()}
        found |= {block.gpu.name} if block.gpu else set()
        found |= {f"{name}: {value}" for name, value in (block.runs or {}).items()}
    return sorted(filter(None, found))


def shared(log: Log) -> Log:
    """Few times a block, no command, no output of any program; of a run of `why` too."""
    thin = thinned(log)
    header = thin.header
    weights = PurePath(header.rules.weights).name
    rules = replace(
        header.rules, weights=weights if weights == default_path().name else OTHER_WEIGHTS
    )
    argv = (PROGRAM, "why" if rules.apart else "compare", *options(header.argv))
    header = replace(header, argv=argv, rules=rules)
    blocks = (replace(block, output="", traceback=None) for block in thin.blocks)
    return Log(header, tuple(blocks), thin.end)


def _plain(log: Log) -> Log:
    """With short texts, each on one line, without markup or what is private."""
    return Log(_cleansed(log.header), tuple(map(_cleansed, log.blocks)), log.end)


def _cleansed(line: Line) -> Line:
    return msgspec.convert(with_texts(_public, msgspec.to_builtins(line)), type(line))


def _name(log: Log, lines: bytes) -> str:
    """The file name: the processor, the day and a hash, so that it is unique."""
    model = log.header.machine.processor.model or "unknown"
    slug = re.sub(r"[^a-z0-9]+", "-", re.sub(r"\((R|TM)\)", "", model).lower()).strip("-")[:40]
    digest = hashlib.sha256(lines).hexdigest()[:8]
    return f"{slug or 'unknown'}-{log.header.started[:10]}-{digest}{SUFFIX}"
