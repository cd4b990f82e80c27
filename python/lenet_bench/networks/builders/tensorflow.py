"""A network in raw TensorFlow operations, channels last."""

from collections.abc import Mapping
from functools import partial
from math import prod
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import convert_to_constants

from ...weights import Weights
from ..exact import EPSILON
from ..graph import Graph, Layer
from ..seeded import channels_last, last
from . import Function, chained

_NO_WORK = ("Const", "Identity", "NoOp", "Placeholder")


def in_place(network: Graph, weights: Weights) -> dict[str, Any]:
    class Built(tf.Module):
        def __init__(self, _: Weights) -> None:
            super().__init__()
            found = channels_last(network, weights)
            self.parameters = {name: tf.constant(array) for name, array in found.items()}
            self.run = chained(network, lambda layer: _function(layer, *layer.own(self.parameters)))
            self.first = None if network.shape[0] == 1 else [-1, *last(network.shape)]

        def __call__(self, images: tf.Tensor) -> tf.Tensor:
            return self.run(images if self.first is None else tf.reshape(images, self.first))

    return {"LeNet": Built}


def operations(model: Any, _: Any = None) -> int:
    """Those of a signature's graph that compute."""
    graph = convert_to_constants.convert_variables_to_constants_v2(model).graph
    return sum(one.type not in _NO_WORK for one in graph.get_operations())


def trivial(model: Any, inputs: Mapping[str, Any], network: Graph, *, held: bool) -> Any:
    """A signature of trivial layers on the first of its inputs; `held`: with its variables."""
    run, first = chained(network, _function), next(iter(inputs))

    def signature(**given: tf.Tensor) -> dict[str, tf.Tensor]:
        for variable in model.variables if held else ():
            variable.read_value()
        x = given[first]
        return {"output": run(x if x.dtype.is_floating else tf.cast(x, tf.float32))}

    specs = {name: tf.TensorSpec(one.shape, one.dtype, name) for name, one in inputs.items()}
    return tf.function(signature).get_concrete_function(**specs)


def _function(layer: Layer, *p: tf.Tensor) -> Function:
    sides, strides, padding = layer.side, layer.stride, _padding(layer)
    match layer.kind:
        case "conv":
            return lambda x: tf.nn.bias_add(tf.nn.conv2d(x, p[0], strides, padding), p[1])
        case "pool" if not isinstance(padding, str):  # which XLA does not have
            return lambda x: tf.nn.max_pool2d(tf.pad(x, padding), sides, strides, "VALID")
        case "pool":
            return lambda x: tf.nn.max_pool2d(x, sides, strides, padding)
        case "mean":
            return partial(tf.reduce_mean, axis=[1, 2] if len(layer.before) == 3 else 1)
        case "fc" if layer.flattens:
            size = p[0].shape[0]
            return lambda x: tf.nn.bias_add(tf.reshape(x, [-1, size]) @ p[0], p[1])
        case "fc":
            return lambda x: tf.nn.bias_add(x @ p[0], p[1])
        case "relu":
            return tf.nn.relu
        case "softmax":
            return tf.nn.softmax
        case "add":
            return tf.add
        case "concat":
            return lambda *branches: tf.concat(branches, -1)
        case "embedding":
            return lambda words: tf.gather(p[0], tf.cast(words, tf.int32))
        case "gru":
            return lambda x: _gru(x, *p)
        case "attention":
            return lambda x: _attention(layer, x, *p)
        case "take":
            return lambda x: tf.reshape(x, [-1, prod(layer.before)])[:, : layer.after[0]]
    return lambda x: _normalised(x, *p)


def _padding(layer: Layer) -> Any:
    if layer.pad and layer.stride == 1 and layer.pad == layer.side // 2:
        return "SAME"
    edge = [layer.pad, layer.pad]
    return [[0, 0], edge, edge, [0, 0]] if layer.pad else "VALID"


def _gru(
    x: tf.Tensor, weight: tf.Tensor, of_state: tf.Tensor, bias: tf.Tensor, bias_state: tf.Tensor
) -> tf.Tensor:
    tokens = tf.transpose(x @ tf.transpose(weight) + bias, [1, 0, 2])

    def step(number: tf.Tensor, state: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        reset, update, new = tf.split(tokens[number], 3, -1)
        of_old = state @ tf.transpose(of_state) + bias_state
        reset_state, update_state, new_state = tf.split(of_old, 3, -1)
        update = tf.sigmoid(update + update_state)
        new = tf.tanh(new + tf.sigmoid(reset + reset_state) * new_state)
        return number + 1, (1 - update) * new + update * state

    begin = tf.zeros_like(tokens[0, :, : of_state.shape[1]])
    count = tokens.shape[0]
    return tf.while_loop(lambda number, _: number < count, step, (tf.constant(0), begin))[1]


def _attention(
    layer: Layer, x: tf.Tensor, weight: tf.Tensor, bias: tf.Tensor, *out: tf.Tensor
) -> tf.Tensor:
    (tokens, width), heads = layer.before, layer.heads
    projected = tf.matmul(x, weight, transpose_b=True) + bias
    split = tf.reshape(projected, [-1, tokens, 3, heads, width // heads])
    query, key, value = tf.unstack(tf.transpose(split, [2, 0, 3, 1, 4]))
    scores = tf.matmul(query, key, transpose_b=True) * (width // heads) ** -0.5
    attended = tf.transpose(tf.nn.softmax(scores) @ value, [0, 2, 1, 3])
    return tf.matmul(tf.reshape(attended, [-1, tokens, width]), out[0], transpose_b=True) + out[1]


def _normalised(x: tf.Tensor, weight: tf.Tensor, bias: tf.Tensor) -> tf.Tensor:
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return tf.nn.batch_normalization(x, mean, variance, bias, weight, EPSILON)
