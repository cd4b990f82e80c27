"""LeNet as a TensorFlow Lite flatbuffer, the file that LiteRT reads.

Written with LiteRT's own schema, so that neither TensorFlow nor its converter is needed; the
graph is what the converter would make: channels last, biases and the ReLU inside their layers.
"""

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from numpy.typing import NDArray

from ..weights import Weights

_SCHEMA_VERSION = 3

Operator = schema.BuiltinOperator
_CODES = (
    Operator.CONV_2D,
    Operator.MAX_POOL_2D,
    Operator.RESHAPE,
    Operator.FULLY_CONNECTED,
    Operator.SOFTMAX,
)


def model(weights: Weights) -> bytes:
    """The model, from `image` (1, 28, 28, 1) to `probabilities` (1, 10)."""
    graph = _Graph()
    x = image = graph.tensor("image", (1, 28, 28, 1))
    for layer, side, channels in (("1", 24, 20), ("2", 8, 50)):
        weight = weights[f"conv{layer}.weight"].transpose(0, 2, 3, 1)  # OIHW to OHWI
        parameters = graph.parameters(f"conv{layer}", weight, weights[f"conv{layer}.bias"])
        options = _options(schema.Conv2DOptionsT(), padding=schema.Padding.VALID, **_strides(1))
        output = graph.tensor(f"conv{layer}", (1, side, side, channels))
        x = graph.operator(Operator.CONV_2D, options, [x, *parameters], output)
        options = _options(
            schema.Pool2DOptionsT(),
            padding=schema.Padding.VALID,
            filterWidth=2,
            filterHeight=2,
            **_strides(2),
        )
        output = graph.tensor(f"pool{layer}", (1, side // 2, side // 2, channels))
        x = graph.operator(Operator.MAX_POOL_2D, options, [x], output)

    shape = graph.tensor("flat shape", (2,), np.array([1, 800], np.int32))
    options = _options(schema.ReshapeOptionsT(), newShape=[1, 800])
    x = graph.operator(Operator.RESHAPE, options, [x, shape], graph.tensor("flat", (1, 800)))

    fc1 = weights["fc1.weight"].reshape(500, 50, 4, 4).transpose(0, 2, 3, 1)  # CHW to HWC
    parameters = graph.parameters("fc1", fc1.reshape(500, 800), weights["fc1.bias"])
    relu = _options(
        schema.FullyConnectedOptionsT(),
        fusedActivationFunction=schema.ActivationFunctionType.RELU,
    )
    output = graph.tensor("fc1", (1, 500))
    x = graph.operator(Operator.FULLY_CONNECTED, relu, [x, *parameters], output)
    parameters = graph.parameters("fc2", weights["fc2.weight"], weights["fc2.bias"])
    plain = schema.FullyConnectedOptionsT()
    output = graph.tensor("fc2", (1, 10))
    x = graph.operator(Operator.FULLY_CONNECTED, plain, [x, *parameters], output)
    options = _options(schema.SoftmaxOptionsT(), beta=1.0)
    output = graph.tensor("probabilities", (1, 10))
    x = graph.operator(Operator.SOFTMAX, options, [x], output)
    return graph.packed(image, x)


class _Graph:
    """The one subgraph as it grows; a tensor is known by its number."""

    def __init__(self) -> None:
        self._buffers = [schema.BufferT()]  # the first is empty by convention: no constant
        self._tensors: list[schema.TensorT] = []
        self._operators: list[schema.OperatorT] = []

    def tensor(
        self, name: str, shape: tuple[int, ...], constant: "NDArray[np.generic] | None" = None
    ) -> int:
        tensor = schema.TensorT()
        tensor.name, tensor.shape, tensor.type = name, list(shape), schema.TensorType.FLOAT32
        if constant is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(np.ascontiguousarray(constant).tobytes(), np.uint8)
            tensor.buffer = len(self._buffers)
            self._buffers.append(buffer)
            if constant.dtype == np.int32:
                tensor.type = schema.TensorType.INT32
        self._tensors.append(tensor)
        return len(self._tensors) - 1

    def parameters(
        self, name: str, weight: NDArray[np.float32], bias: NDArray[np.float32]
    ) -> list[int]:
        return [
            self.tensor(f"{name}.weight", weight.shape, weight),
            self.tensor(f"{name}.bias", bias.shape, bias),
        ]

    def operator(self, code: int, options: object, inputs: list[int], output: int) -> int:
        operator = schema.OperatorT()
        operator.opcodeIndex = _CODES.index(code)
        operator.inputs, operator.outputs = inputs, [output]
        kind = type(options).__name__.removesuffix("T")
        operator.builtinOptionsType = getattr(schema.BuiltinOptions, kind)
        operator.builtinOptions = options
        self._operators.append(operator)
        return output

    def packed(self, image: int, probabilities: int) -> bytes:
        subgraph = schema.SubGraphT()
        subgraph.name, subgraph.inputs, subgraph.outputs = "lenet", [image], [probabilities]
        subgraph.tensors, subgraph.operators = self._tensors, self._operators
        model = schema.ModelT()
        model.version, model.description = _SCHEMA_VERSION, "lenet-bench"
        model.subgraphs, model.buffers = [subgraph], self._buffers
        model.operatorCodes = [_operator_code(code) for code in _CODES]
        builder = flatbuffers.Builder(1 << 21)
        builder.Finish(model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def _operator_code(code: int) -> schema.OperatorCodeT:
    made = schema.OperatorCodeT()
    made.builtinCode = made.deprecatedBuiltinCode = code
    made.version = 1
    return made


def _strides(stride: int) -> dict[str, int]:
    return {"strideW": stride, "strideH": stride}


def _options(options: object, **values: object) -> object:
    for name, value in values.items():
        setattr(options, name, value)
    return options
