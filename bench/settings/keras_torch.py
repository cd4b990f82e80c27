"""What Keras' and PyTorch's pages name for one image."""

import keras
import numpy as np
import torch
from keras import layers
from lenet_bench.backends import Array, Infer
from lenet_bench.backends.keras import lenet, on_torch  # noqa: F401 - it is called first
from lenet_bench.weights import Weights


def on_batch_compiled(weights: Weights) -> Infer:
    """predict_on_batch after compile(jit_compile=True): Inductor."""
    model = lenet(weights)
    model.compile(jit_compile=True)
    return lambda images: model.predict_on_batch(images[..., np.newaxis])


def channels_first_no_grad(weights: Weights) -> Infer:
    """Channels first, PyTorch's own layout, under no_grad."""
    keras.config.set_image_data_format("channels_first")
    model = keras.Sequential(
        [
            keras.Input((1, 28, 28)),
            layers.Conv2D(20, 5, name="conv1"),
            layers.MaxPooling2D(2),
            layers.Conv2D(50, 5, name="conv2"),
            layers.MaxPooling2D(2),
            layers.Permute((2, 3, 1)),
            layers.Flatten(data_format="channels_last"),
            layers.Dense(500, activation="relu", name="fc1"),
            layers.Dense(10, activation="softmax", name="fc2"),
        ]
    )
    source = {layer.name: layer.get_weights() for layer in lenet_weights(weights)}
    for name, values in source.items():
        model.get_layer(name).set_weights(values)

    def infer(images: Array) -> Array:
        with torch.no_grad():
            return keras.ops.convert_to_numpy(model(images[:, np.newaxis]))

    return infer


def lenet_weights(weights: Weights) -> "list[keras.Layer]":
    """The layers with weights of the usual model."""
    keras.config.set_image_data_format("channels_last")
    model = lenet(weights)
    keras.config.set_image_data_format("channels_first")
    return [layer for layer in model.layers if layer.weights]
