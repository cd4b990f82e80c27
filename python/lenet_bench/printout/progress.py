"""How far a comparison is, while it runs."""

from __future__ import annotations  # the types of one command are not imported for another

import time
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from ..measure.comparison import Progress

_REDRAW_S = 0.2


class ProgressLine:
    """One line of progress that overwrites itself; nothing where the stream is no terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._shown = stream.isatty()
        self._next = 0.0

    def __call__(self, progress: Progress) -> None:
        """Draw it, if the last drawing is not too recent. A closed terminal is no error."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _REDRAW_S
        share = "" if progress.share is None else f"{progress.share:4.0%}  "
        self._write(f"\r\x1b[2K{share}{progress.doing}  {progress.elapsed_s:.0f} s")

    def clear(self) -> None:
        """Leave the line empty for what is printed next."""
        self._write("\r\x1b[2K")

    def _write(self, text: str) -> None:
        if not self._shown:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self._shown = False
