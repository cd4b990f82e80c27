"""What the parent and a worker say to each other: JSON messages over a pair of pipes of their own.

Not over standard output, so a rung that prints breaks nothing. Each message has its length in
front; arrays travel as base64 of their bytes.
"""

import base64
import json
import os
import select
import struct
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

Message = dict[str, Any]

_HEADER = struct.Struct(">4sQ")
_MARK = b"LNB1"
_CHUNK = 1 << 16


class ClosedError(Exception):
    """The other side is gone, or speaks nonsense."""


class Channel:
    """One end of the conversation. `process_fd`, where given, is readable once the peer is dead."""

    def __init__(self, read_fd: int, write_fd: int, process_fd: int | None = None) -> None:
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._process_fd = process_fd
        self._received = bytearray()
        os.set_blocking(read_fd, False)
        os.set_blocking(write_fd, False)

    def send(self, message: Message, timeout_s: float | None = None) -> None:
        """Say it; TimeoutError where the peer does not read it, ClosedError where there is none."""
        content = json.dumps(message).encode()
        rest = memoryview(_HEADER.pack(_MARK, len(content)) + content)
        deadline = _deadline(timeout_s)
        while rest:
            self._wait(self._write_fd, select.POLLOUT, deadline)
            try:
                rest = rest[os.write(self._write_fd, rest) :]
            except (BrokenPipeError, BlockingIOError):  # the latter: only its end woke us
                raise ClosedError from None

    def receive(self, timeout_s: float | None = None) -> Message:
        """The next message; TimeoutError where none comes, ClosedError where none can come."""
        deadline = _deadline(timeout_s)
        mark, length = _HEADER.unpack(self._take(_HEADER.size, deadline))
        if mark != _MARK:
            raise ClosedError
        message: Message = json.loads(self._take(length, deadline))
        return message

    def close(self) -> None:
        """Hang up."""
        for fd in (self._read_fd, self._write_fd, self._process_fd):
            if fd is not None:
                os.close(fd)

    def _take(self, count: int, deadline: float | None) -> bytes:
        while len(self._received) < count:
            self._wait(self._read_fd, select.POLLIN, deadline)
            try:
                content = os.read(self._read_fd, _CHUNK)
            except BlockingIOError:  # only its end woke us
                raise ClosedError from None
            if not content:
                raise ClosedError
            self._received += content
        taken = bytes(self._received[:count])
        del self._received[:count]
        return taken

    def _wait(self, fd: int, event: int, deadline: float | None) -> None:
        """Sleep until this end is ready or the peer is dead: whatever is tried next tells which."""
        poll = select.poll()
        poll.register(fd, event)
        if self._process_fd is not None:
            poll.register(self._process_fd, select.POLLIN)
        left_ms = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
        if not poll.poll(left_ms):
            raise TimeoutError


def encode(array: NDArray[np.float32]) -> str:
    """The bytes of a float32 array as text."""
    return base64.b64encode(np.ascontiguousarray(array, "<f4").tobytes()).decode()


def decode(text: str, *shape: int) -> NDArray[np.float32]:
    """The array again; -1 is a length to find out."""
    return np.frombuffer(base64.b64decode(text), "<f4").reshape(shape).astype(np.float32)


def _deadline(timeout_s: float | None) -> float | None:
    return None if timeout_s is None else time.monotonic() + timeout_s
