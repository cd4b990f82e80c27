"""The loop: epochs of augmented batches, each epoch validated and put in the checkpoint."""

import signal
import threading
import time
from collections.abc import Generator, Iterator
from concurrent.futures import Executor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from ..errors import LenetBenchError
from ..measure.interrupts import handling, polite_kills
from ..mnist import Digits
from .batches import Batch, epoch_batches
from .checkpoint import Checkpoint, Epoch, with_best, write_checkpoint
from .pace import PacedTrainer
from .progress import Display
from .recipe import batches_an_epoch, check_loss, rate, split


class Interrupted(LenetBenchError):
    """The user stopped the run, which can go on from its checkpoint (exit code 130)."""


def learn(
    checkpoint: Checkpoint,
    trainer: PacedTrainer,
    digits: Digits,
    path: Path,
    display: Display,
    feeder: Executor,
) -> Checkpoint:
    """All epochs that are left; each ends with a checkpoint in `path`.

    The `feeder` makes batches ahead.
    """
    learning, validation = split(checkpoint.recipe, len(digits))
    with _noticing_interrupt() as interrupted:
        while not checkpoint.finished:
            epoch, done = checkpoint.epoch, len(checkpoint.losses)
            batches = epoch_batches(checkpoint.recipe, epoch, done, digits, learning, feeder)
            count = batches_an_epoch(checkpoint.recipe, len(learning))
            checkpoint = _learn_epoch(checkpoint, trainer, count, batches, display, interrupted)
            if interrupted.is_set():
                write_checkpoint(path, replace(checkpoint, state=trainer.state()))
                raise Interrupted(
                    f"stopped in epoch {checkpoint.epoch + 1} of {checkpoint.recipe.epochs};"
                    f" the same command with --resume goes on from {path}"
                )
            checkpoint = _end_epoch(checkpoint, trainer, digits, validation)
            write_checkpoint(path, checkpoint)
            display.epoch(checkpoint)
    return checkpoint


def _learn_epoch(
    checkpoint: Checkpoint,
    trainer: PacedTrainer,
    count: int,
    batches: Generator[Batch, None, None],
    display: Display,
    interrupted: threading.Event,
) -> Checkpoint:
    """The batches that are left of the `count` of an epoch, or those before an interrupt."""
    recipe, epoch = checkpoint.recipe, checkpoint.epoch
    losses = list(checkpoint.losses)
    start = time.monotonic()
    title = f"epoch {epoch + 1}/{recipe.epochs}"
    with display.steps(title, count, len(losses)), closing(batches):
        for images, labels in batches:
            step = epoch * count + len(losses)
            loss = trainer.step(images, labels, rate(recipe, step, recipe.epochs * count))
            check_loss(recipe, loss, f"epoch {epoch + 1}, batch {len(losses) + 1}")
            losses.append(loss)
            display.step(loss)
            if interrupted.is_set():
                break
    seconds = checkpoint.seconds + time.monotonic() - start
    return replace(checkpoint, losses=tuple(losses), seconds=seconds)


def _end_epoch(
    checkpoint: Checkpoint, trainer: PacedTrainer, digits: Digits, validation: NDArray[np.int64]
) -> Checkpoint:
    """The checkpoint after an epoch: validated, and remembered if it is the best so far."""
    logits = trainer.logits(digits.ink(validation))
    labels, number = digits.labels[validation], checkpoint.epoch + 1
    validation_loss = cross_entropy(logits, labels)
    check_loss(checkpoint.recipe, validation_loss, f"the validation of epoch {number}")
    epoch = Epoch(
        epoch=number,
        loss=fmean(checkpoint.losses),
        validation_loss=validation_loss,
        validation_accuracy=correct(logits, labels) / len(labels),
        seconds=round(checkpoint.seconds, 1),
        images_per_s=trainer.lap(),
    )
    return with_best(
        replace(
            checkpoint,
            state=trainer.state(),
            history=(*checkpoint.history, epoch),
            losses=(),
            past_losses=checkpoint.past_losses + checkpoint.losses,
            seconds=0.0,
        )
    )


def cross_entropy(logits: NDArray[np.float32], labels: NDArray[np.uint8]) -> float:
    """The mean of -log(probability of the right class)."""
    exact = logits.astype(np.float64)
    exact -= exact.max(axis=1, keepdims=True)
    right = exact[np.arange(len(labels)), labels]
    return float(np.mean(np.log(np.exp(exact).sum(axis=1)) - right))


def correct(logits: NDArray[np.float32], labels: NDArray[np.uint8]) -> int:
    """How many images are classified right."""
    return int((logits.argmax(axis=1) == labels).sum())


@contextmanager
def _noticing_interrupt() -> Iterator[threading.Event]:
    """Ctrl-C, or a polite kill, asks to stop after the batch under way; a second does not wait."""
    interrupted = threading.Event()

    def notice(_signal: int, _frame: object) -> None:
        interrupted.set()
        noticing.close()

    with ExitStack() as noticing:
        noticing.enter_context(handling((signal.SIGINT, *polite_kills()), notice))
        yield interrupted
