"""The same recipe in one framework or several, one after another, each in a process of its own.

All begin with the same weights and learn from the same batches, so what differs is the framework:
its speed, its memory, and its rounding. A framework that fails costs its own row.
"""

import hashlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import datetime, timezone

import msgspec

from ..measure.environment import read_machine
from ..measure.interrupts import handling, polite_kills
from ..mnist import find_mnist, read_mnist
from ..process import Child, Died
from ..results.portable import portable
from ..units import span
from .frameworks import TrainOptions, check_options, check_places, variables
from .result import FrameworkRun, Status, TrainingResult

#: Receives the row of a framework: when that begins, after each epoch, and when it fails.
Watch = Callable[[FrameworkRun], None]


def train(options: TrainOptions, *, watch: Watch = lambda _: None) -> TrainingResult:
    """Train in each framework, and write the weights of each."""
    check_options(options)
    check_places(options)
    folder = find_mnist(options.data)
    options, digits = replace(options, data=folder), read_mnist("train", folder)
    data_sha256 = hashlib.sha256(digits.images.tobytes() + digits.labels.tobytes()).hexdigest()
    started = datetime.now(timezone.utc).isoformat(timespec="seconds")
    runs: list[FrameworkRun] = []
    for framework in options.frameworks:
        runs.append(_train_in_own_process(framework, options, data_sha256, watch))
        if runs[-1].reason:
            watch(runs[-1])
        if runs[-1].status == "interrupted":
            break
    return TrainingResult(started, read_machine(), options.threads, options.recipe, tuple(runs))


def _train_in_own_process(
    framework: str, options: TrainOptions, data_sha256: str, watch: Watch
) -> FrameworkRun:
    """The row of a run in a process of its own, however that process ends.

    A framework chooses threads and devices when it is imported, for the whole process.
    """
    row, timeout_s = FrameworkRun(framework, "failed"), options.timeout_s
    watch(row)
    interrupted = threading.Event()
    try:
        # Not pinned: it pins itself, since batches are made on other cores.
        child = Child(
            f"{__package__}.run:serve",
            variables=variables(framework, options.threads),
            printed="shown" if os.environ.get("LENET_BENCH_DEBUG") else "kept",
        )
        with closing(child), _passing_on_interrupts(child, interrupted):
            plain = msgspec.to_builtins(options, enc_hook=str)
            child.tell((framework, plain, data_sha256), timeout_s)
            while not row.over:
                if (message := child.hear(timeout_s)) is None:
                    continue  # it makes steps
                epochs, row = len(row.epochs), msgspec.convert(message, FrameworkRun)
                if len(row.epochs) > epochs:
                    watch(row)
    except Died as died:
        if interrupted.is_set():
            return replace(row, status="interrupted", reason="stopped at once")
        if died.how == "late":
            reason = f"made no step for {span(timeout_s)} and was stopped (--timeout)"
            return replace(row, reason=reason)
        status: Status = "unavailable" if died.how == "missing" else "failed"
        return replace(row, status=status, reason=portable(died.sentence))
    return row


@contextmanager
def _passing_on_interrupts(child: Child, interrupted: threading.Event) -> Iterator[None]:
    """Ctrl-C stops the run after its current batch; a second one ends it at once."""

    def pass_on(_signal: int, _frame: object) -> None:
        if interrupted.is_set():
            child.kill()
        else:
            child.interrupt()
        interrupted.set()

    with handling((signal.SIGINT, *polite_kills()), pass_on):
        yield
