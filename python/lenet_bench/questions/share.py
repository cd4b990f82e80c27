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

from ..errors import LenetBenchError, ResultError
from ..networks import NETWORKS
from ..registry import canonical_name, tolerance, without_threads
from ..results import Block, Listed, Log, read_log
from ..results.files import read_bytes
from ..results.log import as_lines
from ..results.private import options, public
from ..results.thin import thinned
from ..texts import with_texts
from ..weights import default_path

MOST_BYTES = 450_000
SUFFIX = ".jsonl.gz"
_FARTHEST = 0.01  # largest difference of answers in float32
_SHORTEST_NS = 1000  # of a call; reading LeNet's weights takes longer

# Blocks say the same again and again. No gzipped file repeats more texts than these in few bytes.
made_public = lru_cache(maxsize=2**16)(public)

Line = TypeVar("Line", bound=msgspec.Struct)


@dataclass(frozen=True)
class Given:
    """A file to share: its name, its content, and the log in it."""

    name: str
    content: bytes
    log: Log


def given(path: Path) -> Given:
    """The shared form of the file; ResultError says why it cannot be shared."""
    try:
        log = _plain(shared(read_log(path)))
    except msgspec.ValidationError:  # too long where each "al" is now "(user)"
        raise ResultError(f"{path}: cannot be shared: a name has no public form") from None
    for fault in _faults(log):
        raise ResultError(f"{path}: cannot be shared: {fault}")
    lines = as_lines(log)
    content = packed(lines)
    _check_size(path, len(content))
    return Given(_name(log, lines), content, log)


def _check_size(path: Path, size: int) -> None:
    if size > MOST_BYTES:
        raise ResultError(
            f"{path}: cannot be shared: it has {size / 1000:.0f} kB, at most {MOST_BYTES // 1000} "
            "are allowed; measure fewer rounds or backends"
        )


def _faults(log: Log) -> Iterator[str]:
    """Why it is of no use to others, each as the end of a sentence; the first one is told."""
    header = log.header
    if header.rules.network not in NETWORKS:
        yield f"it is of a model of your own, {header.rules.network}"
    if header.rules.apart:
        yield "it is a run of `why`, not of `compare`"
    if log.end is None or log.end.ended not in ("budget", "rounds", "decided"):
        yield "its run was not completed"
    listed = {one.name: one for one in header.backends}
    again = {name: re.sub(r" #\d{1,3}$", "", name) for name in header.again or ()}
    of_block = {**listed, **{name: listed.get(once) for name, once in again.items()}}
    counting = [block for block in log.blocks if block.status == "ok" and block.calls]
    timed = [block for block in counting if block.backend in of_block]
    if not timed:
        yield "no backend was timed"
    for name in of_block:
        once = again.get(name, name)
        if not _is_known(once) or of_block[name] is None or (name in again and once == name):
            yield f"lenet-bench has no backend {name!r}"
    for block in timed:
        if one := of_block[block.backend]:
            yield from _of_a_block(block, one)


def _is_known(name: str) -> bool:
    try:
        return canonical_name(name) == without_threads(name)
    except LenetBenchError:
        return False


def _of_a_block(block: Block, listed: Listed) -> Iterator[str]:
    allowed = min(listed.tolerance or 0.0, max(_FARTHEST, tolerance(without_threads(listed.name))))
    if (block.difference or 0.0) > allowed:
        yield f"{listed.name} was timed although its answers are wrong"
    if any(ns < _SHORTEST_NS for one in block.timed for ns, _ in one.thinned_ns):
        yield f"a call of {listed.name} took less than {_SHORTEST_NS} ns"


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
    """The same, whatever its name: what `share` makes of the file must be the file itself."""
    if path.is_symlink() or not path.is_file():
        raise ResultError(f"{path}: not a plain file")
    _check_size(path, path.stat().st_size)
    found = given(path)
    if as_lines(found.log) != read_bytes(path):
        raise ResultError(
            f"{path}: has fields or texts that `lenet-bench share` does not write; give this file "
            "to it once more"
        )
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
        found |= set(block.callers_refused.values())
        found |= {block.gpu.name} if block.gpu else set()
        found |= {f"{name}: {value}" for name, value in (block.runs or {}).items()}
    return sorted(filter(None, found))


def shared(log: Log) -> Log:
    """Few times a block, no command, no output of any program; of a run of `why` too."""
    thin = thinned(log)
    header = thin.header
    weights = PurePath(header.rules.weights).name
    if weights != default_path().name:
        weights = "other.safetensors"
    rules = replace(header.rules, weights=weights)
    argv = ("lenet-bench", "why" if rules.apart else "compare", *options(header.argv))
    header = replace(header, argv=argv, rules=rules)
    blocks = (replace(block, output="", traceback=None) for block in thin.blocks)
    return Log(header, tuple(blocks), thin.end)


def _plain(log: Log) -> Log:
    """With short texts, each on one line, without markup or what is private."""
    return Log(_cleansed(log.header), tuple(map(_cleansed, log.blocks)), log.end)


def _cleansed(line: Line) -> Line:
    return msgspec.convert(with_texts(made_public, msgspec.to_builtins(line)), type(line))


def _name(log: Log, lines: bytes) -> str:
    """The file name: the processor, the day and a hash, so that it is unique."""
    model = re.sub(r"\((R|TM)\)", "", log.header.machine.processor.model or "")
    digest = hashlib.sha256(lines).hexdigest()[:8]
    return f"{_slug(model)}-{_slug(log.header.started[:10])}-{digest}{SUFFIX}"


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40] or "unknown"
