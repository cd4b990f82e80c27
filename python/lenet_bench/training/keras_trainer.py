"""LeNet in Keras 3, on the framework that KERAS_BACKEND names: TensorFlow, JAX or PyTorch."""

import keras
import numpy as np

from ..arrays import Bytes, Floats
from ..choices import Recipe
from ..network import CLASSES, IMAGE_SIDE, PARAMETERS
from .trainer import Parameters, to_caffe, to_channels_last


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
        self._model.compile(self._optimizer, loss, metrics=[metric])
        turned = to_channels_last(parameters)
        for name, variable in zip(PARAMETERS, self._model.trainable_variables, strict=True):
            variable.assign(turned[name])

    def step(self, images: Floats, labels: Bytes, rate: float) -> float:
        self._optimizer.learning_rate.assign(rate)
        self._model.reset_metrics()  # Keras would give the mean over all batches so far
        logs = self._model.train_on_batch(images[..., None], labels, return_dict=True)
        return float(logs["entropy"])

    def logits(self, images: Floats) -> Floats:
        return np.asarray(self._model.predict_on_batch(images[..., None]))

    def parameters(self) -> Parameters:
        variables = zip(PARAMETERS, self._model.trainable_variables, strict=True)
        return {name: to_caffe(name, keras.ops.convert_to_numpy(v)) for name, v in variables}


def _build(weight_decay: float) -> keras.Sequential:
    """The network in Keras's own layout, height x width x channels."""
    layers = keras.layers
    penalty = keras.regularizers.L2(weight_decay / 2)  # Keras's gradient is twice its factor
    return keras.Sequential(
        [
            keras.Input((IMAGE_SIDE, IMAGE_SIDE, 1)),
            layers.Conv2D(20, 5, kernel_regularizer=penalty, name="conv1"),
            layers.MaxPooling2D(2, name="pool1"),
            layers.Conv2D(50, 5, kernel_regularizer=penalty, name="conv2"),
            layers.MaxPooling2D(2, name="pool2"),
            layers.Flatten(),
            layers.Dense(500, activation="relu", kernel_regularizer=penalty, name="fc1"),
            layers.Dense(CLASSES, kernel_regularizer=penalty, name="fc2"),
        ]
    )


def _repeat_exactly() -> None:
    """Sum in the same order each time, so that the same seed gives the same weights."""
    if keras.backend.backend() == "tensorflow":
        import tensorflow

        keras.utils.set_random_seed(0)  # TensorFlow's determinism needs a seed, which is never used
        tensorflow.config.experimental.enable_op_determinism()
