"""The result file: JSON Lines, a header and a line a block, each written when its block has ended.

So a run that is killed loses the block that it was in, and to go on with a run is to read its file
and to append. Fields that this version does not know are passed over.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ..atomic import writing
from ..errors import ResultError
from .model import SCHEMA, Block, End, Header
from .versioned import check_kind, parse, read_bytes

_BLOCK, _END = msgspec.json.Decoder(Block), msgspec.json.Decoder(End)
_END_BEGINS = b'{"ended"'


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
    content = read_bytes(path)
    whole, _, rest = content.rpartition(b"\n")
    first, *lines = whole.split(b"\n")
    value = parse(first or rest) or parse(content)  # other kinds are one object over many lines
    checked = check_kind(path, value, "comparison", SCHEMA)
    blocks: list[Block] = []
    end: End | None = None
    number = 1
    try:
        header = _header(checked)
        for line in lines:
            number += 1
            if line.startswith(_END_BEGINS):
                end = _END.decode(line)
            else:
                end = None  # so that run went on
                blocks.append(_block(line, header))
    except (msgspec.DecodeError, ValueError) as error:
        raise ResultError(f"{path}: damaged result file: line {number}: {error}") from None
    return Log(header, tuple(blocks), end, len(rest))


def append(path: Path, line: msgspec.Struct) -> None:
    """One more line, at once."""
    rest = msgspec.json.encode(line) + b"\n"
    with writing(path, ResultError), path.open("ab", buffering=0) as file:
        while rest:
            rest = rest[file.write(rest) :]


def go_on(path: Path, log: Log) -> None:
    """Make ready to append to what was read: half a line at its end is cut off."""
    if log.cut_off:
        with writing(path, ResultError):
            os.truncate(path, path.stat().st_size - log.cut_off)


def _header(content: dict[str, object]) -> Header:
    header = msgspec.convert(content, Header)
    if header.rules.baseline not in (None, *(listed.name for listed in header.backends)):
        raise ValueError("its baseline is none of its backends")
    return header


def _block(line: bytes, header: Header) -> Block:
    """The block; ValueError for what no run writes, and no figure can be drawn from."""
    block = _BLOCK.decode(line)
    if block.backend not in {header.floor, *(listed.name for listed in header.backends)}:
        raise ValueError(f"{block.backend!r} is none of its backends")
    least = 0 if block.backend == header.floor else 1  # a coarse clock may see no time in no work
    if block.samples_ns and min(block.samples_ns) < least:
        raise ValueError("a call that took no time")
    return block
