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
    """Send standard output and error to nowhere, also what C++ writes there; ignore warnings."""
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
    """From now on, only what this program prints reaches standard output and error.

    Whatever a framework's C++ writes there, when it is first called or when it is taken down at
    the exit, goes nowhere: Python's two streams move to descriptors of their own.
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
        setattr(sys, f"__{name}__", moved)  # by which the width of a terminal is found
        os.dup2(nowhere().fileno(), stream)
    warnings.simplefilter("ignore")


@cache
def nowhere() -> TextIO:
    """One for the whole process: logging keeps the stream that it found when it began."""
    return open(os.devnull, "w")  # noqa: PTH123


def _flush() -> None:
    """Let everything out that was printed until now, by Python and by C."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # closed, or not there at all
            stream.flush()
    ctypes.CDLL(None).fflush(None)


def _copy(stream: int) -> int | None:
    """A second way to where a stream goes; None where it was closed from the start."""
    try:
        return os.dup(stream)
    except OSError:
        return None
