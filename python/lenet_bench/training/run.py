"""A training run from its options to the weights file.

What may fail for want of a module, a file or a place to write fails before the first step.
"""

import hashlib
import json
import os
import platform
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from importlib import import_module
from pathlib import Path

import numpy as np
from rich.console import Console

from ..atomic import write_atomically
from ..errors import LenetBenchError, Unavailable
from ..mnist import Digits, find_mnist, read_mnist
from ..network import PARAMETERS
from ..weights import write_weights
from .checkpoint import Checkpoint, Epoch, read_checkpoint, write_file
from .loop import correct, learn
from .progress import downloading
from .recipe import Recipe, check_recipe, first_weights
from .trainer import Parameters, State, Trainer

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
    with downloading(console) as progress:
        folder = find_mnist(options.data, progress=progress)
    digits, test = read_mnist("train", folder), read_mnist("test", folder)
    checkpoint = _resume(options, digits) if options.resume else _begin(options, digits)
    trainer = make_trainer(checkpoint.recipe, checkpoint.state.parameters)
    trainer.restore(checkpoint.state)
    checkpoint = learn(checkpoint, trainer, digits, options.checkpoint, console)
    return _finish(options, checkpoint, trainer, test)


def _check_places(options: TrainOptions) -> None:
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
    write_file(options.history, json.dumps(history, indent=2).encode() + b"\n")
    from .curve import draw

    title = (
        f"LeNet on MNIST: validation {100 * result.chosen.validation_accuracy:.2f} %,"
        f" test {100 * result.test_accuracy:.2f} %"
    )
    write_file(options.curve, draw(result.history, title))
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
