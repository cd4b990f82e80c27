"""The process of one framework: from the options that its parent sends to a weights file.

It sends its row each time that the row has grown, and at least once a second while it makes steps.
The best weights so far are written after each epoch, so that a run that is stopped leaves them.
"""

import json
import os
import platform
import time
import traceback
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import asdict, replace
from datetime import datetime, timezone
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..errors import Unavailable
from ..measure.build_arguments import sentence
from ..measure.environment import read_processor
from ..measure.pinning import Cores, choose_cores, on_cores
from ..measure.worker import peak_rss_mib
from ..mnist import Digits, find_mnist, read_mnist
from ..process import Parent
from ..weights import write_weights
from .augment import augment
from .frameworks import TrainOptions, import_trainer
from .recipe import Recipe, Stream, batches_an_epoch, check_loss, first_weights, order, rate, split
from .result import STEPS, Epoch, FrameworkRun, Status, confusions
from .trainer import Parameters, Trainer

Batch = tuple[NDArray[np.float32], NDArray[np.uint8]]

_PULSE_S = 1.0
_AHEAD = 8  # batches made ahead


def serve(parent: Parent) -> None:
    """Train as the parent says, and send it the row."""
    framework, options = parent.hear()
    options = msgspec.convert(options, TrainOptions, dec_hook=lambda _, path: Path(path))
    run = _Run(framework, options, parent)
    status: Status = "ok"
    reason = None
    try:
        run.train()
    except BaseException as error:
        if os.environ.get("LENET_BENCH_DEBUG"):
            traceback.print_exc()
        status = "unavailable" if isinstance(error, Unavailable) else "failed"
        reason = sentence(error)
    parent.say(asdict(replace(run.row, status=status, reason=reason)))


class _Run:
    """A run under way: the trainer, what it has reached, and the best parameters so far."""

    def __init__(self, framework: str, options: TrainOptions, parent: Parent) -> None:
        self.row = FrameworkRun(framework, "failed")
        self._options = options
        self._parent = parent
        self._told = 0.0  # when the parent was told last
        self._trainer: Trainer
        self._best: Parameters = {}

    def train(self) -> None:
        options = self._options
        cores = choose_cores(options.threads) if options.threads else Cores((), ())
        digits = read_mnist("train", find_mnist(options.data))
        with _feeder(cores.parent) as feeder, on_cores(cores.worker):
            make_trainer = import_trainer(self.row.framework)
            self._trainer = make_trainer(options.recipe, first_weights(options.recipe))
            self._grow(versions=self._trainer.describe())
            if options.compared:
                self._make_first_steps(digits, feeder)
            self._learn(digits, feeder)
            self._test()

    def _make_first_steps(self, digits: Digits, feeder: Executor) -> None:
        """The steps by which frameworks are compared, at the rate that the cycle begins with."""
        recipe = self._options.recipe
        slow = rate(recipe, 0, 1)
        learning, _ = split(recipe, len(digits))
        losses: list[float] = []
        for batch in islice(_batches(recipe, 0, digits, learning, feeder), STEPS):
            losses.append(self._step(batch, slow, f"step {len(losses) + 1} of the first {STEPS}"))
        self._trainer.load(first_weights(recipe))
        self._grow(first_losses=tuple(losses))

    def _learn(self, digits: Digits, feeder: Executor) -> None:
        """All epochs: learn, validate, and keep the weights that are the best so far."""
        recipe = self._options.recipe
        learning, validation = split(recipe, len(digits))
        steps = recipe.epochs * batches_an_epoch(recipe, len(learning))
        rates = (rate(recipe, step, steps) for step in range(steps))
        ink, labels = digits.ink(validation), digits.labels[validation]
        for number in range(1, recipe.epochs + 1):
            began = time.monotonic()
            losses, pace = list[float](), list[float]()
            for batch in _batches(recipe, number - 1, digits, learning, feeder):
                before = time.perf_counter()
                losses.append(
                    self._step(batch, next(rates), f"epoch {number}, batch {len(losses) + 1}")
                )
                pace.append(len(batch[1]) / (time.perf_counter() - before))
            logits = self._trainer.logits(ink)
            validation_loss = _cross_entropy(logits, labels)
            check_loss(recipe, validation_loss, f"the validation of epoch {number}")
            epoch = Epoch(
                epoch=number,
                loss=fmean(losses),
                validation_loss=validation_loss,
                validation_accuracy=_correct(logits, labels) / len(labels),
                seconds=round(time.monotonic() - began, 1),
                images_per_s=float(np.median(pace)),
            )
            epochs = (*self.row.epochs, epoch)
            self.row = replace(self.row, epochs=epochs, steps=self.row.steps + len(losses))
            if self.row.chosen is epoch:
                self._best = self._trainer.parameters()
                self._write_weights()
            self._grow()

    def _test(self) -> None:
        """Look at the test images once, with the epoch that the validation images chose."""
        test = read_mnist("test", find_mnist(self._options.data))
        self._trainer.load(self._best)
        answers = self._trainer.logits(test.ink()).argmax(axis=1)
        wrong = confusions(answers, test.labels)
        right = int((answers == test.labels).sum())
        self._grow(test_images=len(test), test_correct=right, test_wrong=wrong)
        self._write_weights()

    def _step(self, batch: Batch, rate: float, place: str) -> float:
        """One step, and its loss."""
        loss = self._trainer.step(*batch, rate)
        check_loss(self._options.recipe, loss, place)
        if time.monotonic() > self._told + _PULSE_S:
            self._tell(None)  # a sign of life
        return loss

    def _grow(self, **more: Any) -> None:
        self.row = replace(self.row, **more, peak_rss_mib=peak_rss_mib())
        self._tell(asdict(self.row))

    def _tell(self, message: Any) -> None:
        self._parent.say(message)
        self._told = time.monotonic()

    def _write_weights(self) -> None:
        path = self._options.weights(self.row.framework)
        write_weights(path, self._best, _metadata(self._options.recipe, self.row))


def _metadata(recipe: Recipe, row: FrameworkRun) -> dict[str, str]:
    """What the file of weights says of them."""
    chosen = row.chosen
    assert chosen is not None
    here = {"python": platform.python_version(), "numpy": np.__version__}
    metadata = {
        "network": "LeNet (Caffe) for MNIST",
        "layout": "OIHW, out x in, float32",
        "input": "28x28, 0 = paper, 1 = ink",
        "framework": row.framework,
        "versions": json.dumps({**here, **(row.versions or {})}),
        "machine": f"{read_processor().model}, {os.cpu_count()} cores, {platform.system()}",
        "date": datetime.now(timezone.utc).date().isoformat(),
        "recipe": json.dumps(asdict(recipe)),
        "seed": str(recipe.seed),
        "epochs": str(recipe.epochs),
        "history": json.dumps([asdict(epoch) for epoch in row.epochs]),
        "chosen_epoch": str(chosen.epoch),
        "validation_accuracy": f"{chosen.validation_accuracy:.4f}",
    }
    if row.test_accuracy is not None:
        metadata["test_images"] = str(row.test_images)
        metadata["test_correct"] = str(row.test_correct)
        metadata["test_accuracy"] = f"{row.test_accuracy:.4f}"
        metadata["test_wrong"] = json.dumps(row.test_wrong)
    return metadata


def _feeder(cores: tuple[int, ...]) -> Executor:
    """A thread that makes batches ahead, on cores that the framework does not use."""
    pin = partial(os.sched_setaffinity, 0, cores) if cores else None
    return ThreadPoolExecutor(1, initializer=pin)


def _batches(
    recipe: Recipe, epoch: int, digits: Digits, learning: NDArray[np.int64], feeder: Executor
) -> Iterator[Batch]:
    """The batches of an epoch, from 0: in the recipe's order, augmented, made ahead."""

    def make(number: int, which: NDArray[np.int64]) -> NDArray[np.float32]:
        random = recipe.stream(Stream.AUGMENTATION, epoch, number)
        return augment(digits.ink(which), digits.labels[which], recipe.augmentation, random)

    batches = order(recipe, epoch, learning)
    to_make = enumerate(batches)
    waiting = deque(feeder.submit(make, *one) for one in islice(to_make, _AHEAD))
    for which in batches:
        images = waiting.popleft().result()
        waiting.extend(feeder.submit(make, *one) for one in islice(to_make, 1))
        yield images, digits.labels[which]


def _cross_entropy(logits: NDArray[np.float32], labels: NDArray[np.uint8]) -> float:
    """The mean of -log(probability of the right class)."""
    exact = logits.astype(np.float64)
    exact -= exact.max(axis=1, keepdims=True)
    right = exact[np.arange(len(labels)), labels]
    return float(np.mean(np.log(np.exp(exact).sum(axis=1)) - right))


def _correct(logits: NDArray[np.float32], labels: NDArray[np.uint8]) -> int:
    return int((logits.argmax(axis=1) == labels).sum())
