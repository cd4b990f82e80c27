"""A run in a process of its own: what a framework chooses at import, it chooses for a process."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import environments
from ..backends import find
from ..measure.interrupts import handling, polite_kills
from ..measure.pinning import Cores, thread_variables
from ..measure.process import WorkerError, WorkerProcess
from ..results.typed_json import decode
from .options import TrainOptions
from .result import FrameworkRun, Status


def train_apart(options: TrainOptions, timeout_s: float) -> FrameworkRun:
    """The row that the run gives; whatever becomes of its process is told there.

    The process is ended, with all that it started, where it shows no progress for `timeout_s`.
    """
    threads = options.threads or 1
    variables = {
        **thread_variables(threads),
        **environments.variables(find(options.framework)[0], threads),
    }
    row, over = FrameworkRun(options.framework, "failed"), False
    child = WorkerProcess(  # which pins itself, since its feeder runs on other cores
        sys.executable, variables, Cores((), ()), module=f"{__package__}.child", shown=True
    )
    with closing(child), _handing_on_interrupts(child) as interrupted:
        try:
            child.tell({"options": _to_json(options)}, timeout_s)
            while not over:
                told = child.hear(timeout_s)
                row = decode(FrameworkRun, told["row"]) if "row" in told else row
                over = "over" in told
        except WorkerError as error:
            status, reason = _how_it_ended(error, timeout_s, interrupted.is_set())
            row = replace(row, status=status, reason=reason)
    return row


@contextmanager
def _handing_on_interrupts(child: WorkerProcess) -> Iterator[threading.Event]:
    """Ctrl-C ends the run as it would alone, after the batch under way; a second one, at once."""
    interrupted = threading.Event()

    def hand_on(_signal: int, _frame: object) -> None:
        if interrupted.is_set():
            child.kill()
        else:
            child.interrupt()
        interrupted.set()

    with handling((signal.SIGINT, *polite_kills()), hand_on):
        yield interrupted


def _how_it_ended(error: WorkerError, timeout_s: float, interrupted: bool) -> tuple[Status, str]:
    if interrupted:
        return "interrupted", "stopped at once"
    if error.status == "timeout":
        return "failed", f"given up: it made no step for {timeout_s:g} s (--timeout)"
    if error.status == "unavailable":
        return "unavailable", error.reason
    return "failed", f"its process {_spelled(error.reason)}"


def _spelled(death: str) -> str:
    return f"was {death}" if death.startswith("killed") else death


def _to_json(options: TrainOptions) -> dict[str, Any]:
    """The options, their paths as text."""
    found = {name: str(v) if isinstance(v, Path) else v for name, v in vars(options).items()}
    return {**found, "recipe": options.recipe.to_json() if options.recipe else None}
