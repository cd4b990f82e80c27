"""The process of one framework in a side-by-side training.

It reads its options, and sends its row each time that the row has grown, or at least once a second
while it makes steps. Progress goes to standard error; what a framework prints goes nowhere.
"""

import os
import sys
import time
import traceback
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import msgspec

from ..errors import Unavailable
from ..measure.built import sentence
from ..process import Parent
from ..silence import nowhere, silence_libraries
from .result import FrameworkRun, Status
from .run import Interrupted, Say, TrainOptions, on_stderr, train

_PULSE_S = 1.0


def serve(parent: Parent) -> None:
    """Train with the options that the parent sends, and send it the row."""
    options = msgspec.convert(parent.hear(), TrainOptions, dec_hook=_path)
    debug = os.environ.get("LENET_BENCH_DEBUG")
    if not debug:
        silence_libraries()
    say = on_stderr()
    if not debug:
        sys.stdout = sys.stderr = nowhere()
    row = _train(options, _Report(parent, options.framework), say)
    parent.say({"row": asdict(row), "over": True})


class _Report:
    """Sends the row as it grows; the parent has all of it, should the process end here."""

    def __init__(self, parent: Parent, framework: str) -> None:
        self.row = FrameworkRun(framework, "failed")
        self._parent = parent
        self._sent = 0.0

    def __call__(self, row: FrameworkRun) -> None:
        """Send the row where it has grown, else a sign of life, and not at each step."""
        grown = row is not self.row
        if grown or time.monotonic() > self._sent + _PULSE_S:
            self._parent.say({"row": asdict(row)} if grown else {})
            self.row, self._sent = row, time.monotonic()


def _train(options: TrainOptions, report: _Report, say: Say) -> FrameworkRun:
    """The row in the end."""
    try:
        return train(options, say=say, report=report).run
    except BaseException as error:
        if os.environ.get("LENET_BENCH_DEBUG"):
            traceback.print_exc()
        status, reason = _what_went_wrong(error)
        return replace(report.row, status=status, reason=reason)


def _what_went_wrong(error: BaseException) -> tuple[Status, str]:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", "stopped before it began to learn"
    if isinstance(error, Interrupted):
        return "interrupted", str(error)
    return "unavailable" if isinstance(error, Unavailable) else "failed", sentence(error)


def _path(kind: type, value: Any) -> Any:
    return Path(value) if issubclass(kind, Path) else value
