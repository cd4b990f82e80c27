"""The same recipe in one framework or several, one after another, each in a process of its own.

All begin with the same weights and learn from the same batches, so what differs is the framework:
its speed, its memory, and its rounding. The result file is replaced whole after each framework. A
framework that fails costs its own row.
"""

import hashlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import datetime, timezone

import msgspec

from .. import __version__
from ..errors import LenetBenchError
from ..measure.environment import read_machine
from ..measure.interrupts import handling, polite_kills
from ..mnist import Digits, find_mnist, read_mnist
from ..process import Child, Died
from ..results.portable import argument, portable
from ..units import span
from .frameworks import TRAINERS, TrainOptions, check_options, check_places, variables
from .result import FrameworkRun, Status, TrainingResult, read_training, write_training

#: Receives the row of a framework: when that begins, after each epoch, and when it fails.
Watch = Callable[[FrameworkRun], None]


def train(options: TrainOptions, *, watch: Watch = lambda _: None) -> TrainingResult:
    """Train in each framework, and write the weights, and the result where its file is named.

    A result file of the same run is gone on with: the frameworks that ended well keep their rows.
    """
    check_options(options)
    check_places(options)
    folder = find_mnist(options.data)
    options = replace(options, data=folder)
    result = _begin(options, read_mnist("train", folder))
    for framework in options.frameworks:
        if result.run(framework):
            continue  # the file had it
        run = _train_apart(framework, options, result.data_sha256, watch)
        if run.reason:
            watch(run)
        runs = sorted([*result.runs, run], key=lambda run: list(TRAINERS).index(run.framework))
        result = replace(result, runs=tuple(runs))
        if options.compared:
            write_training(options.output, result)
        if run.status == "interrupted":
            break
    return result


def _begin(options: TrainOptions, digits: Digits) -> TrainingResult:
    """An empty result, or the one in the file without its failures."""
    new = TrainingResult(
        version=__version__,
        argv=tuple(map(argument, sys.argv[1:])),
        started=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        machine=read_machine(),
        threads=options.threads,
        recipe=options.recipe,
        data_sha256=hashlib.sha256(digits.images.tobytes() + digits.labels.tobytes()).hexdigest(),
    )
    if not options.compared or not options.output.exists():
        return new
    earlier = read_training(options.output)
    names = ("recipe", "threads", "data_sha256")
    if changed := [name for name in names if getattr(earlier, name) != getattr(new, name)]:
        raise LenetBenchError(
            f"{options.output} was made with another {changed[0].replace('_sha256', '')};"
            " name another file with -o, or delete this one"
        )
    return replace(earlier, runs=tuple(run for run in earlier.runs if run.status == "ok"))


def _train_apart(
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
