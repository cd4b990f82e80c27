"""A network's exact answer: each layer by its definition, in float64.

The same in float32 shows the error that this precision has by itself, which is the measure for the
agreement of all APIs.
"""

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import DTypeLike, NDArray

from ..weights import Weights
from .graph import Graph, Layer

Floats = NDArray[Any]

EPSILON = 1e-5  # of layer normalisation, as PyTorch has it
_AT_ONCE = 1 << 23  # floats of the windows that a product is made of


def layers_of(
    network: Graph, weights: Weights, image: Floats, kind: DTypeLike = np.float64
) -> dict[str, Floats]:
    """The output of every layer for one input, channels first."""
    found: dict[str, Floats] = {"input": image.astype(kind)}
    for layer in network.computed:
        given = [found[name] for name in layer.inputs]
        parameters = [one.astype(kind) for one in layer.own(weights)]
        found[layer.name] = _computed(layer, given, parameters)
    return found


def answer_of(
    network: Graph, weights: Weights, image: Floats, kind: DTypeLike = np.float64
) -> Floats:
    """Its answer to one input."""
    return layers_of(network, weights, image, kind)[network.layers[-1].name]


def distance(found: Floats, exact: Floats) -> float:
    """The relative L2 distance of answers from the exact ones, the largest of all inputs."""
    distances = np.linalg.norm(found.reshape(exact.shape) - exact, axis=-1)
    return float(np.max(distances / np.linalg.norm(exact, axis=-1), initial=0))


def _computed(layer: Layer, given: list[Floats], p: list[Floats]) -> Floats:
    x = given[0]
    match layer.kind:
        case "conv":
            return _convolved(layer, x, p[0]) + p[1][:, np.newaxis, np.newaxis]
        case "pool":
            return _windows(layer, x, -np.inf).max(axis=(3, 4))
        case "mean":
            return x.mean(axis=(1, 2) if x.ndim == 3 else 0)
        case "fc":
            return (x.ravel() if layer.flattens else x) @ p[0].T + p[1]
        case "relu":
            return np.maximum(x, 0)
        case "softmax":
            return softmax(np, x)
        case "add":
            return x + given[1]
        case "concat":
            return np.concatenate(given)
        case "embedding":
            return p[0][x.astype(np.intp)]
        case "gru":
            return gru(x, *p)
        case "attention":
            return attention(np, layer, x[np.newaxis], *p)[0]
    return normalised(np, x, *p)


def gru(x: Floats, of_x: Floats, of_state: Floats, bias_x: Floats, bias_state: Floats) -> Floats:
    """The last state of a gated recurrent unit over tokens (tokens, floats)."""
    state = np.zeros(of_state.shape[1], x.dtype)
    for token in x @ of_x.T + bias_x:
        reset, update, new = np.split(token, 3)
        reset_state, update_state, new_state = np.split(of_state @ state + bias_state, 3)
        reset, update = _sigmoid(reset + reset_state), _sigmoid(update + update_state)
        state = (1 - update) * np.tanh(new + reset * new_state) + update * state
    return state


# By `xp`, numpy or jax.numpy, of arrays (n, tokens, floats): the builders use these too.


def softmax(xp: Any, x: Floats) -> Floats:
    powers = xp.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def attention(
    xp: Any, layer: Layer, x: Floats, weight: Floats, bias: Floats, *out: Floats
) -> Floats:
    """Multi-head self-attention."""
    (tokens, width), heads = layer.before, layer.heads
    split = (x @ weight.T + bias).reshape(-1, tokens, 3, heads, width // heads)
    query, key, value = split.transpose(2, 0, 3, 1, 4)  # each (n, heads, tokens, floats)
    scores = query @ xp.swapaxes(key, 2, 3) * (width // heads) ** -0.5
    attended = xp.swapaxes(softmax(xp, scores) @ value, 1, 2).reshape(x.shape)
    return attended @ out[0].T + out[1]


def normalised(xp: Any, x: Floats, weight: Floats, bias: Floats) -> Floats:
    """Each token with mean 0 and variance 1, then scaled."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / xp.sqrt((centred**2).mean(axis=-1, keepdims=True) + EPSILON) * weight + bias


def _sigmoid(x: Floats) -> Floats:
    one: Floats = 1 / (1 + np.exp(-x))
    return one


def _windows(layer: Layer, x: Floats, around: float) -> Floats:
    """(channels, rows, columns, side, side), as a view."""
    edge = (layer.pad, layer.pad)
    padded = np.pad(x, ((0, 0), edge, edge), constant_values=around)
    windows = sliding_window_view(padded, (layer.side, layer.side), axis=(1, 2))
    return windows[:, :: layer.stride, :: layer.stride]


def _convolved(layer: Layer, x: Floats, weight: Floats) -> Floats:
    """As products of matrices, so many rows at once that the windows fit the memory."""
    windows = _windows(layer, x, 0)
    rows = max(1, _AT_ONCE // windows[:, 0].size)
    parts = [
        np.tensordot(weight, windows[:, first : first + rows], ((1, 2, 3), (0, 3, 4)))
        for first in range(0, windows.shape[1], rows)
    ]
    return np.concatenate(parts, axis=1)
