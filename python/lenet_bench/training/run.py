"""A training run from its options to the weights file.

What may fail for want of a module, a file or a place to write fails before the first step.
"""

import json
import os
import platform
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..measure.pinning import Cores, choose_cores, on_cores
from ..mnist import Digits, find_mnist, read_mnist
from ..weights import write_weights
from .agreement import first_losses
from .batches import epoch_batches
from .begin import begin, resume
from .checkpoint import Checkpoint, Epoch, write_file
from .frameworks import MakeTrainer, import_extras, import_trainer, quietly
from .loop import correct, learn
from .options import TrainOptions, check_places
from .pace import PacedTrainer, StartUp
from .progress import Display, Watch, downloading, on_stderr
from .recipe import Recipe, check_recipe, first_weights, split
from .trainer import State, zero_velocity

if TYPE_CHECKING:
    from rich.console import Console


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

    @property
    def test_accuracy(self) -> float:
        """Of the test images, from 0 to 1."""
        return self.test_correct / self.test_images

    def to_json(self) -> dict[str, Any]:
        """Everything but the losses of each step."""
        told = {**asdict(self), "weights": str(self.weights), "curve": str(self.curve)}
        del told["losses"]
        return {**told, "test_accuracy": self.test_accuracy}


def train(
    options: TrainOptions,
    *,
    console: "Console | None" = None,
    make_trainer: MakeTrainer | None = None,
    watch: Watch | None = None,
) -> TrainResult:
    """Train, or go on training, and write the weights, their learning curve and the history."""
    check_recipe(options.recipe or Recipe())
    check_places(options)
    with _prepared(options, console, make_trainer, watch) as run:
        if options.compared:
            _make_first_steps(run)
        run.trainer.restore(run.checkpoint.state)
        finished = learn(
            run.checkpoint, run.trainer, run.digits, options.checkpoint, run.display, run.feeder
        )
        return _finish(options, finished, run)


def make_first_steps(
    options: TrainOptions, *, console: "Console | None" = None, watch: Watch
) -> None:
    """Only the steps that frameworks are compared by, which the watch is told; writes nothing."""
    with _prepared(options, console, None, watch) as run:
        _make_first_steps(run)


@dataclass(frozen=True)
class _Run:
    """All that a run works with."""

    checkpoint: Checkpoint
    trainer: PacedTrainer
    digits: Digits
    test: Digits
    display: Display
    feeder: Executor
    watch: Watch
    import_s: float
    build_s: float

    @property
    def start_up(self) -> StartUp:
        """What its start took up to now."""
        return StartUp(self.import_s, self.build_s, self.trainer.first_step_s)


@contextmanager
def _prepared(
    options: TrainOptions,
    console: "Console | None",
    make_trainer: MakeTrainer | None,
    watch: Watch | None,
) -> Iterator[_Run]:
    """The data read, the framework imported and built, on the cores that the threads ask for."""
    import_extras()
    console, watch = console or on_stderr(), watch or Watch()
    cores = choose_cores(options.threads) if options.threads else Cores((), ())
    with _feeder(cores.parent) as feeder, on_cores(cores.worker):
        with downloading(console) as progress:
            folder = find_mnist(options.data, progress=progress)
        digits, test = read_mnist("train", folder), read_mnist("test", folder)
        checkpoint = (resume if options.resume else begin)(options, digits)
        began = time.monotonic()
        make_trainer = make_trainer or import_trainer(options.framework, options.threads)
        import_s = time.monotonic() - began
        began = time.monotonic()
        with quietly():
            trainer = PacedTrainer(make_trainer(checkpoint.recipe, checkpoint.state.parameters))
        build_s = time.monotonic() - began
        display = Display(console, checkpoint.recipe, watch)
        yield _Run(checkpoint, trainer, digits, test, display, feeder, watch, import_s, build_s)


def _feeder(cores: tuple[int, ...]) -> Executor:
    """A thread that makes batches ahead, on cores that the framework does not use."""
    pin = partial(os.sched_setaffinity, 0, cores) if cores else None
    return ThreadPoolExecutor(1, initializer=pin)


def _make_first_steps(run: _Run) -> None:
    """The first steps of the recipe, whatever the checkpoint holds."""
    recipe, trainer = run.checkpoint.recipe, run.trainer
    trainer.restore(State(first_weights(recipe), zero_velocity()))
    learning, _ = split(recipe, len(run.digits))
    with closing(epoch_batches(recipe, 0, 0, run.digits, learning, run.feeder)) as batches:
        losses = first_losses(recipe, trainer, batches, run.display)
    trainer.lap()  # the run's pace is that of its own steps
    run.watch.began(trainer.describe(), run.start_up, losses)
    run.watch.learnt(run.checkpoint.history, run.checkpoint.past_losses)


def _finish(options: TrainOptions, checkpoint: Checkpoint, run: _Run) -> TrainResult:
    """The only look at the test images, with the epoch that the validation images chose."""
    trainer, test = run.trainer, run.test
    trainer.restore(replace(checkpoint.state, parameters=checkpoint.best))
    result = TrainResult(
        weights=options.output,
        curve=options.curve,
        history=checkpoint.history,
        chosen=checkpoint.best_epoch,
        test_images=len(test),
        test_correct=correct(trainer.logits(test.ink()), test.labels),
        losses=checkpoint.past_losses,
        start_up=run.start_up,
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
