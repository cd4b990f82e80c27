"""The same recipe in one framework or several, one after another, each in a process of its own.

All begin with the same weights and learn from the same batches, so what differs is the framework:
its speed, its memory, and its rounding. A framework that fails costs its own row.
"""

import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timezone

import msgspec

from ..measure.interrupts import interrupts
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
    read_mnist("train", folder)  # what is absent or damaged ends all
    options = replace(options, data=folder)
    started = datetime.now(timezone.utc).isoformat(timespec="seconds")
    runs: list[FrameworkRun] = []
    with interrupts():
        for framework in options.frameworks:
            runs.append(_train_in_own_process(framework, options, watch))
            if runs[-1].reason:
                watch(runs[-1])
            if runs[-1].status == "interrupted":
                break
    return TrainingResult(started, options.threads, options.recipe, tuple(runs))


def _train_in_own_process(framework: str, options: TrainOptions, watch: Watch) -> FrameworkRun:
    """The row of a run in a process of its own, however that process ends.

    A framework chooses threads and devices when it is imported, for the whole process.
    """
    row, timeout_s = FrameworkRun(framework, "failed"), options.timeout_s
    watch(row)
    try:
        # Not pinned: it pins itself, since batches are made on other cores.
        child = Child(
            f"{__package__}.run:serve",
            variables=variables(framework, options.threads),
            printed="shown" if os.environ.get("LENET_BENCH_DEBUG") else "kept",
        )
        with closing(child):
            child.tell((framework, msgspec.to_builtins(options, enc_hook=str)), timeout_s)
            while not row.over:
                if (message := child.hear(timeout_s)) is None:
                    continue  # it makes steps
                epochs, row = len(row.epochs), msgspec.convert(message, FrameworkRun)
                if len(row.epochs) > epochs:
                    watch(row)
    except KeyboardInterrupt:
        return replace(row, status="interrupted", reason=_what_is_left(row, options))
    except Died as died:
        if died.how == "late":
            reason = f"made no step for {span(timeout_s)} and was stopped (--timeout)"
            return replace(row, reason=reason)
        status: Status = "unavailable" if died.how == "missing" else "failed"
        return replace(row, status=status, reason=portable(died.sentence))
    return row


def _what_is_left(row: FrameworkRun, options: TrainOptions) -> str:
    """Where an interrupted run stopped, and the weights that it has written."""
    if row.chosen is None:
        return "stopped before there were weights to write"
    epochs = options.recipe.epochs
    return (
        f"stopped in epoch {min(len(row.epochs) + 1, epochs)} of {epochs};"
        f" {options.weights(row.framework)} holds the weights of epoch {row.chosen.epoch}"
    )
