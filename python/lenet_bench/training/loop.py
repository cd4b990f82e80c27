"""The loop: epochs of augmented batches, each epoch validated and put in the checkpoint."""

import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import fmean

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from ..errors import LenetBenchError
from ..mnist import Digits
from .augment import augment
from .checkpoint import Checkpoint, Epoch, with_best, write_checkpoint
from .progress import Display
from .recipe import Recipe, Stream, batches_an_epoch, order, rate, split
from .trainer import Trainer

_BATCHES_AHEAD = 8  # made while the framework learns


class Interrupted(LenetBenchError):
    """The user stopped the run, which can go on from its checkpoint (exit code 130)."""


def learn(
    checkpoint: Checkpoint, trainer: Trainer, digits: Digits, path: Path, console: Console
) -> Checkpoint:
    """All epochs that are left; each ends with a checkpoint in `path`."""
    learning, validation = split(checkpoint.recipe, len(digits))
    display = Display(console, checkpoint.recipe)
    with _noticing_interrupt() as interrupted:
        while not checkpoint.finished:
            checkpoint = _learn_epoch(checkpoint, trainer, digits, learning, display, interrupted)
            if interrupted.is_set():
                write_checkpoint(path, replace(checkpoint, state=trainer.state()))
                raise Interrupted(
                    f"stopped in epoch {checkpoint.epoch + 1} of {checkpoint.recipe.epochs};"
                    f" the same command with --resume goes on from {path}"
                )
            checkpoint = _end_epoch(checkpoint, trainer, digits, validation)
            write_checkpoint(path, checkpoint)
            display.line(checkpoint.history[-1])
    return checkpoint


def _learn_epoch(
    checkpoint: Checkpoint,
    trainer: Trainer,
    digits: Digits,
    learning: NDArray[np.int64],
    display: Display,
    interrupted: threading.Event,
) -> Checkpoint:
    """The batches that are left of one epoch, or those before an interrupt."""
    recipe, epoch = checkpoint.recipe, checkpoint.epoch
    batches = batches_an_epoch(recipe, len(learning))
    losses = list(checkpoint.losses)
    start = time.monotonic()
    with display.epoch(epoch + 1, batches, len(losses)):
        for images, labels in _batches(recipe, epoch, len(losses), digits, learning):
            step = epoch * batches + len(losses)
            loss = trainer.step(images, labels, rate(recipe, step, recipe.epochs * batches))
            if not np.isfinite(loss):
                raise LenetBenchError(
                    f"the loss became {loss} in epoch {epoch + 1}, batch {len(losses) + 1}:"
                    f" the run diverged; train again with a rate below {recipe.rate:g}"
                )
            losses.append(loss)
            display.step(loss)
            if interrupted.is_set():
                break
    seconds = checkpoint.seconds + time.monotonic() - start
    return replace(checkpoint, losses=tuple(losses), seconds=seconds)


def _batches(
    recipe: Recipe, epoch: int, done: int, digits: Digits, learning: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.uint8]]]:
    """The epoch's augmented batches after the first `done`, made ahead in a thread."""

    def make(number: int, which: NDArray[np.int64]) -> NDArray[np.float32]:
        random = recipe.stream(Stream.AUGMENTATION, epoch, number)
        return augment(digits.ink(which), recipe.augmentation, random)

    left = list(enumerate(order(recipe, epoch, learning)))[done:]
    with ThreadPoolExecutor(1) as pool:
        orders = iter(left)
        waiting = [pool.submit(make, *one) for one in islice(orders, _BATCHES_AHEAD)]
        try:
            for _, which in left:
                images = waiting.pop(0).result()
                waiting += [pool.submit(make, *one) for one in islice(orders, 1)]
                yield images, digits.labels[which]
        finally:
            pool.shutdown(cancel_futures=True)


def _end_epoch(
    checkpoint: Checkpoint, trainer: Trainer, digits: Digits, validation: NDArray[np.int64]
) -> Checkpoint:
    """The checkpoint after an epoch: validated, and remembered if it is the best so far."""
    logits = trainer.logits(digits.ink(validation))
    labels = digits.labels[validation]
    epoch = Epoch(
        epoch=checkpoint.epoch + 1,
        loss=fmean(checkpoint.losses),
        validation_loss=cross_entropy(logits, labels),
        validation_accuracy=correct(logits, labels) / len(labels),
        seconds=round(checkpoint.seconds, 1),
    )
    return with_best(
        replace(
            checkpoint,
            state=trainer.state(),
            history=(*checkpoint.history, epoch),
            losses=(),
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
    """Ctrl-C asks to stop after the batch under way; a second one does not wait for it."""
    interrupted = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield interrupted  # only the main thread may handle signals
        return

    def notice(_signal: int, _frame: object) -> None:
        interrupted.set()
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, notice)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, before)
