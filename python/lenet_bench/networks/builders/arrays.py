"""The layers that NumPy and JAX write alike: functions of arrays (n, ...), channels last."""

from typing import Any

from .. import exact
from ..graph import Layer
from . import Function


def common(xp: Any, layer: Layer, *p: Any) -> Function:
    """The layer by `xp`, which is numpy or jax.numpy."""
    match layer.kind:
        case "mean":
            return lambda x: x.mean(axis=(1, 2) if x.ndim == 4 else 1)
        case "fc" if layer.flattens:
            return lambda x: x.reshape(len(x), -1) @ p[0] + p[1]
        case "fc":
            return lambda x: x @ p[0] + p[1]
        case "relu":
            return lambda x: xp.maximum(x, 0)
        case "softmax":
            return lambda x: exact.softmax(xp, x)
        case "add":
            return lambda x, y: x + y
        case "concat":
            return lambda *branches: xp.concatenate(branches, axis=-1)
        case "embedding":
            return lambda words: p[0][words.astype(xp.int32)]
        case "attention":
            return lambda x: exact.attention(xp, layer, x, *p)
        case "take":
            return lambda x: x.reshape(len(x), -1)[:, : layer.after[0]]
    return lambda x: exact.normalised(xp, x, *p)
