"""Every choice of a training run, with its default. It imports little: `train --help` shows it."""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.random import Generator

#: The trainers in training/, from the framework with the most layers above its kernels on.
FRAMEWORKS = {
    "keras": "keras_trainer:KerasTrainer",
    "keras-jax": "keras_trainer:KerasTrainer",
    "keras-torch": "keras_trainer:KerasTrainer",
    "tensorflow": "tensorflow_trainer:TensorFlowTrainer",
    "torch": "torch_trainer:TorchTrainer",
    "jax": "jax_trainer:JaxTrainer",
}


class Stream(IntEnum):
    """What a random stream is for."""

    WEIGHTS = 0
    SPLIT = 1
    ORDER = 2
    AUGMENTATION = 3


@dataclass(frozen=True)
class Augmentation:
    """How far a training image may differ from MNIST's: the largest change of each kind."""

    rotation: float = 12.0  # degrees, either way
    scale: float = 0.12  # of the size, larger or smaller
    shear: float = 0.15
    shift: float = 2.0  # pixels, either way
    thicker: float = 0.5  # 1: the stroke grows by a pixel on each side
    thinner: float = 0.5  # 1: the stroke loses a pixel on each side
    blur: float = 0.5  # 1: wholly the 3x3 binomial blur
    contrast: float = 0.3  # of the ink's darkness, and of its gamma's logarithm
    european: float = 0.15  # of the ones and sevens: replaced by European ones


@dataclass(frozen=True)
class Recipe:
    """SGD with Nesterov momentum and a one-cycle rate, on augmented images."""

    epochs: int = 30
    batch: int = 128
    rate: float = 0.05  # at the top of the cycle
    momentum: float = 0.9
    weight_decay: float = 5e-4  # of the weights, not of the biases
    seed: int = 1
    validation: int = 5000  # training images held out to choose the epoch
    images: int | None = None  # use only so many of the training images: for a quick try
    augmentation: Augmentation = field(default_factory=Augmentation)

    def stream(self, purpose: Stream, *position: int) -> "Generator":
        """The random numbers for one purpose at one position of the run."""
        import numpy as np

        return np.random.default_rng([self.seed, purpose, *position])
