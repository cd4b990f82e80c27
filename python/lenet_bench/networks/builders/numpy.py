"""A network in NumPy, channels last: convolutions as im2col and a product of matrices."""

from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ...backends.numpy import softmax
from ...weights import Weights
from .. import exact
from ..graph import Graph, Layer
from ..seeded import channels_last, last
from . import Function, chained
from .arrays import common

Array = Any


def in_place(network: Graph, weights: Weights) -> dict[str, Any]:
    found = channels_last(network, weights)

    def build(weights: Weights) -> Callable[[Array], dict[str, Array]]:  # noqa: ARG001
        run = chained(network, lambda layer: _function(layer, *layer.own(found)))
        first = (-1, *last(network.shape))
        return lambda images: {"probabilities": run(images.reshape(first))}

    return {"build": build}


def _function(layer: Layer, *p: Array) -> Function:
    match layer.kind:
        case "conv":
            return _convolution(layer, *p)
        case "pool":
            return _pool(layer)
        case "softmax":
            return softmax
        case "gru":
            return lambda x: exact.gru(x[0], *p)[np.newaxis]
    return common(np, layer, *p)


def _edges(layer: Layer, around: float) -> Function | None:
    edge = (layer.pad, layer.pad)
    edges = ((0, 0), edge, edge, (0, 0))
    return partial(np.pad, pad_width=edges, constant_values=around) if layer.pad else None


def _convolution(layer: Layer, weight: Array, bias: Array) -> Function:
    """As `backends/numpy.py` does, for kernels, strides and edges of any size."""
    padded, side, stride = _edges(layer, 0), layer.side, layer.stride
    channels, rows, columns = layer.after
    width, matrix = side * layer.before[0], weight.reshape(-1, channels)

    def convolve(x: Array) -> Array:
        x = padded(x) if padded else x
        count = len(x)
        image, row, pixel, _ = x.strides
        windows = as_strided(
            x,
            shape=(count, rows, columns, side, width),
            strides=(image, row * stride, pixel * stride, row, x.itemsize),
            writeable=False,
        )
        output = windows.reshape(count * rows * columns, len(matrix)) @ matrix
        output += bias
        return output.reshape(count, rows, columns, channels)

    return convolve


def _pool(layer: Layer) -> Function:
    """The largest of each square, rows before columns."""
    padded, stride = _edges(layer, -np.inf), layer.stride
    ends = [1 + stride * (length - 1) for length in layer.after[1:]]
    down, across = (
        [slice(first, first + end, stride) for first in range(layer.side)] for end in ends
    )

    def pool(x: Array) -> Array:
        x = padded(x) if padded else x
        rows = reduce(np.maximum, [x[:, one] for one in down])
        return reduce(np.maximum, [rows[:, :, one] for one in across])

    return pool
