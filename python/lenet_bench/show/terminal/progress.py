"""A command's progress, on one line of standard error; nothing outside a terminal."""

from __future__ import annotations  # nothing is measured to show that

import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

from ...texts import printable

if TYPE_CHECKING:
    from ...measure.comparison import Progress as Run

_REDRAW_S = 0.2
_WITHOUT_SIZE = 80  # columns of a terminal that does not say how many it has


class ProgressLine:
    """Called between timed calls; never draws while one is timed."""

    def __init__(self, stream: TextIO | None, total: float | None) -> None:
        self._stream, self._total = stream, total
        self._done = self._next = 0.0
        self._text = ""

    def __call__(self, doing: str, steps: float = 1) -> None:
        """So many steps more are done."""
        self._done += steps
        self._draw(self._done / self._total if self._total else None, doing)

    def of_a_run(self, run: Run) -> None:
        left = "" if run.left_s is None else f", about {_rounded(run.left_s)} left"
        self._draw(run.share, f"round {run.rounds + 1}, {run.doing}{left}")

    def above(self, lines: Iterable[str]) -> Iterator[str]:
        """These lines, for an output that may be the same terminal."""
        for line in lines:
            self.clear()
            yield line
            self._write(self._text)

    def clear(self) -> None:
        self._write("")

    def _draw(self, share: float | None, doing: str) -> None:
        if (now := time.monotonic()) >= self._next:
            self._next = now + _REDRAW_S
            self._text = doing if share is None else f"{100 * share:3.0f} %  {doing}"
            self._write(self._text)

    def _write(self, text: str) -> None:
        if self._stream is None:
            return
        columns = shutil.get_terminal_size().columns or _WITHOUT_SIZE  # Python 3.10 has 0
        room = columns - 1
        with suppress(OSError, ValueError):  # the terminal was closed
            self._stream.write(f"\r{printable(text, keep='')[:room]}\x1b[K")
            self._stream.flush()


def _rounded(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


@contextmanager
def progress(total: float | None = None) -> Iterator[ProgressLine]:
    line = ProgressLine(sys.stderr if sys.stderr and sys.stderr.isatty() else None, total)
    try:
        yield line
    finally:
        line.clear()
