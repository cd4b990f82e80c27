"""Keep a framework's greetings off the terminal while it is imported and built."""

import ctypes
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def silence() -> Iterator[None]:
    """Send standard output and error to nowhere, also what C++ writes there; ignore warnings."""
    _flush()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    kept = {stream: _copy(stream) for stream in (1, 2)}
    try:
        for stream, copy in kept.items():
            if copy is not None:
                os.dup2(nowhere, stream)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        _flush()
        for stream, copy in kept.items():
            if copy is not None:
                os.dup2(copy, stream)
                os.close(copy)
        os.close(nowhere)


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
