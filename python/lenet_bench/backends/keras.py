"""LeNet in Keras 3: the top of the ladder.

Layers with names, on the framework that KERAS_BACKEND chose before Keras was imported: TensorFlow,
JAX, PyTorch or OpenVINO. `predict` is what the guides show, made for data sets: it builds an input
pipeline and runs callbacks on each call. `predict_on_batch` only runs the compiled graph, `call`
runs the layers one after another: what Keras' documentation names for a few images.
"""

import os
from importlib import import_module

import keras
import numpy as np
from keras import layers

from ..errors import Unavailable
from ..weights import Weights
from ._exhibit import Array, Exhibit
from ._under_keras import device_of, tell_framework


class Keras(Exhibit):
    """A `keras.Sequential` with the weights set, called in one of three ways."""

    def __init__(
        self, weights: Weights, *, threads: int, variant: str, device: str = "cpu"
    ) -> None:
        self._framework = keras.config.backend()
        if self._framework != os.environ.get("KERAS_BACKEND", self._framework):
            raise Unavailable(
                f"this process runs Keras on {self._framework} already and cannot change to "
                f"{os.environ['KERAS_BACKEND']}; ask for it in a process of its own"
            )
        tell_framework(self._framework, threads, device)
        self._variant = variant
        self._model = keras.Sequential(
            [
                keras.Input((28, 28, 1)),
                layers.Conv2D(20, 5, name="conv1"),
                layers.MaxPooling2D(2),
                layers.Conv2D(50, 5, name="conv2"),
                layers.MaxPooling2D(2),
                layers.Flatten(),
                layers.Dense(500, activation="relu", name="fc1"),
                layers.Dense(10, activation="softmax", name="fc2"),
            ]
        )
        for name in ("conv1", "conv2"):
            kernel = weights[f"{name}.weight"].transpose(2, 3, 1, 0)  # OIHW to HWIO
            self._model.get_layer(name).set_weights([kernel, weights[f"{name}.bias"]])
        fc1 = weights["fc1.weight"].reshape(500, 50, 4, 4)  # rows x CHW
        fc1 = fc1.transpose(2, 3, 1, 0).reshape(800, 500)  # HWC x columns
        self._model.get_layer("fc1").set_weights([fc1, weights["fc1.bias"]])
        self._model.get_layer("fc2").set_weights([weights["fc2.weight"].T, weights["fc2.bias"]])

    def forward(self, images: Array) -> Array:
        images = images[..., np.newaxis]
        if self._variant == "call":
            return keras.ops.convert_to_numpy(self._model(images))
        if self._variant == "predict_on_batch":
            return self._model.predict_on_batch(images)
        return self._model.predict(images, verbose=0)

    def describe(self) -> dict[str, str]:
        framework = import_module(self._framework)
        return {
            "library": f"Keras {keras.__version__}",
            "variant": self._variant,
            "backend": f"{self._framework} {framework.__version__}",
            "device": device_of(self._model(np.zeros((1, 28, 28, 1), np.float32))),
        }
