"""The weights of a network: LeNet's own, and for all others random ones, the same each time.

A layer's weights are scaled by what is expected of its input, so that activations neither vanish
nor grow: the mean square of each convolution's and dense layer's output is near 1.
"""

from collections.abc import Mapping
from math import e, prod, sqrt

import numpy as np

from ..arrays import Floats
from ..network import LENET
from ..weights import Weights, read_weights
from .graph import Graph, Layer, Shape

#: What a layer does to the mean square of its input, roughly. Much of a sum is above zero already.
_MEAN_SQUARE = {"relu": 0.5, "pool": 1.5, "mean": 0.85}
_RELU_OF_A_SUM = 0.85
_BIAS = 0.1


def weights_of(network: Graph) -> Weights:
    """Its parameters by their full names."""
    if network.name == LENET:
        return read_weights()
    random = np.random.default_rng(0)
    squares = {"input": 1.0}
    found: dict[str, Floats] = {}
    for layer in network.computed:
        square = _mean_square(layer, [squares[name] for name in layer.inputs])
        squares[layer.name] = square
        for name, shape in layer.parameters.items():
            made = random.standard_normal(shape, np.float32)
            made *= np.float32(_scale(layer, name, shape, squares[layer.inputs[0]]))
            if layer.kind == "norm" and name == "weight":
                made += 1
            found[f"{layer.name}.{name}"] = made
    return Weights(found)


def _mean_square(layer: Layer, inputs: list[float]) -> float:
    if layer.kind == "add":
        return sum(inputs)
    if layer.kind == "relu" and layer.inputs[0].startswith("add"):
        return inputs[0] * _RELU_OF_A_SUM
    if layer.kind in _MEAN_SQUARE:
        return inputs[0] * _MEAN_SQUARE[layer.kind]
    return sum(inputs) / len(inputs) if layer.kind == "concat" else 1.0


def _scale(layer: Layer, name: str, shape: tuple[int, ...], square: float) -> float:
    if "bias" in name or layer.kind == "norm":
        return _BIAS
    if layer.kind == "embedding":
        return 1.0
    if name == "out_proj.weight":  # attention takes the mean of about this share of the tokens
        square = e / layer.before[0]
    if name == "weight_hh_l0":
        square = 1.0
    return 1 / sqrt(prod(shape[1:]) * square)


def inputs_of(network: Graph, count: int, seed: int = 0) -> Floats:
    """So many inputs, (count, *shape): normal floats, or numbers of words as floats.

    LeNet's are from 0 to 1, as its images are.
    """
    random = np.random.default_rng(seed)
    if network.name == LENET:
        return random.random((count, *network.shape), np.float32)
    if network.vocabulary:
        return random.integers(network.vocabulary, size=(count, *network.shape)).astype(np.float32)
    return random.standard_normal((count, *network.shape), np.float32)


def as_images(inputs: Floats, *, channels_last: bool) -> Floats:
    """Inputs as the functions of backends take images: (n, rows, columns).

    Channels stand below one another, or side by side where they are last in the API. So a view
    (n, channels, rows, columns) or (n, rows, columns, channels) is what an API's model begins with.
    """
    if inputs.ndim == 2:
        return inputs[:, np.newaxis]
    if inputs.ndim == 3:
        return inputs
    count, channels, rows, columns = inputs.shape
    if channels_last:
        pixels = np.ascontiguousarray(inputs.transpose(0, 2, 3, 1))
        return pixels.reshape(count, rows, columns * channels)
    return inputs.reshape(count, channels * rows, columns)


def channels_last(network: Graph, weights: Weights) -> Mapping[str, Floats]:
    """The parameters for APIs with channels last: (rows, columns, in, out) and (in, out)."""
    found = dict(weights.parameters)
    for layer in network.computed:
        name = f"{layer.name}.weight"
        if layer.kind == "conv":
            found[name] = np.ascontiguousarray(found[name].transpose(2, 3, 1, 0))
        elif layer.kind == "fc":
            weight = found[name]
            if layer.flattens:
                pixels = weight.reshape(-1, *layer.before).transpose(0, 2, 3, 1)
                weight = pixels.reshape(weight.shape)
            found[name] = np.ascontiguousarray(weight.T)
    return found


def last(shape: Shape) -> Shape:
    """The shape with its channels last."""
    return (*shape[1:], shape[0]) if len(shape) == 3 else shape


def update_first(gates: Floats) -> Floats:
    """A GRU's parameters as most APIs order its gates: update, reset, new."""
    reset, update, new = np.split(gates, 3)
    return np.concatenate([update, reset, new])
