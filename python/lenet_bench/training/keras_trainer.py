"""LeNet in Keras 3, on whichever framework Keras runs (KERAS_BACKEND; TensorFlow unless set)."""

import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # its greetings would tear the progress bar

import keras
import numpy as np
from numpy.typing import NDArray

from ..network import CLASSES, IMAGE_SIDE, LAYERS, PARAMETERS
from .recipe import Recipe
from .trainer import Parameters, State

_EVALUATION_BATCH = 500


class KerasTrainer:
    """A keras.Sequential and its SGD; velocities as Keras keeps them (rate included)."""

    def __init__(self, recipe: Recipe, parameters: Parameters) -> None:
        _repeat_exactly()
        self._model = _build(recipe.weight_decay)
        self._optimizer = keras.optimizers.SGD(
            learning_rate=recipe.rate, momentum=recipe.momentum, nesterov=True
        )
        self._optimizer.build(self._model.trainable_variables)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        # The metric is the cross-entropy alone; Keras's own "loss" includes the L2 penalty.
        metric = keras.metrics.SparseCategoricalCrossentropy(from_logits=True, name="entropy")
        self._model.compile(self._optimizer, loss, metrics=[metric], jit_compile=False)
        zero = {name: np.zeros(shape, np.float32) for name, shape in PARAMETERS.items()}
        self.restore(State(parameters, zero))

    def step(self, images: NDArray[np.float32], labels: NDArray[np.uint8], rate: float) -> float:
        """Learn from a batch (n, 28, 28); its mean cross-entropy before the step."""
        self._optimizer.learning_rate.assign(rate)
        self._model.reset_metrics()  # Keras would give the mean over all batches so far
        logs = self._model.train_on_batch(images[..., None], labels, return_dict=True)
        return float(logs["entropy"])

    def logits(self, images: NDArray[np.float32]) -> NDArray[np.float32]:
        """The ten logits of each image, (n, 10)."""
        starts = range(0, len(images), _EVALUATION_BATCH)
        batches = [images[start : start + _EVALUATION_BATCH, ..., None] for start in starts]
        return np.concatenate([self._model.predict_on_batch(batch) for batch in batches])

    def state(self) -> State:
        """A copy of the state."""
        return State(
            {name: _to_caffe(name, v) for name, v in self._variables().items()},
            {name: _to_caffe(name, v) for name, v in self._velocities().items()},
        )

    def restore(self, state: State) -> None:
        """Go on from this state."""
        for name in PARAMETERS:
            self._variables()[name].assign(_to_keras(name, state.parameters[name]))
            self._velocities()[name].assign(_to_keras(name, state.velocity[name]))

    def describe(self) -> dict[str, str]:
        """The framework and what it runs on, with versions."""
        backend = keras.backend.backend()
        return {"keras": keras.__version__, backend: _version(backend)}

    def _variables(self) -> "dict[str, keras.Variable]":
        return dict(zip(PARAMETERS, self._model.trainable_variables, strict=True))

    def _velocities(self) -> "dict[str, keras.Variable]":
        return dict(zip(PARAMETERS, self._optimizer.momentums, strict=True))


def _build(weight_decay: float) -> keras.Sequential:
    """The network in Keras's own layout, height x width x channels."""
    layers = keras.layers

    def penalty() -> keras.regularizers.L2:
        return keras.regularizers.L2(weight_decay / 2)  # Keras's gradient is twice its factor

    return keras.Sequential(
        [
            keras.Input((IMAGE_SIDE, IMAGE_SIDE, 1)),
            layers.Conv2D(20, 5, kernel_regularizer=penalty(), name="conv1"),
            layers.MaxPooling2D(2, name="pool1"),
            layers.Conv2D(50, 5, kernel_regularizer=penalty(), name="conv2"),
            layers.MaxPooling2D(2, name="pool2"),
            layers.Flatten(),
            layers.Dense(500, activation="relu", kernel_regularizer=penalty(), name="fc1"),
            layers.Dense(CLASSES, kernel_regularizer=penalty(), name="fc2"),
        ]
    )


def _to_keras(name: str, array: NDArray[np.float32]) -> NDArray[np.float32]:
    """From Caffe's layout: OIHW to HWIO, out x in to in x out, fc1's inputs CHW to HWC."""
    if name == "fc1.weight":
        channels, height, width = LAYERS["pool2"]
        array = array.reshape(-1, channels, height, width).transpose(0, 2, 3, 1)
        array = array.reshape(len(array), -1)
    turned: NDArray[np.float32] = array.transpose(2, 3, 1, 0) if array.ndim == 4 else array.T
    return turned


def _to_caffe(name: str, variable: keras.Variable) -> NDArray[np.float32]:
    """The inverse of _to_keras, as a copy of its own."""
    array: NDArray[np.float32] = keras.ops.convert_to_numpy(variable)
    if array.ndim == 4:
        array = array.transpose(3, 2, 0, 1)
    elif name == "fc1.weight":
        channels, height, width = LAYERS["pool2"]
        array = array.T.reshape(-1, height, width, channels).transpose(0, 3, 1, 2)
    else:
        array = array.T
    return np.array(array.reshape(PARAMETERS[name]), dtype=np.float32, order="C")


def _repeat_exactly() -> None:
    """Sum in the same order each time, so that a resumed run ends with the same bits."""
    if keras.backend.backend() == "tensorflow":
        import tensorflow

        keras.utils.set_random_seed(0)  # TensorFlow's determinism demands a seed; none is drawn on
        tensorflow.config.experimental.enable_op_determinism()


def _version(backend: str) -> str:
    from importlib import import_module

    return str(import_module(backend).__version__)
