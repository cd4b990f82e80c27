"""A network as an ONNX model, which most engines read, for any number of inputs."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from ...export.onnx import IR_VERSION, OPSET
from ...weights import Weights
from ..exact import EPSILON
from ..graph import Graph, Layer
from ..seeded import as_images, inputs_of, update_first

Array = NDArray[Any]


def in_place(network: Graph, weights: Weights) -> dict[str, Any]:
    rows = as_images(inputs_of(network, 1), channels_last=False).shape[1:]
    shape, add = (1, *rows), _Nodes()
    same = shape == network.shape
    names = {"input": "image" if same else _reshaped(add, "image", *network.shape)}
    for layer in network.computed:
        given = [names[name] for name in layer.inputs]
        names[layer.name] = _layer(add, layer, given, *layer.own(weights))
    add.nodes[-1].output[0] = "probabilities"
    image, answer = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", *end])
        for name, end in (("image", shape), ("probabilities", (network.answers,)))
    )
    graph = helper.make_graph(add.nodes, "lenet", [image], [answer], add.constants)
    opset = helper.make_opsetid("", OPSET)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION)
    return {"onnx_model": model.SerializeToString()}


class _Nodes:
    """The nodes of a model and its constants, while they are added."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def __call__(self, operation: str, *given: "str | Array", outputs: int = 1, **more: Any) -> str:
        """Add a node, and a constant for each array; the name of its last output."""
        number = len(self.nodes)
        names = [f"{operation}{number}_{one}" for one in range(outputs)]
        taken = [one if isinstance(one, str) else self._constant(one) for one in given]
        self.nodes.append(helper.make_node(operation, taken, names, **more))
        return names[-1]

    def _constant(self, array: Array) -> str:
        name = f"constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name


def _layer(add: _Nodes, layer: Layer, given: list[str], *p: Array) -> str:
    x = given[0]
    window: dict[str, Any] = {"kernel_shape": [layer.side] * 2, "strides": [layer.stride] * 2}
    match layer.kind:
        case "conv":
            return add("Conv", x, *p, **window, pads=[layer.pad] * 4)
        case "pool":
            return add("MaxPool", x, **window, pads=[layer.pad] * 4)
        case "mean" if len(layer.before) == 3:
            return add("Flatten", add("GlobalAveragePool", x))
        case "mean":
            return add("ReduceMean", x, axes=[1], keepdims=0)
        case "fc" if len(layer.before) == 2:
            return _dense(add, x, *p)
        case "fc":
            return add("Gemm", add("Flatten", x) if layer.flattens else x, *p, transB=1)
        case "softmax":
            return add("Softmax", x, axis=1)
        case "concat":
            return add("Concat", *given, axis=1)
        case "embedding":
            return add("Gather", p[0], add("Cast", x, to=TensorProto.INT64))
        case "gru":
            return _gru(add, x, *p)
        case "attention":
            return _attention(add, layer, x, *p)
        case "take" if layer.after == layer.before:
            return x
        case "take":
            ends = (np.array([end], np.int64) for end in (0, layer.after[0], 1))
            return add("Slice", add("Flatten", x), *ends)
        case "norm":
            return add("LayerNormalization", x, *p, axis=-1, epsilon=EPSILON)
    return add(layer.kind.capitalize(), *given)  # Relu, Add


def _reshaped(add: _Nodes, x: str, *shape: int) -> str:
    return add("Reshape", x, np.array([-1, *shape], np.int64))


def _dense(add: _Nodes, x: str, weight: Array, bias: Array) -> str:
    """Of each token."""
    return add("Add", add("MatMul", x, weight.T), bias)


def _gru(add: _Nodes, x: str, *p: Array) -> str:
    weight, of_state, bias, bias_state = map(update_first, p)
    bias, width = np.concatenate([bias, bias_state]), of_state.shape[1]
    tokens = add("Transpose", x, perm=[1, 0, 2])
    arrays = (array[np.newaxis] for array in (weight, of_state, bias))
    last = add("GRU", tokens, *arrays, outputs=2, hidden_size=width, linear_before_reset=1)
    return _reshaped(add, last, width)


def _attention(add: _Nodes, layer: Layer, x: str, *p: Array) -> str:
    (tokens, width), heads = layer.before, layer.heads
    parts = zip(np.split(p[0], 3), np.split(p[1], 3), strict=True)
    split = (_reshaped(add, _dense(add, x, *part), tokens, heads, width // heads) for part in parts)
    orders = ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])  # each head a matrix, keys transposed
    query, key, value = (
        add("Transpose", one, perm=order) for one, order in zip(split, orders, strict=True)
    )
    scale = np.array((width // heads) ** -0.5, np.float32)
    shares = add("Softmax", add("Mul", add("MatMul", query, key), scale), axis=-1)
    attended = add("Transpose", add("MatMul", shares, value), perm=[0, 2, 1, 3])
    return _dense(add, _reshaped(add, attended, tokens, width), *p[2:])
