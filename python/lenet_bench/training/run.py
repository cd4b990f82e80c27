"""A training run from its options to the weights file.

What may fail for want of a module, a file or a place to write fails before the first step.
"""

import hashlib
import json
import os
import platform
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from importlib import import_module
from itertools import islice
from pathlib import Path
from statistics import fmean

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from ..errors import LenetBenchError, Unavailable
from ..mnist import Digits, find_mnist, read_mnist
from ..network import PARAMETERS
from ..weights import write_weights
from .augment import augment
from .checkpoint import (
    Checkpoint,
    Epoch,
    read_checkpoint,
    with_best,
    write_checkpoint,
    write_whole,
)
from .progress import Display
from .recipe import (
    Recipe,
    Stream,
    batches_an_epoch,
    check_recipe,
    first_weights,
    order,
    rate,
    split,
)
from .trainer import Parameters, State, Trainer

_BATCHES_AHEAD = 8  # made while the framework learns
_ROOM = 8 << 20  # bytes: a checkpoint has 5.2 MB, the weights 1.7 MB

MakeTrainer = Callable[[Recipe, Parameters], Trainer]


@dataclass(frozen=True)
class TrainOptions:
    """What to train, from what, into which files."""

    output: Path = Path("lenet.safetensors")
    data: Path | None = None  # MNIST's folder; None: LENET_BENCH_MNIST, or downloaded
    checkpoints: Path | None = None  # a folder; None: "checkpoints" beside the output
    resume: bool = False  # go on with the run that the checkpoint holds
    recipe: Recipe | None = None  # None: the default one, or the checkpoint's

    @property
    def checkpoint(self) -> Path:
        """The file that a run resumes from."""
        folder = self.checkpoints or self.output.parent / "checkpoints"
        return folder / f"{self.output.stem}.checkpoint.safetensors"

    @property
    def history(self) -> Path:
        """The epochs as JSON, beside the checkpoint."""
        return self.checkpoint.with_name(f"{self.output.stem}.history.json")

    @property
    def curve(self) -> Path:
        """The learning curve, beside the output."""
        return self.output.with_name(f"{self.output.stem}-learning-curve.png")


@dataclass(frozen=True)
class TrainResult:
    """What came of a run."""

    weights: Path
    curve: Path
    history: tuple[Epoch, ...]
    chosen: Epoch  # the one with the lowest validation loss, whose parameters were kept
    test_images: int
    test_correct: int

    @property
    def test_accuracy(self) -> float:
        """Of the test images, from 0 to 1."""
        return self.test_correct / self.test_images


class Interrupted(LenetBenchError):  # noqa: N818
    """The user stopped the run, which can go on from its checkpoint (exit code 130)."""


def train(
    options: TrainOptions,
    *,
    console: Console | None = None,
    make_trainer: MakeTrainer | None = None,
) -> TrainResult:
    """Train, or go on training, and write the weights, their learning curve and the history."""
    console = console or Console(stderr=True)
    check_recipe(options.recipe or Recipe())
    _check_places(options)
    make_trainer = make_trainer or _import_trainer()
    folder = find_mnist(options.data)
    digits, test = read_mnist("train", folder), read_mnist("test", folder)
    checkpoint = _resume(options, digits) if options.resume else _begin(options, digits)
    trainer = make_trainer(checkpoint.recipe, checkpoint.state.parameters)
    trainer.restore(checkpoint.state)
    checkpoint = learn(checkpoint, trainer, digits, options.checkpoint, console)
    return _finish(options, checkpoint, trainer, test)


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


def _check_places(options: TrainOptions) -> None:
    """Raise LenetBenchError unless all results will find their place."""
    if options.output.is_dir():
        raise LenetBenchError(f"{options.output}: expected a file to write, found a directory")
    if options.output.suffix != ".safetensors":
        raise LenetBenchError(f"{options.output}: expected a name that ends in .safetensors")
    for path in (options.output, options.checkpoint):
        # Not the file itself: a good one from an earlier run must survive this.
        trial = path.with_name(f".{path.name}.room.{os.getpid()}")
        try:
            write_whole(trial, bytes(_ROOM))
        except LenetBenchError as error:
            reason = str(error).rpartition(": ")[2]
            raise LenetBenchError(f"{path}: cannot be written: {reason}") from None
        trial.unlink()


def _import_trainer() -> MakeTrainer:
    """Keras, and with it matplotlib: the run would end without its picture."""
    try:
        import_module("matplotlib")
        trainer: MakeTrainer = import_module(f"{__package__}.keras_trainer").KerasTrainer
    except ImportError as error:
        raise Unavailable(
            f"training needs Keras, TensorFlow and matplotlib ({error});"
            " mend it with: pip install 'lenet-bench[train]'"
        ) from None
    return trainer


def _begin(options: TrainOptions, digits: Digits) -> Checkpoint:
    """A new run; an unfinished one is not thrown away unasked."""
    recipe = options.recipe or Recipe()
    if left := _unfinished(options.checkpoint):
        raise LenetBenchError(
            f"{options.checkpoint} holds an unfinished run ({left.epoch} of {left.recipe.epochs}"
            " epochs): add --resume to go on with it, or delete it to begin anew"
        )
    parameters = first_weights(recipe)
    velocity = {name: np.zeros(shape, np.float32) for name, shape in PARAMETERS.items()}
    return Checkpoint(recipe, _checksum(digits), State(parameters, velocity), best=parameters)


def _unfinished(path: Path) -> Checkpoint | None:
    with suppress(LenetBenchError):  # an absent or damaged one holds nothing to lose
        checkpoint = read_checkpoint(path)
        return None if checkpoint.finished else checkpoint
    return None


def _resume(options: TrainOptions, digits: Digits) -> Checkpoint:
    """The run that the checkpoint holds, if it is the one that the options mean."""
    checkpoint = read_checkpoint(options.checkpoint)
    if options.recipe is not None:
        found, asked = checkpoint.recipe.to_json(), options.recipe.to_json()
        if changed := [name for name in asked if asked[name] != found[name]]:
            told = ", ".join(f"{n} {asked[n]} instead of {found[n]}" for n in changed)
            raise LenetBenchError(
                f"{options.checkpoint} holds a run of another recipe ({told}):"
                " resume it with the options that it began with, or delete it"
            )
    if checkpoint.data != _checksum(digits):
        raise LenetBenchError(
            f"{options.checkpoint} holds a run on other training images:"
            " resume it with the data that it began with, or delete it"
        )
    return checkpoint


def _finish(
    options: TrainOptions, checkpoint: Checkpoint, trainer: Trainer, test: Digits
) -> TrainResult:
    """The only look at the test images, with the epoch that the validation images chose."""
    trainer.restore(replace(checkpoint.state, parameters=checkpoint.best))
    result = TrainResult(
        weights=options.output,
        curve=options.curve,
        history=checkpoint.history,
        chosen=checkpoint.best_epoch,
        test_images=len(test),
        test_correct=correct(trainer.logits(test.ink()), test.labels),
    )
    metadata = _metadata(checkpoint, trainer, result)
    write_weights(options.output, checkpoint.best, metadata)
    history = {**metadata, "history": [asdict(epoch) for epoch in result.history]}
    write_whole(options.history, json.dumps(history, indent=2).encode() + b"\n")
    from .curve import draw

    title = (
        f"LeNet on MNIST: validation {100 * result.chosen.validation_accuracy:.2f} %,"
        f" test {100 * result.test_accuracy:.2f} %"
    )
    write_whole(options.curve, draw(result.history, title))
    return result


def _metadata(checkpoint: Checkpoint, trainer: Trainer, result: TrainResult) -> dict[str, str]:
    recipe, chosen = checkpoint.recipe, result.chosen
    versions = {"python": platform.python_version(), "numpy": np.__version__, **trainer.describe()}
    return {
        "network": "LeNet (Caffe) for MNIST",
        "layout": "OIHW, out x in, float32",
        "input": "28x28, 0 = paper, 1 = ink",
        "recipe": json.dumps(recipe.to_json()),
        "seed": str(recipe.seed),
        "epochs": str(recipe.epochs),
        "chosen_epoch": str(chosen.epoch),
        "validation_images": str(recipe.validation),
        "validation_loss": f"{chosen.validation_loss:.5f}",
        "validation_accuracy": f"{chosen.validation_accuracy:.4f}",
        "test_images": str(result.test_images),
        "test_correct": str(result.test_correct),
        "test_accuracy": f"{result.test_accuracy:.4f}",
        "training_data_sha256": checkpoint.data,
        "versions": json.dumps(versions),
        "machine": f"{_processor()}, {os.cpu_count()} cores, {platform.system()}",
        "date": datetime.now(timezone.utc).date().isoformat(),
        "minutes": f"{sum(epoch.seconds for epoch in result.history) / 60:.1f}",
    }


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _checksum(digits: Digits) -> str:
    return hashlib.sha256(digits.images.tobytes() + digits.labels.tobytes()).hexdigest()


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
