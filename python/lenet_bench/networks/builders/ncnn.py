"""A network as ncnn's .param text and its .bin, in which the parameters follow one another.

The backend writes a tag and then the parameters of LeNet's four layers. A tag is four bytes of
zero, which are 0.0 as a float; so all that follows the first one is given as the first parameter.
"""

from math import prod
from typing import Any

import numpy as np

from ...errors import Unsupported
from ...weights import Weights
from ..exact import EPSILON
from ..graph import Graph, Layer

_MAGIC = 7767517
_TYPES = {
    "conv": "Convolution",
    "pool": "Pooling",
    "fc": "InnerProduct",
    "relu": "ReLU",
    "softmax": "Softmax",
    "add": "Eltwise",
    "concat": "Concat",
    "norm": "LayerNorm",
    "attention": "MultiHeadAttention",
}
_LENET = ("conv1", "conv2", "fc1", "fc2")


def in_place(network: Graph, weights: Weights) -> dict[str, Any]:
    if network.vocabulary:
        raise Unsupported("ncnn's Embed reads whole numbers, and no layer makes them of floats")
    parts = [_parameters(layer, weights) for layer in network.computed]
    nothing = np.empty(0, np.float32)
    given = {f"{name}.{kind}": nothing for name in _LENET for kind in ("weight", "bias")}
    given["conv1.weight"] = np.concatenate([one for part in parts for one in part])[1:]
    return {"PARAM": _text(network), "weights": Weights(given)}


def _parameters(layer: Layer, weights: Weights) -> list[Any]:
    """With a tag before each matrix."""
    p = [one.ravel() for one in layer.own(weights)]
    if layer.kind == "attention":
        inward, bias = np.split(p[0], 3), np.split(p[1], 3)
        p = [one for pair in zip(inward, bias, strict=True) for one in pair] + p[2:]
    tag = np.zeros(int(layer.kind != "norm"), np.float32)
    return [one for number, array in enumerate(p) for one in ([tag] * (number % 2 == 0) + [array])]


def _text(network: Graph) -> str:
    """A layer a line. What several layers read is split, since a blob has one reader."""
    names = [name for layer in network.computed for name in layer.inputs]
    lines = [_line("Input", "image", [], ["image"]), _begin(network)]
    left: dict[str, list[str]] = {}
    for layer in network.layers:
        name, readers = layer.name, names.count(layer.name)
        if layer.kind != "input":
            given = [left[one].pop() for one in layer.inputs]
            output = name if readers else "probabilities"
            lines.append(_line(_kind(layer), name, given, [output], *_settings(layer)))
        left[name] = [name]
        if readers > 1:
            left[name] = [f"{name}_{number}" for number in range(readers)]
            lines.append(_line("Split", f"split_{name}", [name], left[name]))
    blobs = sum(int(line.split()[3]) for line in lines)
    return "\n".join([str(_MAGIC), f"{len(lines)} {blobs}", *lines, ""])


def _line(kind: str, name: str, given: list[str], made: list[str], *settings: str) -> str:
    return " ".join([kind, name, str(len(given)), str(len(made)), *given, *made, *settings])


def _begin(network: Graph) -> str:
    """The shape, columns first."""
    sizes = [f"{number}={size}" for number, size in enumerate(reversed(network.shape))]
    return _line("Reshape", "begin", ["image"], ["input"], *sizes)


def _kind(layer: Layer) -> str:
    if layer.kind == "mean":
        return "Pooling" if len(layer.before) == 3 else "Reduction"
    return _TYPES[layer.kind]


def _settings(layer: Layer) -> list[str]:
    size = prod(next(iter(layer.parameters.values()), ()))
    window = [f"3={layer.stride}", f"4={layer.pad}"]
    match layer.kind:
        case "conv":
            return [f"0={layer.after[0]}", f"1={layer.side}", *window, "5=1", f"6={size}"]
        case "pool":
            return ["0=0", f"1={layer.side}", f"2={layer.stride}", f"3={layer.pad}", "5=1"]
        case "mean" if len(layer.before) == 3:
            return ["0=1", "4=1"]
        case "mean":
            return ["0=3", "1=0", "4=0", "-23303=1,0", "5=1"]
        case "fc":
            return [f"0={layer.after[-1]}", "1=1", f"2={size}"]
        case "add":
            return ["0=1"]
        case "attention":
            return [f"0={layer.before[1]}", f"1={layer.heads}", f"2={size // 3}"]
        case "norm":
            return [f"0={layer.before[-1]}", f"1={EPSILON}", "2=1"]
    return ["0=0"]
