"""One training run: from its options to a weights file.

Whatever is missing (a module, the data, a place to write) ends the run before the first step. The
best weights so far are written whole after each epoch, so that a run that is stopped leaves them.
"""

import hashlib
import json
import os
import platform
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timezone
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..atomic import write_atomically, writing
from ..errors import LenetBenchError
from ..measure.environment import read_processor
from ..measure.interrupts import handling, polite_kills
from ..measure.own_process import peak_rss_mib
from ..measure.pinning import Cores, choose_cores, on_cores
from ..mnist import Digits, find_mnist, read_mnist
from ..results.versioned import check_place
from ..weights import write_weights
from .agreement import STEPS
from .batches import Batch, epoch_batches
from .frameworks import import_extras, import_trainer, quietly
from .recipe import (
    Recipe,
    batches_an_epoch,
    check_loss,
    check_recipe,
    first_weights,
    rate,
    split,
)
from .result import Epoch, FrameworkRun, StartUp
from .trainer import Parameters, Trainer

#: Receives a line after each epoch.
Say = Callable[[str], None]
#: Receives the run so far: after each step, and whenever there is more in it.
Report = Callable[[FrameworkRun], None]


class Interrupted(LenetBenchError):
    """The user stopped the run (exit code 130)."""


@dataclass(frozen=True)
class TrainOptions:
    """One run of one framework."""

    output: Path = Path("lenet.safetensors")
    data: Path | None = None  # MNIST's folder; None: LENET_BENCH_MNIST, or downloaded
    recipe: Recipe = field(default_factory=Recipe)
    framework: str = "keras"
    threads: int | None = None  # of the framework; None: as many as it likes
    compared: bool = False  # first make the steps by which frameworks are compared

    @property
    def curve(self) -> Path:
        """The learning curve, beside the output."""
        return self.output.with_name(f"{self.output.stem}-learning-curve.png")


@dataclass(frozen=True)
class TrainResult:
    """What came of a run."""

    weights: Path
    curve: Path
    run: FrameworkRun

    def to_json(self) -> dict[str, Any]:
        """Everything but the losses of each step."""
        return {"weights": str(self.weights), "curve": str(self.curve), **self.run.to_json()}


def train(
    options: TrainOptions,
    *,
    say: Say | None = None,
    report: Report = lambda _: None,
) -> TrainResult:
    """Train, and write the weights and their learning curve.

    With `compared` and a recipe of no epochs it makes the first steps only, and writes nothing.
    """
    check_recipe(options.recipe, epochs_from=0 if options.compared else 1)
    check_places(options)
    import_extras()
    say = say or on_stderr()
    cores = choose_cores(options.threads) if options.threads else Cores((), ())
    with _feeder(cores.parent) as feeder, on_cores(cores.worker):
        folder = find_mnist(options.data)
        digits, test = read_mnist("train", folder), read_mnist("test", folder)
        run = _Run(options, digits, say, report)
        run.start()
        if options.compared:
            run.make_first_steps(feeder)
        if options.recipe.epochs:
            run.learn(feeder)
            run.finish(test)
        return TrainResult(options.output, options.curve, replace(run.row, status="ok"))


def on_stderr() -> Say:
    """Lines go to what is standard error now, whatever takes its place later."""
    return partial(print, file=sys.stderr, flush=True)


def check_places(options: TrainOptions) -> None:
    """Raise LenetBenchError unless the weights and their curve can be written."""
    if options.output.suffix != ".safetensors":
        raise LenetBenchError(f"{options.output}: expected a name that ends in .safetensors")
    if options.recipe.epochs:
        check_place(options.output)
        check_place(options.curve)


def checksum(digits: Digits) -> str:
    """Of the training images and their labels."""
    return hashlib.sha256(digits.images.tobytes() + digits.labels.tobytes()).hexdigest()


class _Run:
    """A run under way: the trainer, what it has reached, and the best parameters so far."""

    def __init__(self, options: TrainOptions, digits: Digits, say: Say, report: Report) -> None:
        self.row = FrameworkRun(options.framework, "failed")
        self._options = options
        self._digits = digits
        self._say = say
        self._report = report
        self._trainer: Trainer
        self._best: Parameters = {}

    def start(self) -> None:
        """Import the framework and build the network."""
        options, recipe = self._options, self._options.recipe
        began = time.monotonic()
        make_trainer = import_trainer(options.framework, options.threads)
        imported = time.monotonic()
        with quietly():
            self._trainer = make_trainer(recipe, first_weights(recipe))
        start_up = StartUp(imported - began, time.monotonic() - imported, None)
        self._grow(versions=self._trainer.describe(), start_up=start_up)

    def make_first_steps(self, feeder: Executor) -> None:
        """The steps by which frameworks are compared, at the rate that the cycle begins with."""
        recipe = self._options.recipe
        slow = rate(recipe, 0, 1)
        learning, _ = split(recipe, len(self._digits))
        losses: list[float] = []
        for batch in islice(epoch_batches(recipe, 0, self._digits, learning, feeder), STEPS):
            place = f"step {len(losses) + 1} of the first {STEPS}"
            losses.append(self._step(batch, slow, place)[0])
        self._trainer.load(first_weights(recipe))
        self._grow(first_losses=tuple(losses))

    def learn(self, feeder: Executor) -> None:
        """All epochs; Interrupted after a Ctrl-C."""
        recipe, digits = self._options.recipe, self._digits
        learning, validation = split(recipe, len(digits))
        with _noticing_interrupt() as interrupted:
            for epoch in range(1, recipe.epochs + 1):
                began = time.monotonic()
                batches = epoch_batches(recipe, epoch - 1, digits, learning, feeder)
                steps = batches_an_epoch(recipe, len(learning))
                losses, pace = self._learn_epoch(epoch, steps, batches, interrupted)
                if interrupted.is_set():
                    raise Interrupted(self._stopped(epoch))
                self._validate(epoch, losses, pace, validation, began)

    def finish(self, test: Digits) -> None:
        """Look at the test images once, with the epoch that the validation images chose."""
        self._trainer.load(self._best)
        right = _correct(self._trainer.logits(test.ink()), test.labels)
        self._grow(test_images=len(test), test_correct=right)
        self._write_weights()
        from .pictures import draw_curve

        with writing(self._options.curve):
            write_atomically(self._options.curve, draw_curve(self.row))

    def _learn_epoch(
        self, epoch: int, steps: int, batches: Iterator[Batch], interrupted: threading.Event
    ) -> tuple[list[float], float | None]:
        """The losses of an epoch's steps, and its images a second; fewer after an interrupt."""
        recipe = self._options.recipe
        losses, timed_s, images = [], 0.0, 0
        for number, batch in enumerate(batches):
            step = (epoch - 1) * steps + number
            now = rate(recipe, step, recipe.epochs * steps)
            loss, took = self._step(batch, now, f"epoch {epoch}, batch {number + 1}")
            losses.append(loss)
            if took:
                timed_s, images = timed_s + took, images + len(batch[1])
            if interrupted.is_set():
                break
        return losses, images / timed_s if timed_s else None

    def _step(self, batch: Batch, rate: float, place: str) -> tuple[float, float | None]:
        """One step: its loss, and the seconds in the framework; the first one's are start-up."""
        began = time.perf_counter()
        loss = self._trainer.step(*batch, rate)
        took: float | None = time.perf_counter() - began
        check_loss(self._options.recipe, loss, place)
        start_up = self.row.start_up
        if start_up and start_up.first_step_s is None:
            self._grow(start_up=replace(start_up, first_step_s=took))
            took = None
        self._report(self.row)
        return loss, took

    def _validate(
        self,
        number: int,
        losses: list[float],
        pace: float | None,
        validation: NDArray[np.int64],
        began: float,
    ) -> None:
        """An epoch's end: validate it, and keep its weights if it is the best so far."""
        logits = self._trainer.logits(self._digits.ink(validation))
        labels = self._digits.labels[validation]
        validation_loss = _cross_entropy(logits, labels)
        check_loss(self._options.recipe, validation_loss, f"the validation of epoch {number}")
        epoch = Epoch(
            epoch=number,
            loss=fmean(losses),
            validation_loss=validation_loss,
            validation_accuracy=_correct(logits, labels) / len(labels),
            seconds=round(time.monotonic() - began, 1),
            images_per_s=pace,
        )
        self._grow(epochs=(*self.row.epochs, epoch), losses=(*self.row.losses, *losses))
        if self.row.chosen is epoch:
            self._best = self._trainer.parameters()
            self._write_weights()
        self._say(
            f"epoch {number:2}/{self._options.recipe.epochs}  loss {epoch.loss:.4f}"
            f"  validation {validation_loss:.4f}, {100 * epoch.validation_accuracy:.2f} % right"
            f"  {epoch.seconds:.0f} s{f'  {pace:,.0f} images/s' if pace else ''}"
        )

    def _write_weights(self) -> None:
        write_weights(self._options.output, self._best, self._metadata())

    def _grow(self, **more: Any) -> None:
        self.row = replace(self.row, **more, peak_rss_mib=peak_rss_mib())
        self._report(self.row)

    def _stopped(self, epoch: int) -> str:
        stopped = f"stopped in epoch {epoch} of {self._options.recipe.epochs}"
        if chosen := self.row.chosen:
            return f"{stopped}; {self._options.output} holds the weights of epoch {chosen.epoch}"
        return f"{stopped}, before there were weights to write"

    def _metadata(self) -> dict[str, str]:
        recipe, row, chosen = self._options.recipe, self.row, self.row.chosen
        assert chosen is not None
        versions = {
            "python": platform.python_version(),
            "numpy": np.__version__,
            **(row.versions or {}),
        }
        metadata = {
            "network": "LeNet (Caffe) for MNIST",
            "layout": "OIHW, out x in, float32",
            "input": "28x28, 0 = paper, 1 = ink",
            "framework": row.framework,
            "recipe": json.dumps(asdict(recipe)),
            "seed": str(recipe.seed),
            "epochs": str(recipe.epochs),
            "chosen_epoch": str(chosen.epoch),
            "validation_images": str(recipe.validation),
            "validation_loss": f"{chosen.validation_loss:.5f}",
            "validation_accuracy": f"{chosen.validation_accuracy:.4f}",
            "training_data_sha256": checksum(self._digits),
            "versions": json.dumps(versions),
            "machine": f"{read_processor().model}, {os.cpu_count()} cores, {platform.system()}",
            "date": datetime.now(timezone.utc).date().isoformat(),
            "minutes": f"{sum(epoch.seconds for epoch in row.epochs) / 60:.1f}",
            "history": json.dumps([asdict(epoch) for epoch in row.epochs]),
        }
        if row.test_accuracy is not None:
            metadata["test_images"] = str(row.test_images)
            metadata["test_correct"] = str(row.test_correct)
            metadata["test_accuracy"] = f"{row.test_accuracy:.4f}"
        return metadata


def _feeder(cores: tuple[int, ...]) -> Executor:
    """A thread that makes batches ahead, on cores that the framework does not use."""
    pin = partial(os.sched_setaffinity, 0, cores) if cores else None
    return ThreadPoolExecutor(1, initializer=pin)


def _cross_entropy(logits: NDArray[np.float32], labels: NDArray[np.uint8]) -> float:
    """The mean of -log(probability of the right class)."""
    exact = logits.astype(np.float64)
    exact -= exact.max(axis=1, keepdims=True)
    right = exact[np.arange(len(labels)), labels]
    return float(np.mean(np.log(np.exp(exact).sum(axis=1)) - right))


def _correct(logits: NDArray[np.float32], labels: NDArray[np.uint8]) -> int:
    """How many images are classified right."""
    return int((logits.argmax(axis=1) == labels).sum())


@contextmanager
def _noticing_interrupt() -> Iterator[threading.Event]:
    """Ctrl-C or a polite kill stops the run after the current batch; a second one, at once."""
    interrupted = threading.Event()

    def notice(_signal: int, _frame: object) -> None:
        interrupted.set()
        noticing.close()

    with ExitStack() as noticing:
        noticing.enter_context(handling((signal.SIGINT, *polite_kills()), notice))
        yield interrupted
