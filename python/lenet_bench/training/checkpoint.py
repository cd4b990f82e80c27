"""A training run on disk: all it takes to go on as if it had never stopped.

One safetensors file holds the parameters, the momentum and the best parameters so far; its
metadata hold the recipe, the place reached and the history, and a checksum over all of it. There is
no state of a random generator: each draw depends on the recipe and the place alone.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from ..atomic import write_atomically, writing
from ..errors import WeightsError
from ..network import PARAMETERS
from .recipe import Recipe
from .trainer import Parameters, State

_VERSION = "1"


@dataclass(frozen=True)
class Epoch:
    """One line of the history; losses are mean cross-entropies."""

    epoch: int  # from 1
    loss: float  # on the augmented images, while learning
    validation_loss: float
    validation_accuracy: float
    seconds: float
    images_per_s: float | None = None  # learnt from in the framework's steps, its first left out


@dataclass(frozen=True)
class Checkpoint:
    """A run between two steps."""

    recipe: Recipe
    data: str  # the checksum of the training images
    state: State
    best: Parameters  # of the epoch with the lowest validation loss
    history: tuple[Epoch, ...] = ()
    losses: tuple[float, ...] = ()  # of the batches done of the epoch under way
    seconds: float = 0.0  # that the epoch under way has taken
    framework: str = "keras"
    past_losses: tuple[float, ...] = ()  # of the batches of the whole epochs

    @property
    def epoch(self) -> int:
        """Whole epochs done."""
        return len(self.history)

    @property
    def finished(self) -> bool:
        """Whether nothing is left to learn."""
        return self.epoch >= self.recipe.epochs

    @property
    def best_epoch(self) -> Epoch:
        """The epoch with the lowest validation loss."""
        return min(self.history, key=lambda epoch: epoch.validation_loss)


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Put the checkpoint in the place of the one before; a crash leaves one of the two whole."""
    tensors = {
        **_named("parameters", checkpoint.state.parameters),
        **_named("velocity", checkpoint.state.velocity),
        **_named("best", checkpoint.best),
    }
    run = json.dumps(
        {
            "framework": checkpoint.framework,
            "recipe": checkpoint.recipe.to_json(),
            "data": checkpoint.data,
            "history": [asdict(epoch) for epoch in checkpoint.history],
            "losses": checkpoint.losses,
            "past_losses": checkpoint.past_losses,
            "seconds": checkpoint.seconds,
        }
    )
    metadata = {"version": _VERSION, "run": run, "sha256": _checksum(tensors, run)}
    write_file(path, save(tensors, metadata=metadata))


def read_checkpoint(path: Path) -> Checkpoint:
    """The run as it was written; raises WeightsError where a bit of it is wrong."""
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise WeightsError(f"{path}: no such checkpoint; train without resuming") from None
    except (SafetensorError, OSError, ValueError, TypeError) as error:
        raise WeightsError(
            f"{path}: not a readable checkpoint ({error}); delete it and train again"
        ) from None
    run = metadata.get("run", "")
    if metadata.get("version") != _VERSION or metadata.get("sha256") != _checksum(tensors, run):
        raise WeightsError(f"{path}: the checkpoint is damaged; delete it and train again")
    told = json.loads(run)
    return Checkpoint(
        recipe=Recipe.from_json(told["recipe"]),
        data=told["data"],
        state=State(_taken("parameters", tensors), _taken("velocity", tensors)),
        best=_taken("best", tensors),
        history=tuple(Epoch(**epoch) for epoch in told["history"]),
        losses=tuple(told["losses"]),
        seconds=told["seconds"],
        framework=told.get("framework", "keras"),  # for long the only one
        past_losses=tuple(told.get("past_losses", ())),
    )


def write_file(path: Path, content: bytes) -> None:
    """Write one of a run's files whole; what hinders that, told in a sentence."""
    with writing(path):
        write_atomically(path, content)


def with_best(checkpoint: Checkpoint) -> Checkpoint:
    """The checkpoint at an epoch's end, its parameters kept as the best if they are."""
    if checkpoint.best_epoch is checkpoint.history[-1]:
        return replace(checkpoint, best=checkpoint.state.parameters)
    return checkpoint


def _named(group: str, arrays: Parameters) -> dict[str, NDArray[np.float32]]:
    return {f"{group}/{name}": np.ascontiguousarray(arrays[name]) for name in PARAMETERS}


def _taken(group: str, tensors: Mapping[str, NDArray[np.float32]]) -> Parameters:
    return {name: tensors[f"{group}/{name}"] for name in PARAMETERS}


def _checksum(tensors: Mapping[str, NDArray[np.float32]], run: str) -> str:
    digest = hashlib.sha256(run.encode())
    for name in sorted(tensors):
        digest.update(f"{name} {tensors[name].dtype} {tensors[name].shape}".encode())
        digest.update(tensors[name].tobytes())
    return digest.hexdigest()
