"""A network of Keras' layers, on any framework below; activations are inside of layers."""

from collections.abc import Mapping
from math import prod
from typing import Any

import keras
import numpy as np
from keras import layers

from ...weights import Weights
from ..exact import EPSILON
from ..graph import Graph, Layer
from ..seeded import as_images, channels_last, inputs_of, last, update_first


def in_place(network: Graph, weights: Weights) -> dict[str, Any]:
    return {"lenet": lambda _: model(network, weights)}


def model(network: Graph, weights: Weights, batch: int | None = None) -> keras.Model:
    """A Sequential where the network is a chain, as in the guides."""
    image = as_images(inputs_of(network, 1), channels_last=True)[0, ..., np.newaxis]
    begin = keras.Input(image.shape, batch_size=batch)
    first = last(network.shape)
    outputs = {"input": begin if image.shape == first else layers.Reshape(first)(begin)}
    found = channels_last(network, weights)
    activations, every = _inside(network), dict[str, layers.Layer]()
    names = [one.name for one in network.layers]
    for layer in network.computed:
        given = [outputs[name] for name in layer.inputs]
        if layer.name in activations.values():
            outputs[layer.name] = given[0]
            continue
        if layer.kind == "take":
            cut = names[: names.index(layer.inputs[0]) + 1]
            later = [one for name, one in every.items() if name not in cut]
            outputs[layer.name] = given[0]
            if later or layer.after != layer.before:
                outputs[layer.name] = Take(layer, later)(given[0])
            continue
        made = every[layer.name] = _layer(layer, activations.get(layer.name, ""))
        if layer.pad and not _keeps_size(layer):
            given = [layers.ZeroPadding2D(layer.pad)(given[0])]
        if layer.flattens:
            given = [layers.Flatten()(given[0])]
        outputs[layer.name] = _called(layer, made, given)
        if layer.parameters:
            made.set_weights(_as_keras(layer, *layer.own(found)))
    whole = keras.Model(begin, outputs[network.layers[-1].name])
    if network.is_chain and len(whole.layers) > 1:
        return keras.Sequential(whole.layers)
    return whole


def operations(model: layers.Layer, _: Any = None) -> int:
    """The layers that compute in it, those of models in it, too."""
    inside = [one for one in getattr(model, "layers", ()) if not isinstance(one, layers.InputLayer)]
    return sum(map(operations, inside)) if inside else 1


def trivial(
    model: keras.Model, inputs: Mapping[str, Any], network: Graph, *, held: bool
) -> keras.Model:
    """A network of trivial layers on the first of a model's inputs; `held`: with its variables."""
    begin = {
        name: keras.Input(one.shape[1:], dtype=one.dtype.name, name=name)
        for name, one in inputs.items()
    }
    given = x = next(iter(begin.values()))
    if not keras.backend.is_float_dtype(x.dtype):
        x = keras.ops.cast(x, "float32")
    for layer in network.computed:
        if layer.kind != "take":
            x = layers.Activation(layer.kind)(x)
        elif held or layer.after != layer.before:
            x = Take(layer, [model] if held else [])(x)
    return keras.Model(begin if len(begin) > 1 else given, x)


class Take(layers.Layer):
    """The first floats of its input, or all. The model also has the variables of other layers.

    TensorFlow passes to a graph every variable that was read while it was traced. We read all, so
    that each piece costs alike.
    """

    def __init__(self, layer: Layer, held: list[layers.Layer]) -> None:
        super().__init__()
        self.layer, self.held = layer, held

    def call(self, x: Any) -> Any:
        if _is_traced_by_tensorflow():
            for one in self.held:
                for variable in one.variables:
                    keras.ops.copy(variable)
        if self.layer.after == self.layer.before:
            return x
        return keras.ops.reshape(x, (-1, prod(self.layer.before)))[:, : self.layer.after[0]]


def _is_traced_by_tensorflow() -> bool:
    if keras.config.backend() != "tensorflow":
        return False
    import tensorflow as tf

    return not tf.executing_eagerly()


def _called(layer: Layer, made: layers.Layer, given: list[Any]) -> Any:
    if layer.kind == "attention":
        return made(given[0], given[0])
    return made(given if len(given) > 1 else given[0])


def _inside(network: Graph) -> dict[str, str]:
    """The activation of each layer that can have it inside: it alone reads that layer."""
    names = [name for layer in network.computed for name in layer.inputs]
    kinds = {layer.name: layer.kind for layer in network.layers}
    return {
        layer.inputs[0]: layer.name
        for layer in network.computed
        if layer.kind in ("relu", "softmax")
        and names.count(layer.inputs[0]) == 1
        and kinds[layer.inputs[0]] in ("conv", "fc")
    }


def _keeps_size(layer: Layer) -> bool:
    return layer.stride == 1 and layer.pad == layer.side // 2


def _layer(layer: Layer, activation: str) -> layers.Layer:
    name, out = layer.name, layer.after[0]
    inside = {"activation": activation.rstrip("0123456789") or None, "name": name}
    padding = "same" if layer.pad and _keeps_size(layer) else "valid"
    match layer.kind:
        case "conv":
            return layers.Conv2D(out, layer.side, layer.stride, padding, **inside)
        case "pool":
            return layers.MaxPooling2D(layer.side, layer.stride, padding)
        case "mean" if len(layer.before) == 3:
            return layers.GlobalAveragePooling2D()
        case "mean":
            return layers.GlobalAveragePooling1D()
        case "fc":
            return layers.Dense(layer.after[-1], **inside)
        case "add":
            return layers.Add()
        case "concat":
            return layers.Concatenate()
        case "embedding":
            return layers.Embedding(layer.side, layer.after[-1])
        case "gru":
            return layers.GRU(out)
        case "attention":
            return layers.MultiHeadAttention(layer.heads, layer.before[1] // layer.heads)
        case "norm":
            return layers.LayerNormalization(epsilon=EPSILON)
    return layers.Activation(layer.kind)


def _as_keras(layer: Layer, *p: Any) -> list[Any]:
    if layer.kind == "gru":
        weight, of_state, bias, bias_state = map(update_first, p)
        return [weight.T, of_state.T, np.stack([bias, bias_state])]
    if layer.kind == "attention":
        split = (layer.heads, -1)
        parts = zip(np.split(p[0], 3), np.split(p[1], 3), strict=True)
        found = [
            one
            for weight, bias in parts
            for one in (weight.T.reshape(len(weight), *split), bias.reshape(split))
        ]
        return [*found, p[2].T.reshape(*split, len(p[2])), p[3]]
    return list(p)
