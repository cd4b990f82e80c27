"""The process of a run that `apart` started.

    python -m lenet_bench.training.child READ_FD WRITE_FD PARENT_PID

It is told its options, and tells its row of the result each time that there is more in it, and once
a second at most that it lives. Progress goes to standard error, as in any run; what a framework
prints goes nowhere.
"""

import os
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ..backends import only_our_words
from ..errors import LenetBenchError, Unavailable
from ..lifeline import die_with
from ..measure.own_process import peak_rss_mib
from ..measure.protocol import Channel
from .checkpoint import Epoch
from .loop import Interrupted
from .options import TrainOptions
from .pace import StartUp
from .progress import Watch
from .recipe import Recipe
from .result import FrameworkRun, Status
from .run import make_first_steps, train

_PULSE_S = 1.0


def main() -> None:
    """Train as the parent says, and tell it what came of that."""
    read_fd, write_fd, parent = map(int, sys.argv[1:])
    die_with(parent)
    for fd in (read_fd, write_fd):
        os.set_inheritable(fd, False)
    channel = Channel(read_fd, write_fd)
    options = _from_json(channel.receive()["options"])
    if not os.environ.get("LENET_BENCH_DEBUG"):
        only_our_words()
    row = _train(options, Report(channel, options.framework))
    sys.stderr.flush()
    channel.send({"row": asdict(row), "over": True})
    os._exit(0)  # what a framework registered for the exit may hang


class Report(Watch):
    """The row as it grows; the parent has all of it, should the process end here."""

    def __init__(self, channel: Channel, framework: str) -> None:
        self.row = FrameworkRun(framework, "failed")
        self._channel = channel
        self._told = time.monotonic()

    def began(
        self, versions: Mapping[str, str], start_up: StartUp, first_losses: Sequence[float]
    ) -> None:
        """The row has its framework and the losses that it is compared by."""
        self._tell(versions=versions, start_up=start_up, first_losses=tuple(first_losses))

    def stepped(self) -> None:
        """It lives; not each step is worth waking the parent, who has a core to share."""
        if time.monotonic() > self._told + _PULSE_S:
            self._send({})

    def learnt(self, epochs: Sequence[Epoch], losses: Sequence[float]) -> None:
        """The row has these epochs."""
        self._tell(epochs=tuple(epochs), losses=tuple(losses))

    def _tell(self, **found: Any) -> None:
        self.row = replace(self.row, **found, peak_rss_mib=peak_rss_mib())
        self._send({"row": asdict(self.row)})

    def _send(self, message: dict[str, Any]) -> None:
        self._channel.send(message)
        self._told = time.monotonic()


def _train(options: TrainOptions, report: Report) -> FrameworkRun:
    """The row in the end."""
    try:
        if options.recipe and not options.recipe.epochs:
            make_first_steps(options, watch=report)
            return replace(report.row, status="ok")
        result = train(options, watch=report)
    except BaseException as error:
        if os.environ.get("LENET_BENCH_DEBUG"):
            traceback.print_exc()
        status, reason = _what_went_wrong(error)
        return replace(report.row, status=status, reason=reason)
    return replace(
        report.row,
        status="ok",
        start_up=result.start_up,
        peak_rss_mib=peak_rss_mib(),
        test_images=result.test_images,
        test_correct=result.test_correct,
    )


def _what_went_wrong(error: BaseException) -> tuple[Status, str]:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", "stopped before it began to learn"
    if isinstance(error, Interrupted):
        return "interrupted", str(error)
    if isinstance(error, Unavailable):
        return "unavailable", str(error)
    if isinstance(error, LenetBenchError):
        return "failed", str(error)
    return "failed", f"{type(error).__name__}: {error}".rstrip(": ")


def _from_json(told: dict[str, Any]) -> TrainOptions:
    for name in ("output", "data", "checkpoints"):
        told[name] = Path(told[name]) if told[name] else None
    told["recipe"] = Recipe.from_json(told["recipe"]) if told["recipe"] else None
    return TrainOptions(**told)


if __name__ == "__main__":
    main()
