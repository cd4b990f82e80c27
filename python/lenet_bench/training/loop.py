"""Training in one framework, in its own process: from the recipe to a weights file.

The best weights so far are written after each epoch, so that a run that is stopped leaves them.
"""

import json
import platform
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from datetime import datetime, timezone
from itertools import count, repeat
from pathlib import Path
from statistics import fmean, median

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..arrays import Bytes, Floats
from ..choices import Recipe, Stream
from ..errors import LenetBenchError, Unavailable
from ..measure.environment import read_processor
from ..mnist import Digits, read_mnist
from ..process import Parent
from ..weights import write_weights
from .augment import augment
from .frameworks import import_trainer
from .recipe import first_weights, order, rate, split
from .result import STEPS, Epoch, FrameworkRun, confusions
from .trainer import Trainer

Batch = tuple[Floats, Bytes]

_TESTED_AT_ONCE = 500  # images
_DIVERGED = 100.0  # a mean loss: the first weights have 2.3


def serve(parent: Parent) -> None:
    """Train as the parent says, and send it the row after each epoch and at the end."""
    framework, weights, recipe, data, several = parent.hear()
    row = begun = FrameworkRun(framework, weights)
    try:
        for row in _train(begun, msgspec.convert(recipe, Recipe), Path(data), several):
            parent.say(asdict(row))
    except Unavailable as error:
        parent.say(asdict(replace(row, status="unavailable", reason=str(error))))
    except LenetBenchError as error:
        parent.say(asdict(replace(row, status="failed", reason=str(error))))


def _train(row: FrameworkRun, recipe: Recipe, data: Path, several: bool) -> Iterator[FrameworkRun]:
    """The row after each epoch, and after the test."""
    make_trainer = import_trainer(row.framework)
    digits = read_mnist("train", data)
    learning, validation = split(recipe, len(digits))
    ink, labels = digits.ink(validation), digits.labels[validation]
    epochs = [order(recipe, number, learning) for number in range(recipe.epochs)]
    steps = sum(map(len, epochs))
    rates = (rate(recipe, step, steps) for step in range(steps))
    trainer = make_trainer(recipe, first_weights(recipe))
    row = replace(row, versions=_versions())
    if several:
        batches = _batches(recipe, 0, epochs[0][:STEPS], digits)
        losses, _ = _learn(trainer, recipe, batches, repeat(rate(recipe, 0, steps)))
        row = replace(row, first_losses=tuple(losses))
        trainer = make_trainer(recipe, first_weights(recipe))
    for number, numbers in enumerate(epochs):
        began = time.monotonic()
        batches = _batches(recipe, number, numbers, digits)
        losses, images_per_s = _learn(trainer, recipe, batches, rates)
        logits = _logits(trainer, ink)
        epoch = Epoch(
            epoch=number + 1,
            loss=fmean(losses),
            validation_loss=_checked(_cross_entropy(logits, labels), recipe),
            validation_accuracy=float(np.mean(logits.argmax(axis=1) == labels)),
            seconds=round(time.monotonic() - began, 1),
            images_per_s=images_per_s,
        )
        row = replace(row, epochs=(*row.epochs, epoch))
        if row.chosen is epoch:
            best = trainer.parameters()
            write_weights(row.weights, best, _metadata(recipe, row))
        yield row
    # The test images are looked at once, with the epoch that the validation images chose.
    test = read_mnist("test", data)
    answers = _logits(make_trainer(recipe, best), test.ink()).argmax(axis=1)
    row = replace(
        row,
        status="ok",
        test_images=len(test),
        test_correct=int((answers == test.labels).sum()),
        test_wrong=confusions(answers, test.labels),
    )
    write_weights(row.weights, best, _metadata(recipe, row))
    yield row


def _batches(
    recipe: Recipe, epoch: int, batches: list[NDArray[np.int64]], digits: Digits
) -> Iterator[Batch]:
    """The batches of an epoch, augmented by a thread ahead of the steps."""

    def make(number: int, which: NDArray[np.int64]) -> Batch:
        random = recipe.stream(Stream.AUGMENTATION, epoch, number)
        labels = digits.labels[which]
        return augment(digits.ink(which), labels, recipe.augmentation, random), labels

    with ThreadPoolExecutor(1) as ahead:
        yield from ahead.map(make, count(), batches)


def _learn(
    trainer: Trainer, recipe: Recipe, batches: Iterable[Batch], rates: Iterable[float]
) -> tuple[list[float], float]:
    """The loss of each step, and the images per second of the median step."""
    losses, seconds = [], []
    for (images, labels), now in zip(batches, rates, strict=False):
        before = time.perf_counter()
        losses.append(trainer.step(images, labels, now))
        seconds.append(time.perf_counter() - before)
    _checked(fmean(losses), recipe)
    return losses, len(labels) / median(seconds)


def _checked(loss: float, recipe: Recipe) -> float:
    """Return the loss, unless it is no number or absurd."""
    if loss < _DIVERGED:
        return loss
    raise LenetBenchError(
        f"the loss is {loss:.3g}: the run diverged; train again with a rate below {recipe.rate:g}"
    )


def _logits(trainer: Trainer, images: Floats) -> Floats:
    starts = range(0, len(images), _TESTED_AT_ONCE)
    return np.concatenate([trainer.logits(images[at : at + _TESTED_AT_ONCE]) for at in starts])


def _cross_entropy(logits: Floats, labels: Bytes) -> float:
    """The mean of -log(probability of the right class)."""
    exact = logits.astype(np.float64)
    exact -= exact.max(axis=1, keepdims=True)
    right = exact[np.arange(len(labels)), labels]
    return float(np.mean(np.log(np.exp(exact).sum(axis=1)) - right))


def _versions() -> dict[str, str]:
    """Python, NumPy, and the frameworks that are imported."""
    modules = ("numpy", "keras", "tensorflow", "torch", "jax")
    found = {name: str(sys.modules[name].__version__) for name in modules if name in sys.modules}
    return {"python": platform.python_version(), **found}


def _metadata(recipe: Recipe, row: FrameworkRun) -> dict[str, str]:
    """What the file of weights says of them."""
    metadata = {
        "framework": row.framework,
        "versions": json.dumps(row.versions),
        "machine": str(read_processor().model),
        "date": datetime.now(timezone.utc).date().isoformat(),
        "recipe": json.dumps(asdict(recipe)),
        "history": json.dumps([asdict(epoch) for epoch in row.epochs]),
    }
    if row.chosen:
        metadata["chosen_epoch"] = str(row.chosen.epoch)
        metadata["validation_accuracy"] = f"{row.chosen.validation_accuracy:.4f}"
    if row.test_accuracy is not None:
        metadata["test_images"] = str(row.test_images)
        metadata["test_correct"] = str(row.test_correct)
        metadata["test_accuracy"] = f"{row.test_accuracy:.4f}"
        metadata["test_wrong"] = json.dumps(row.test_wrong)
    return metadata
