"""A training run from its options to the weights file.

What may fail for want of a module, a file or a place to write fails before the first step.
"""

import hashlib
import json
import os
import platform
import time
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..atomic import write_atomically
from ..errors import LenetBenchError
from ..measure.pinning import Cores, choose_cores, on_cores
from ..mnist import Digits, find_mnist, read_mnist
from ..weights import write_weights
from .agreement import first_losses
from .batches import epoch_batches
from .checkpoint import Checkpoint, Epoch, read_checkpoint, write_file
from .frameworks import MakeTrainer, import_extras, import_trainer, quietly
from .loop import correct, learn
from .pace import PacedTrainer
from .progress import Display, downloading, on_stderr
from .recipe import Recipe, check_recipe, first_weights, split
from .trainer import State, Trainer, zero_velocity

if TYPE_CHECKING:
    from rich.console import Console

_ROOM = 8 << 20  # bytes: a checkpoint has 5.2 MB, the weights 1.7 MB


@dataclass(frozen=True)
class TrainOptions:
    """What to train, from what, into which files."""

    output: Path = Path("lenet.safetensors")
    data: Path | None = None  # MNIST's folder; None: LENET_BENCH_MNIST, or downloaded
    checkpoints: Path | None = None  # a folder; None: "checkpoints" beside the output
    resume: bool = False  # go on with the run that the checkpoint holds
    recipe: Recipe | None = None  # None: the default one, or the checkpoint's
    framework: str = "keras"
    threads: int | None = None  # of the framework; None: as many as it likes
    compared: bool = False  # make the first steps once more, to compare them with other frameworks'

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
class StartUp:
    """What it took before the framework learnt at its pace, in seconds."""

    import_s: float
    build_s: float
    first_step_s: float | None  # traces and compiles; None where nothing was left to learn

    @property
    def total_s(self) -> float:
        """All of it."""
        return self.import_s + self.build_s + (self.first_step_s or 0.0)


@dataclass(frozen=True)
class TrainResult:
    """What came of a run."""

    weights: Path
    curve: Path
    history: tuple[Epoch, ...]
    chosen: Epoch  # the one with the lowest validation loss, whose parameters were kept
    losses: tuple[float, ...]  # of every step
    test_images: int
    test_correct: int
    start_up: StartUp
    versions: dict[str, str]  # of the framework and what it runs on
    first_losses: tuple[float, ...] = ()  # of the steps that frameworks are compared by

    @property
    def test_accuracy(self) -> float:
        """Of the test images, from 0 to 1."""
        return self.test_correct / self.test_images

    def to_json(self) -> dict[str, Any]:
        """Everything but the losses of each step."""
        told = {**asdict(self), "weights": str(self.weights), "curve": str(self.curve)}
        del told["losses"], told["first_losses"]
        return {**told, "test_accuracy": self.test_accuracy}


def train(
    options: TrainOptions,
    *,
    console: "Console | None" = None,
    make_trainer: MakeTrainer | None = None,
) -> TrainResult:
    """Train, or go on training, and write the weights, their learning curve and the history."""
    check_recipe(options.recipe or Recipe())
    check_places(options)
    import_extras()
    console = console or on_stderr()
    cores = choose_cores(options.threads) if options.threads else Cores((), ())
    with _feeder(cores.parent) as feeder, on_cores(cores.worker):
        clock = [time.monotonic()]
        make_trainer = make_trainer or import_trainer(options.framework, options.threads)
        clock.append(time.monotonic())
        with downloading(console) as progress:
            folder = find_mnist(options.data, progress=progress)
        digits, test = read_mnist("train", folder), read_mnist("test", folder)
        checkpoint = _resume(options, digits) if options.resume else _begin(options, digits)
        clock.append(time.monotonic())
        with quietly():
            trainer = PacedTrainer(make_trainer(checkpoint.recipe, checkpoint.state.parameters))
        clock.append(time.monotonic())
        display = Display(console, checkpoint.recipe)
        first = (
            _first_losses(checkpoint.recipe, trainer, digits, display, feeder)
            if options.compared
            else ()
        )
        trainer.restore(checkpoint.state)
        checkpoint = learn(checkpoint, trainer, digits, options.checkpoint, display, feeder)
        start_up = StartUp(clock[1] - clock[0], clock[3] - clock[2], trainer.first_step_s)
        result = _finish(options, checkpoint, trainer, test, start_up)
        return replace(result, first_losses=first)


def check_places(options: TrainOptions) -> None:
    """Raise LenetBenchError unless all results will find their place."""
    if options.output.is_dir():
        raise LenetBenchError(f"{options.output}: expected a file to write, found a directory")
    if options.output.suffix != ".safetensors":
        raise LenetBenchError(f"{options.output}: expected a name that ends in .safetensors")
    for path in (options.output, options.checkpoint):
        # Not the file itself: a good one from an earlier run must survive this.
        trial = path.with_name(f".{path.name}.room")
        try:
            write_atomically(trial, bytes(_ROOM))
            trial.unlink()
        except OSError as error:
            raise LenetBenchError(f"{path}: cannot be written: {error.strerror or error}") from None


def _feeder(cores: tuple[int, ...]) -> Executor:
    """A thread that makes batches ahead, on cores that the framework does not use."""
    pin = partial(os.sched_setaffinity, 0, cores) if cores else None
    return ThreadPoolExecutor(1, initializer=pin)


def _begin(options: TrainOptions, digits: Digits) -> Checkpoint:
    """A new run; an unfinished one is not thrown away unasked."""
    recipe = options.recipe or Recipe()
    check_nothing_lost(options)
    parameters = first_weights(recipe)
    state = State(parameters, zero_velocity())
    return Checkpoint(recipe, checksum(digits), state, best=parameters, framework=options.framework)


def check_nothing_lost(options: TrainOptions) -> None:
    """Raise LenetBenchError where a new run would take the place of an unfinished one."""
    try:
        left = read_checkpoint(options.checkpoint)
    except LenetBenchError:  # an absent or damaged one holds nothing to lose
        return
    if not left.finished:
        raise LenetBenchError(
            f"{options.checkpoint} holds an unfinished run ({left.epoch} of {left.recipe.epochs}"
            " epochs): add --resume to go on with it, or delete it to begin anew"
        )


def _resume(options: TrainOptions, digits: Digits) -> Checkpoint:
    """The run that the checkpoint holds, if it is the one that the options mean."""
    checkpoint = read_checkpoint(options.checkpoint)
    if checkpoint.framework != options.framework:
        raise LenetBenchError(
            f"{options.checkpoint} holds a run in {checkpoint.framework}, not in"
            f" {options.framework}: resume it with --framework {checkpoint.framework}, or delete it"
        )
    if options.recipe is not None:
        check_same_recipe(options.checkpoint, checkpoint.recipe, options.recipe)
    if checkpoint.data != checksum(digits):
        raise LenetBenchError(
            f"{options.checkpoint} holds a run on other training images:"
            " resume it with the data that it began with, or delete it"
        )
    return checkpoint


def check_same_recipe(path: Path, found: Recipe, asked: Recipe) -> None:
    """Raise LenetBenchError, naming what differs, unless the run in this file can go on."""
    before, now = found.to_json(), asked.to_json()
    if changed := [name for name in now if now[name] != before[name]]:
        told = ", ".join(f"{n} {now[n]} instead of {before[n]}" for n in changed)
        raise LenetBenchError(
            f"{path} holds a run of another recipe ({told}):"
            " resume it with the options that it began with, or delete it"
        )


def _first_losses(
    recipe: Recipe, trainer: PacedTrainer, digits: Digits, display: Display, feeder: Executor
) -> tuple[float, ...]:
    """The first steps of the recipe, whatever the checkpoint holds."""
    trainer.restore(State(first_weights(recipe), zero_velocity()))
    learning, _ = split(recipe, len(digits))
    with closing(epoch_batches(recipe, 0, 0, digits, learning, feeder)) as batches:
        losses = first_losses(recipe, trainer, batches, display)
    trainer.lap()  # the run's pace is that of its own steps
    return losses


def _finish(
    options: TrainOptions,
    checkpoint: Checkpoint,
    trainer: Trainer,
    test: Digits,
    start_up: StartUp,
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
        losses=checkpoint.past_losses,
        start_up=start_up,
        versions=trainer.describe(),
    )
    metadata = _metadata(checkpoint, result)
    write_weights(options.output, checkpoint.best, metadata)
    history = {**metadata, "history": [asdict(epoch) for epoch in result.history]}
    write_file(options.history, json.dumps(history, indent=2).encode() + b"\n")
    from .curve import draw

    title = (
        f"LeNet on MNIST: validation {100 * result.chosen.validation_accuracy:.2f} %,"
        f" test {100 * result.test_accuracy:.2f} %"
    )
    write_file(options.curve, draw(result.history, title))
    return result


def _metadata(checkpoint: Checkpoint, result: TrainResult) -> dict[str, str]:
    recipe, chosen = checkpoint.recipe, result.chosen
    versions = {"python": platform.python_version(), "numpy": np.__version__, **result.versions}
    return {
        "network": "LeNet (Caffe) for MNIST",
        "layout": "OIHW, out x in, float32",
        "input": "28x28, 0 = paper, 1 = ink",
        "framework": checkpoint.framework,
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


def checksum(digits: Digits) -> str:
    return hashlib.sha256(digits.images.tobytes() + digits.labels.tobytes()).hexdigest()
