"""Keep what a library prints off the terminal: for a while, or for good."""

import ctypes
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import TextIO


@contextmanager
def silence() -> Iterator[None]:
    """Drop all output, that of C++ included, and ignore warnings."""
    _flush()
    kept = {stream: _copy(stream) for stream in (1, 2)}
    ours = sys.stdout, sys.stderr
    try:
        for stream, copy in kept.items():
            if copy is not None:
                os.dup2(nowhere().fileno(), stream)
        sys.stdout = sys.stderr = nowhere()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        _flush()
        sys.stdout, sys.stderr = ours
        for stream, copy in kept.items():
            if copy is not None:
                os.dup2(copy, stream)
                os.close(copy)


def silence_libraries() -> None:
    """From now on, only this program's own output reaches standard output and error.

    What a framework's C++ writes there, at its first call or at the exit, is dropped: Python's two
    streams move to descriptors of their own.
    """
    _flush()
    for name, stream in (("stdout", 1), ("stderr", 2)):
        copy, python = _copy(stream), getattr(sys, name)
        if copy is None or python is None:
            continue
        moved = open(  # noqa: SIM115, PTH123 - for the rest of the process
            copy,
            "w",
            encoding=python.encoding,
            errors=python.errors,
            buffering=1 if python.line_buffering else -1,
        )
        setattr(sys, name, moved)
        setattr(sys, f"__{name}__", moved)  # used to find the terminal's width
        os.dup2(nowhere().fileno(), stream)
    warnings.simplefilter("ignore")


@cache
def nowhere() -> TextIO:
    """/dev/null, open for the whole process: logging keeps the stream that it was set up with."""
    return open(os.devnull, "w")  # noqa: PTH123


def _flush() -> None:
    """Write out what Python and C have buffered."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # closed, or not there at all
            stream.flush()
    ctypes.CDLL(None).fflush(None)


def _copy(stream: int) -> int | None:
    """A duplicate of the descriptor; None if it was closed from the start."""
    try:
        return os.dup(stream)
    except OSError:
        return None
