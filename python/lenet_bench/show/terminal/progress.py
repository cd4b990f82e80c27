"""A command's progress, on one line of standard error; nothing outside a terminal."""

from __future__ import annotations  # rich is imported where there is a terminal to draw in

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from ...texts import printable

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from ...measure.comparison import Progress as Run

_REDRAW_S = 0.2


class ProgressBar:
    """Called between timed blocks; never draws while one is timed."""

    def __init__(self, bar: Bar | None, total: float | None) -> None:
        self._bar = bar
        self._task = bar.add_task("", total=total) if bar else None
        self._next = 0.0

    def __call__(self, doing: str, steps: float = 1) -> None:
        """So many steps more are done."""
        self._draw(doing, advance=steps)

    def of_a_run(self, run: Run) -> None:
        left = "" if run.left_s is None else f", about {_rounded(run.left_s)} left"
        total = None if run.share is None else 1.0
        doing = f"round {run.rounds + 1}, {run.doing}{left}"
        self._draw(doing, completed=run.share or 0.0, total=total)

    def _draw(self, doing: str, **change: float | None) -> None:
        if self._bar is None or self._task is None:
            return
        self._bar.update(self._task, description=printable(doing, keep=""), **change)  # type: ignore[arg-type]
        if (now := time.monotonic()) >= self._next:
            self._next = now + _REDRAW_S
            with suppress(OSError, ValueError):  # the terminal was closed
                self._bar.refresh()


def _rounded(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


@contextmanager
def progress(total: float | None = None) -> Iterator[ProgressBar]:
    if sys.stderr is None or not sys.stderr.isatty():
        yield ProgressBar(None, None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        BarColumn(bar_width=24),
        TaskProgressColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
        console=Console(file=sys.stderr),
        transient=True,
        auto_refresh=False,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    with suppress(OSError, ValueError):
        bar.start()
    try:
        yield ProgressBar(bar, total)
    finally:
        with suppress(OSError, ValueError):
            bar.stop()
