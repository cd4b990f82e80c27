"""A network as an ONNX model, which most engines read, for any number of inputs."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from ...export.onnx import IR_VERSION, OPSET
from ...weights import Weights
from ..exact import EPSILON
from ..graph import Layer, Network
from ..seeded import as_images, inputs_of, update_first

Array = NDArray[Any]

_PLAIN = {"relu": "Relu", "add": "Add"}


def in_place(network: Network, weights: Weights) -> dict[str, Any]:
    return {"onnx_model": _Model(network, weights).serialized()}


class _Model:
    """The nodes of the model and its constants, while they are added."""

    def __init__(self, network: Network, weights: Weights) -> None:
        self._weights = weights
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        shape = as_images(inputs_of(network, 1, seed=0), channels_last=False).shape[1:]
        ends = {"image": (1, *shape), "probabilities": (network.answers,)}
        self._ends = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", *end])
            for name, end in ends.items()
        ]
        names = {"input": "image"}
        if ends["image"] != network.shape:
            names["input"] = self._reshaped("image", *network.shape)
        for layer in network.computed:
            given = [names[name] for name in layer.inputs]
            names[layer.name] = self._layer(layer, given)
        self._nodes[-1].output[0] = "probabilities"

    def serialized(self) -> bytes:
        (image, answer), opset = self._ends, helper.make_opsetid("", OPSET)
        graph = helper.make_graph(self._nodes, "lenet", [image], [answer], self._constants)
        model = helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION)
        content: bytes = model.SerializeToString()
        return content

    def _add(self, operation: str, *given: "str | Array", outputs: int = 1, **more: Any) -> str:
        """Add a node, and a constant for each array; the name of its last output."""
        number = len(self._nodes)
        names = [f"{operation}{number}_{one}" for one in range(outputs)]
        taken = [one if isinstance(one, str) else self._constant(one) for one in given]
        self._nodes.append(helper.make_node(operation, taken, names, **more))
        return names[-1]

    def _constant(self, array: Array) -> str:
        name = f"constant{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def _reshaped(self, x: str, *shape: int) -> str:
        return self._add("Reshape", x, np.array([-1, *shape], np.int64))

    def _layer(self, layer: Layer, given: list[str]) -> str:
        p = [self._weights[f"{layer.name}.{name}"] for name in layer.parameters]
        x = given[0]
        window: dict[str, Any] = {"kernel_shape": [layer.side] * 2, "strides": [layer.stride] * 2}
        match layer.kind:
            case "conv":
                return self._add("Conv", x, *p, **window, pads=[layer.pad] * 4)
            case "pool":
                return self._add("MaxPool", x, **window, pads=[layer.pad] * 4)
            case "mean" if len(layer.before) == 3:
                return self._add("Flatten", self._add("GlobalAveragePool", x))
            case "mean":
                return self._add("ReduceMean", x, axes=[1], keepdims=0)
            case "fc" if len(layer.before) == 2:
                return self._dense(x, *p)
            case "fc":
                return self._add(
                    "Gemm", self._add("Flatten", x) if layer.flattens else x, *p, transB=1
                )
            case "softmax":
                return self._add("Softmax", x, axis=1)
            case "concat":
                return self._add("Concat", *given, axis=1)
            case "embedding":
                return self._add("Gather", p[0], self._add("Cast", x, to=TensorProto.INT64))
            case "gru":
                return self._gru(x, *p)
            case "attention":
                return self._attention(layer, x, *p)
            case "take" if layer.after == layer.before:
                return x
            case "take":
                ends = (np.array([end], np.int64) for end in (0, layer.after[0], 1))
                return self._add("Slice", self._add("Flatten", x), *ends)
            case "norm":
                return self._add("LayerNormalization", x, *p, axis=-1, epsilon=EPSILON)
        return self._add(_PLAIN[layer.kind], *given)

    def _dense(self, x: str, weight: Array, bias: Array) -> str:
        """Of each token."""
        return self._add("Add", self._add("MatMul", x, weight.T), bias)

    def _gru(self, x: str, *p: Array) -> str:
        weight, of_state, bias, bias_state = map(update_first, p)
        bias, width = np.concatenate([bias, bias_state]), of_state.shape[1]
        tokens = self._add("Transpose", x, perm=[1, 0, 2])
        arrays = (array[np.newaxis] for array in (weight, of_state, bias))
        last = self._add(
            "GRU", tokens, *arrays, outputs=2, hidden_size=width, linear_before_reset=1
        )
        return self._reshaped(last, width)

    def _attention(self, layer: Layer, x: str, *p: Array) -> str:
        (tokens, width), heads = layer.before, layer.heads
        parts = zip(np.split(p[0], 3), np.split(p[1], 3), strict=True)
        split = (
            self._reshaped(self._dense(x, *part), tokens, heads, width // heads) for part in parts
        )
        orders = ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])  # each head a matrix, keys transposed
        query, key, value = (
            self._add("Transpose", one, perm=order)
            for one, order in zip(split, orders, strict=True)
        )
        scale = np.array((width // heads) ** -0.5, np.float32)
        shares = self._add(
            "Softmax", self._add("Mul", self._add("MatMul", query, key), scale), axis=-1
        )
        attended = self._add("Transpose", self._add("MatMul", shares, value), perm=[0, 2, 1, 3])
        return self._dense(self._reshaped(attended, tokens, width), *p[2:])
