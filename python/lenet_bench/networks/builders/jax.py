"""A network in JAX, channels last."""

from functools import partial, wraps
from typing import Any

import jax
from jax import lax
from jax import numpy as jnp

from ...backends.jax import LAYOUT
from ...weights import Weights
from ..graph import Graph, Layer
from ..seeded import channels_last, last
from . import Function, chained
from .arrays import common

Parameters = dict[str, jax.Array]


def in_place(network: Graph, weights: Weights) -> dict[str, Any]:
    def load(_: Weights) -> Parameters:
        jax.config.update("jax_cpu_enable_async_dispatch", False)  # as the backend has it
        return jax.device_put(channels_last(network, weights))

    def lenet(parameters: Parameters, images: jax.Array) -> jax.Array:
        run = chained(network, lambda layer: _function(layer, *layer.own(parameters)))
        return run(images.reshape(-1, *last(network.shape)))

    return {"load": load, "lenet": lenet}


def operations(*_: Any) -> int:
    """A function is one program of XLA's."""
    return 1


def trivial(model: Any, _: Any, network: Graph, *, held: bool) -> Function:  # noqa: ARG001
    """Trivial layers on the first of a function's inputs; XLA leaves out what is not used."""
    run = chained(network, _function)

    @wraps(model, updated=())
    def lenet(*given: jax.Array, **named: jax.Array) -> jax.Array:
        x, *_ = (*given, *named.values())
        return run(x if jnp.issubdtype(x.dtype, jnp.floating) else x.astype(jnp.float32))

    return lenet


def _function(layer: Layer, *p: jax.Array) -> Function:
    strides, edges = (layer.stride, layer.stride), ((layer.pad, layer.pad),) * 2
    match layer.kind:
        case "conv":
            convolve = partial(lax.conv_general_dilated, dimension_numbers=LAYOUT)
            return lambda x: convolve(x, p[0], strides, edges) + p[1]
        case "pool":
            square, steps = (1, layer.side, layer.side, 1), (1, *strides, 1)
            around = ((0, 0), *edges, (0, 0))
            return lambda x: lax.reduce_window(x, -jnp.inf, lax.max, square, steps, around)
        case "relu":
            return jax.nn.relu
        case "softmax":
            return jax.nn.softmax
        case "gru":
            return lambda x: _gru(x, *p)
    return common(jnp, layer, *p)


def _gru(
    x: jax.Array, weight: jax.Array, of_state: jax.Array, bias: jax.Array, bias_state: jax.Array
) -> jax.Array:
    def step(state: jax.Array, token: jax.Array) -> tuple[jax.Array, None]:
        reset, update, new = jnp.split(token, 3, -1)
        of_old = state @ of_state.T + bias_state
        reset_state, update_state, new_state = jnp.split(of_old, 3, -1)
        update = jax.nn.sigmoid(update + update_state)
        new = jnp.tanh(new + jax.nn.sigmoid(reset + reset_state) * new_state)
        return (1 - update) * new + update * state, None

    tokens = jnp.swapaxes(x @ weight.T + bias, 0, 1)
    return lax.scan(step, jnp.zeros((len(x), of_state.shape[1]), x.dtype), tokens)[0]
