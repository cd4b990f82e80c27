"""The result file: JSON Lines, a header and a line a block, each written when its block has ended.

So a killed run loses only its current block, and a run is continued by reading its file and
appending to it. Unknown fields are ignored.
"""

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ..atomic import writing
from ..errors import ResultError
from .model import SCHEMA, SHARED, Block, End, Header
from .versioned import check_kind, parse, read_bytes

_BLOCK, _END = msgspec.json.Decoder(Block), msgspec.json.Decoder(End)
_END_BEGINS = b'{"ended"'
_MOST_CALLS = 10**8  # so that a count in a stranger's file cannot fill the memory


@dataclass(frozen=True)
class Log:
    """A file's content."""

    header: Header
    blocks: tuple[Block, ...] = ()
    end: End | None = None  # None: under way, or killed
    cut_off: int = 0  # bytes of a last line that was not written to its end


def read_log(path: str | os.PathLike[str]) -> Log:
    """Read and check a result file; ResultError says what is wrong with it."""
    path = Path(path)
    return as_log(path, read_bytes(path))


def as_log(path: Path, content: bytes) -> Log:
    """The content of the file of that path."""
    whole, _, rest = content.rpartition(b"\n")
    first, *lines = whole.split(b"\n")
    value = parse(first or rest) or parse(content)  # other kinds are one object over many lines
    shared = isinstance(value, dict) and value.get("kind") == SHARED
    checked = check_kind(path, value, SHARED if shared else "comparison", SCHEMA)
    blocks: list[Block] = []
    end: End | None = None
    number = 1
    calls = 0
    try:
        header = _header(checked)
        names = {header.floor, *(listed.name for listed in header.backends)}
        for line in lines:
            number += 1
            if line.startswith(_END_BEGINS):
                end = _END.decode(line)
            else:
                end = None  # so that run went on
                blocks.append(_block(line, header, names))
                if (calls := calls + blocks[-1].calls) > _MOST_CALLS:
                    raise ValueError("more calls than can be read")
    except (msgspec.DecodeError, ValueError) as error:
        raise ResultError(f"{path}: damaged result file: line {number}: {error}") from None
    return Log(header, tuple(blocks), end, len(rest))


def as_lines(log: Log) -> bytes:
    """The file of a log that has ended."""
    return b"".join(map(_line, (log.header, *log.blocks, *([log.end] if log.end else []))))


def append(path: Path, line: msgspec.Struct) -> None:
    """Append a line, at once."""
    rest = _line(line)
    with writing(path, ResultError), path.open("ab", buffering=0) as file:
        while rest:
            rest = rest[file.write(rest) :]


def go_on(path: Path, log: Log) -> None:
    """Prepare the file for appending: an incomplete last line is cut off."""
    if log.cut_off:
        with writing(path, ResultError):
            os.truncate(path, path.stat().st_size - log.cut_off)


def _line(line: msgspec.Struct) -> bytes:
    return msgspec.json.encode(line) + b"\n"


def _header(content: dict[str, object]) -> Header:
    header = msgspec.convert(content, Header)
    if header.rules.baseline not in (None, *(listed.name for listed in header.backends)):
        raise ValueError("its baseline is not among its backends")
    return header


def _block(line: bytes, header: Header, names: Collection[str | None]) -> Block:
    """The block; ValueError where its content is impossible."""
    block = _BLOCK.decode(line)
    if block.backend not in names:
        raise ValueError(f"{block.backend!r} is not among its backends")
    least = 0 if block.backend == header.floor else 1  # a coarse clock may see no time in no work
    if block.samples_ns if header.kind == SHARED else block.thinned_ns:
        raise ValueError(f"the calls are not in the format of a {header.kind}")
    times = [ns for ns, _ in block.thinned_ns]
    if times != sorted(set(times)):
        raise ValueError("times that do not increase")
    sliced = [(block.samples_ns, block.slices)]
    sliced += [(batch.samples_ns, batch.slices) for batch in block.batches]
    if any(slices and sum(n for n, _ in slices) != len(ns) for ns, slices in sliced):
        raise ValueError("slices that do not add up to the number of calls")
    if min(times or block.samples_ns, default=least) < least:
        raise ValueError("a call with no duration")
    return block
