"""LeNet as a TensorFlow Lite flatbuffer, the file that LiteRT reads: Keras' model, converted."""

from collections.abc import Iterator

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from ..weights import Weights
from .calibration import digits


def converter(weights: Weights) -> tf.lite.TFLiteConverter:
    """The converter of the model, from an image (1, 28, 28, 1) to probabilities (1, 10)."""
    lenet = keras.Sequential(
        [
            keras.Input((28, 28, 1), batch_size=1),
            layers.Conv2D(20, 5, name="conv1"),
            layers.MaxPooling2D(2),  # pool1
            layers.Conv2D(50, 5, name="conv2"),
            layers.MaxPooling2D(2),  # pool2
            layers.Flatten(),  # fc1
            layers.Dense(500, activation="relu", name="fc1"),
            layers.Dense(10, activation="softmax", name="fc2"),  # fc2 and softmax
        ]
    )
    # load
    for name in ("conv1", "conv2"):
        kernel = weights[f"{name}.weight"].transpose(2, 3, 1, 0)  # OIHW to HWIO
        lenet.get_layer(name).set_weights([kernel, weights[f"{name}.bias"]])
    # load
    fc1 = weights["fc1.weight"].reshape(500, 50, 4, 4)  # rows x CHW
    # load
    fc1 = fc1.transpose(2, 3, 1, 0).reshape(800, 500)  # HWC x columns
    # load
    lenet.get_layer("fc1").set_weights([fc1, weights["fc1.bias"]])
    # load
    lenet.get_layer("fc2").set_weights([weights["fc2.weight"].T, weights["fc2.bias"]])
    return tf.lite.TFLiteConverter.from_keras_model(lenet)


def model(weights: Weights) -> bytes:
    """The model in float32."""
    return converter(weights).convert()


def int8(weights: Weights) -> bytes:
    """The model computing in int8, from float32 to float32."""
    to_int8 = converter(weights)
    to_int8.optimizations = [tf.lite.Optimize.DEFAULT]
    to_int8.representative_dataset = representative
    return to_int8.convert()


def float16(weights: Weights) -> bytes:
    """The model with weights in float16."""
    to_float16 = converter(weights)
    to_float16.optimizations = [tf.lite.Optimize.DEFAULT]
    to_float16.target_spec.supported_types = [tf.float16]
    return to_float16.convert()


def representative() -> "Iterator[list[np.ndarray]]":
    """The images that the ranges of the activations are taken from."""
    for image in digits():
        yield [image[np.newaxis, ..., np.newaxis]]
