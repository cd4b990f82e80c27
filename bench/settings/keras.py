"""What Keras' pages name for one image on TensorFlow."""

import keras
import numpy as np
import tensorflow as tf
from lenet_bench.backends import Infer
from lenet_bench.backends.keras import lenet, on_tensorflow  # noqa: F401 - it is called first
from lenet_bench.weights import Weights

VARIABLES = {"on_batch_no_onednn": {"TF_ENABLE_ONEDNN_OPTS": "0"}}


def _on_batch(weights: Weights, *, jit_compile: bool) -> Infer:
    model = lenet(weights)
    model.compile(jit_compile=jit_compile)
    return lambda images: model.predict_on_batch(images[..., np.newaxis])


def on_batch_xla(weights: Weights) -> Infer:
    """predict_on_batch after compile(jit_compile=True)."""
    return _on_batch(weights, jit_compile=True)


def on_batch_no_xla(weights: Weights) -> Infer:
    """predict_on_batch after compile(jit_compile=False)."""
    return _on_batch(weights, jit_compile=False)


def on_batch_no_onednn(weights: Weights) -> Infer:
    """predict_on_batch without oneDNN."""
    return _on_batch(weights, jit_compile=False)


def predict_xla(weights: Weights) -> Infer:
    """Predict after compile(jit_compile=True)."""
    model = lenet(weights)
    model.compile(jit_compile=True)
    return lambda images: model.predict(images[..., np.newaxis], verbose=0)


def predict_no_xla(weights: Weights) -> Infer:
    """Predict after compile(jit_compile=False)."""
    model = lenet(weights)
    model.compile(jit_compile=False)
    return lambda images: model.predict(images[..., np.newaxis], verbose=0)


def call_in_function(weights: Weights) -> Infer:
    """The model in a tf.function."""
    model = tf.function(lenet(weights))
    return lambda images: model(tf.constant(images[..., np.newaxis])).numpy()


def exported(weights: Weights) -> Infer:
    """Model.export, and the saved model's endpoint."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        lenet(weights).export(folder, verbose=False)
        model = tf.saved_model.load(folder)
    return lambda images: model.serve(tf.constant(images[..., np.newaxis])).numpy()


def no_training_flag(weights: Weights) -> Infer:
    """model(x, training=False), as the guides write it."""
    model = lenet(weights)
    return lambda images: keras.ops.convert_to_numpy(model(images[..., np.newaxis], training=False))
