"""The result file: JSON Lines, a header and a line a block, each written when its block has ended.

So a killed run loses only its current block, and a run is continued by reading its file and
appending to it. Unknown fields are ignored. The last field of a line is a checksum of the others;
the one before it is that of the line before, so that no line is moved, repeated or left out.
"""

import fcntl
import os
import shlex
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from io import BytesIO, FileIO
from pathlib import Path
from zlib import crc32

import msgspec

from ..atomic import is_stream, writing
from ..errors import ResultError, first_line, without_middle
from .files import MOST_BYTES, check_place, is_gzipped, read_bytes
from .model import SCHEMA, SHARED, Block, End, Function, Header

_BLOCK, _END = msgspec.json.Decoder(Block), msgspec.json.Decoder(End)
_END_BEGINS = b'{"ended"'
_CHECKSUM = b',"crc32":"%08x"}\n'
_CHECKSUM_BEGINS, _CHECKSUM_LENGTH = b',"crc32":"', len(_CHECKSUM % 0)
_AFTER_BEGINS = b',"after":"'
_AFTER = _AFTER_BEGINS + b'%s"'
_NOT_IN_ORDER = "it does not follow the line before: lines were moved, repeated or left out"

# What a file may hold: more than any run writes, and so little that a stranger's file is read in
# less than 10 s and 1 GB of memory.
_MOST_LINE = 2**22  # bytes
_MOST_BLOCKS = 50_000
_MOST_CALLS = 10**7
_MOST_PAIRS = 10**6  # slices, and times with their counts
_LONGEST_REASON = 200  # characters
_DEEPEST = 100  # nested function calls


@dataclass(frozen=True)
class Log:
    """A file's content."""

    header: Header
    blocks: tuple[Block, ...] = ()
    end: End | None = None  # None: under way, or killed
    cut_off: int = 0  # bytes of a last line that was not written to its end
    # Whether each line names the one before; earlier versions wrote lines that do not.
    ordered: bool = field(default=True, compare=False)
    last: bytes = field(default=b"", compare=False)  # the checksum of its last line


class _Sizes:
    """What the blocks of a log hold together."""

    def __init__(self, blocks: Iterable[Block] = ()) -> None:
        self._blocks = self._calls = self._pairs = 0
        for block in blocks:
            self.add(block)

    def add(self, block: Block) -> None:
        """Count this block too; ValueError where that makes more than can be read."""
        self._blocks += 1
        for timed in block.timed:
            self._calls += len(timed.samples_ns) + sum(count for _, count in timed.thinned_ns)
            self._pairs += len(timed.slices) + len(timed.thinned_ns)
        if self._blocks > _MOST_BLOCKS or self._calls > _MOST_CALLS or self._pairs > _MOST_PAIRS:
            raise ValueError("more blocks or more calls than can be read")


class Appended:
    """A result file that this run alone writes: it is locked until the run or its process ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: FileIO | None = None
        self._sizes = _Sizes()
        self._last = b""  # the checksum of its last line; none where lines do not name it
        self.log: Log | None = None  # what it holds; None for a new file

    def __enter__(self) -> "Appended":
        with writing(self._path, ResultError):
            if is_stream(self._path):
                raise ResultError(f"{self._path}: is not a plain file; give another --output")
            begun = self._path.is_file() and self._path.stat().st_size
        if begun:
            try:
                self._lock()
                self.log = self._read()
            except BaseException:
                self.close()
                raise
        else:
            check_place(self._path)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Unlock it."""
        if self._file:
            self._file.close()

    def begin(self, header: Header) -> None:
        """Write the header of a new file; of another one, cut off an incomplete last line."""
        if self.log is None:
            _check_settings(header)
            file = self._lock()
            if os.fstat(file.fileno()).st_size:
                raise _is_written(self._path)
            self.append(header)
        elif self._file and self.log.cut_off:
            with writing(self._path, ResultError):
                self._file.truncate(self._path.stat().st_size - self.log.cut_off)

    def append(self, line: Header | Block | End) -> None:
        """Append a line, at once. ResultError where it cannot be written, or the file is full."""
        assert self._file is not None, "begun"
        rest = _line(line, self._last)
        try:
            if isinstance(line, Block):
                self._sizes.add(line)
            if os.fstat(self._file.fileno()).st_size + len(rest) > MOST_BYTES:
                raise ValueError("more bytes than can be read")
        except ValueError as error:
            raise ResultError(f"{self._path}: is full: {error}; give another --output") from None
        if self.log is None or self.log.ordered:
            self._last = _checksum_of(rest)
        with writing(self._path, ResultError):
            while rest:
                rest = rest[self._file.write(rest) :]

    def _lock(self) -> FileIO:
        with writing(self._path, ResultError):
            self._file = FileIO(self._path, "ab")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _is_written(self._path) from None
        except OSError:  # a file system without locks
            pass
        return self._file

    def _read(self) -> Log:
        log = read_log(self._path)
        if log.header.kind != SHARED and is_gzipped(self._path):
            name, packed = shlex.quote(str(self._path)), self._path.suffix == ".gz"
            unpack = f"gunzip {name}" if packed else f"gunzip < {name} > {name}.jsonl"
            raise ResultError(
                f"{self._path}: is compressed, so it cannot be continued; unpack it with "
                f"`{unpack}` and give the unpacked file"
            )
        self._sizes = _Sizes(log.blocks)
        self._last = log.last if log.ordered else b""
        return log


def _is_written(path: Path) -> ResultError:
    return ResultError(
        f"{path}: another run is writing this file; wait until it ends, or give another --output"
    )


def read_log(path: str | os.PathLike[str]) -> Log:
    """Read and check a result file; ResultError says what is wrong with it."""
    path = Path(path)
    return as_log(path, read_bytes(path))


def as_log(path: Path, content: bytes) -> Log:
    """The content of the file of that path."""
    lines = BytesIO(content)
    blocks: list[Block] = []
    end: End | None = None
    sizes = _Sizes()
    number = 1
    cut_off = 0
    ordered = True
    try:
        header = _header(path, before := lines.readline())
        names = {header.floor, *(header.again or ()), *(listed.name for listed in header.backends)}
        for line in lines:
            number += 1
            if not line.endswith(b"\n") and not _has_its_checksum(line[:-1] + b"\n"):
                cut_off = len(line)
                break
            _check(line)
            follows = _follows(line, before)
            if number > 2 and follows is not ordered:
                raise ValueError(_NOT_IN_ORDER)
            before, ordered = line, follows
            if line.startswith(_END_BEGINS):
                end = _END.decode(line)
            else:
                end = None  # that run was continued
                blocks.append(_block(line, header, names))
                sizes.add(blocks[-1])
    except RecursionError:
        raise ResultError(f"{path}: damaged result file: line {number}: nested too deep") from None
    except (msgspec.DecodeError, ValueError) as error:
        what = without_middle(str(error), _LONGEST_REASON)  # it may repeat what is in the line
        raise ResultError(f"{path}: damaged result file: line {number}: {what}") from None
    return Log(header, tuple(blocks), end, cut_off, ordered, _checksum_of(before))


def as_lines(log: Log) -> bytes:
    """The file of a log."""
    lines: list[Header | Block | End] = [log.header, *log.blocks]
    if log.end:
        lines.append(log.end)
    written: list[bytes] = []
    for line in lines:
        written.append(_line(line, _checksum_of(written[-1]) if written and log.ordered else b""))
    return b"".join(written)


def as_read(block: Block, header: Header) -> Block:
    """The block as a reader will get it; if it cannot be read, a failed block with the reason."""
    try:
        _check(line := _line(block))
        return _block(line, header, {block.backend})
    except (msgspec.DecodeError, ValueError, TypeError, OverflowError, RecursionError) as error:
        return Block(
            backend=block.backend,
            round=block.round,
            at_s=block.at_s,
            took_s=block.took_s,
            status="wrong",
            reason=f"its figures or texts are impossible: {first_line(error)}",
        )


def _check_settings(header: Header) -> None:
    """ResultError for settings that could not be read again."""
    try:
        msgspec.convert(msgspec.to_builtins(header), Header)
    except ValueError as error:
        raise ResultError(f"the settings cannot be kept in a result file: {error}") from None


def _line(line: msgspec.Struct, last: bytes = b"") -> bytes:
    """The line as it is written after one with this checksum."""
    fields = msgspec.json.encode(line)[:-1] + (_AFTER % last if last else b"")
    return fields + _CHECKSUM % crc32(fields)


def _checksum_of(line: bytes) -> bytes:
    return line[len(_CHECKSUM_BEGINS) - _CHECKSUM_LENGTH : -len(b'"}\n')]


def _follows(line: bytes, before: bytes) -> bool:
    """Whether it names the line before; False where it names none, ValueError for another."""
    right = _AFTER % _checksum_of(before)
    named = line[-_CHECKSUM_LENGTH - len(right) : -_CHECKSUM_LENGTH]
    if named != right and named.startswith(_AFTER_BEGINS):
        raise ValueError(_NOT_IN_ORDER)
    return named == right


def _has_its_checksum(line: bytes) -> bool:
    return line.endswith(_CHECKSUM % crc32(line[:-_CHECKSUM_LENGTH]))


def _check(line: bytes) -> None:
    """ValueError for a line that is not what was written."""
    if len(line) > _MOST_LINE:
        raise ValueError(f"it is longer than {_MOST_LINE // 2**20} MiB")
    if not _has_its_checksum(line):
        raise ValueError("its checksum does not match")


def _header(path: Path, line: bytes) -> Header:
    """The header; ResultError says what else the file is."""
    if line[-_CHECKSUM_LENGTH:].startswith(_CHECKSUM_BEGINS):
        _check(line)
    try:
        value = msgspec.json.decode(line[:_MOST_LINE])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = None
    if not isinstance(value, dict) or value.get("kind") not in ("comparison", SHARED):
        raise ResultError(f"{path}: not a result file of `lenet-bench compare` or `why`")
    if (schema := value.get("schema")) != SCHEMA:
        written = f"schema {str(schema)[:20]}, this one reads {SCHEMA}"
        raise ResultError(
            f"{path}: written by another version of lenet-bench ({written}); measure anew, or "
            "upgrade with: pip install --upgrade lenet-bench"
        )
    _check(line)
    header = msgspec.convert(value, Header)
    if header.rules.baseline not in (None, *(listed.name for listed in header.backends)):
        raise ValueError("its baseline is not among its backends")
    return header


def _block(line: bytes, header: Header, names: Collection[str]) -> Block:
    """The block; ValueError where its content is impossible."""
    block = _BLOCK.decode(line)
    if block.backend not in names:
        raise ValueError(f"{block.backend!r} is not among its backends")
    least = 0 if block.backend == header.floor else 1  # by a coarse clock, 0 ns for the floor
    if block.anatomy:
        _check_depth(block.anatomy.tree)
    if 0 < block.made < block.calls:
        raise ValueError("more calls than were made")
    for timed in block.timed:
        if timed.samples_ns if header.kind == SHARED else timed.thinned_ns:
            raise ValueError(f"the calls are not in the format of a {header.kind}")
        times = [ns for ns, _ in timed.thinned_ns]
        if times != sorted(set(times)):
            raise ValueError("times that do not increase")
        if timed.slices and sum(n for n, *_ in timed.slices) != len(timed.samples_ns):
            raise ValueError("slices that do not add up to the number of calls")
        if min(times or timed.samples_ns, default=least) < least:
            raise ValueError("a call with no duration")
    return block


def _check_depth(functions: Sequence[Function]) -> None:
    for _ in range(_DEEPEST):
        functions = [call for one in functions for call in one.calls]
        if not functions:
            return
    raise ValueError(f"functions nested more than {_DEEPEST} deep")
