"""LeNet in raw TensorFlow: variables, a GradientTape, and a step traced once by tf.function."""

import numpy as np
import tensorflow as tf

from ..arrays import Bytes, Floats
from ..choices import Recipe
from .trainer import Parameters, to_caffe, to_channels_last


class TensorFlowTrainer:
    """The parameters as tf.Variables, and the update rule written out."""

    def __init__(self, recipe: Recipe, parameters: Parameters) -> None:
        # The same order of summation each time: the same seed gives the same weights.
        tf.config.experimental.enable_op_determinism()
        self._momentum, self._weight_decay = recipe.momentum, recipe.weight_decay
        turned = to_channels_last(parameters)
        self._parameters = {name: tf.Variable(array) for name, array in turned.items()}
        self._velocity = {name: tf.Variable(tf.zeros_like(v)) for name, v in turned.items()}

    def step(self, images: Floats, labels: Bytes, rate: float) -> float:
        classes = labels.astype(np.int32)
        # A Python number would have the function traced anew for each rate.
        return float(self._learn(images, classes, tf.constant(rate, tf.float32)))

    def logits(self, images: Floats) -> Floats:
        return np.array(self._infer(images))

    def parameters(self) -> Parameters:
        return {name: to_caffe(name, v.numpy()) for name, v in self._parameters.items()}

    @tf.function
    def _learn(self, images: tf.Tensor, labels: tf.Tensor, rate: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            logits = _lenet(self._parameters, images)
            entropy = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
            )
        gradients = tape.gradient(entropy, self._parameters)
        for name, parameter in self._parameters.items():
            velocity, gradient = self._velocity[name], gradients[name]
            if name.endswith(".weight"):
                gradient += self._weight_decay * parameter
            velocity.assign(self._momentum * velocity - rate * gradient)
            parameter.assign_add(self._momentum * velocity - rate * gradient)
        return entropy

    @tf.function
    def _infer(self, images: tf.Tensor) -> tf.Tensor:
        return _lenet(self._parameters, images)


def _lenet(p: dict[str, tf.Variable], images: tf.Tensor) -> tf.Tensor:
    """The logits of images (n, 28, 28)."""
    x = images[..., tf.newaxis]
    x = tf.nn.bias_add(tf.nn.conv2d(x, p["conv1.weight"], 1, "VALID"), p["conv1.bias"])
    x = tf.nn.max_pool2d(x, 2, 2, "VALID")
    x = tf.nn.bias_add(tf.nn.conv2d(x, p["conv2.weight"], 1, "VALID"), p["conv2.bias"])
    x = tf.nn.max_pool2d(x, 2, 2, "VALID")
    x = tf.reshape(x, [tf.shape(x)[0], -1])
    x = tf.nn.relu(x @ p["fc1.weight"] + p["fc1.bias"])
    return x @ p["fc2.weight"] + p["fc2.bias"]
