"""The networks of `described`, written on eight APIs: array in, array out.

Each is called as the backend of its name is, without the harness's check of the image. Threads and
precision of a framework were set when its backend was loaded.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..errors import LenetBenchError
from . import Infer
from .described import Described, Step, exact, image, spelt, steps

Write = Callable[[Described, int], Infer]  # of the network and the threads

_TOLERANCE = 1e-4


def check(network: Described, infer: Infer) -> None:
    """LenetBenchError unless it answers as the network's definition says.

    A trivial operation is the tangent, or softsign where an API would fuse that.
    """
    answer, expected = np.ravel(infer(image(network)[0])), [exact(network).ravel()]
    if network.layers[0].kind == "trivial":
        x = image(network).ravel()
        expected.append(x / (1 + len(network.layers) * np.abs(x)))
    off = min(float(np.abs(answer - one).max()) for one in expected)
    if not off <= _TOLERANCE:
        raise LenetBenchError(
            f"its answer to {network.name} ({spelt(network)}) differs from NumPy's by {off:.2g}, "
            f"and {_TOLERANCE:.0e} is allowed"
        )


def numpy(network: Described, threads: int) -> Infer:  # noqa: ARG001
    x, whole = image(network, channels_last=True), [_numpy_step(step) for step in steps(network)]

    def infer(_: Any) -> Any:
        y: Any = x
        for step in whole:
            y = step(y)
        return y

    return infer


def _numpy_step(step: Step) -> Callable[[Any], Any]:
    from ..backends.numpy import softmax

    if step.has_weights:
        weight, bias = step.channels_last()
    if step.convolves:
        edge, matrix = step.side // 2, weight.reshape(-1, len(bias))
        edges = ((0, 0), (edge, edge), (edge, edge), (0, 0))
        if step.kind == "same":
            return lambda x: _convolve(np.pad(x, edges), matrix, bias, step.side)
        return lambda x: _convolve(x, matrix, bias, step.side)
    if step.kind == "dense":
        return lambda x: x.reshape(1, -1) @ weight + bias
    if step.kind in ("max", "mean"):
        height, width = (2 * side for side in step.after[1:])
        both = np.maximum if step.kind == "max" else lambda a, b: (a + b) * np.float32(0.5)

        def pool(x: Any) -> Any:
            rows = both(x[:, 0:height:2], x[:, 1:height:2])
            return both(rows[:, :, 0:width:2], rows[:, :, 1:width:2])

        return pool
    if step.kind == "relu":
        return lambda x: np.maximum(x, 0)
    return softmax if step.kind == "softmax" else np.tanh


def _convolve(x: Any, matrix: Any, bias: Any, side: int) -> Any:
    """As `backends/numpy.py` does, for a kernel of any side."""
    _, height, width, channels = x.shape
    down, across = height - side + 1, width - side + 1
    image, row, pixel, _ = x.strides
    windows = as_strided(
        x,
        (1, down, across, side, side * channels),
        (image, row, pixel, row, x.itemsize),
        writeable=False,
    )
    output = windows.reshape(down * across, -1) @ matrix
    output += bias
    return output.reshape(1, down, across, -1)


def onnx_model(network: Described) -> bytes:
    """From `image` to `probabilities`, for one image."""
    from onnx import TensorProto, helper, numpy_helper

    nodes: list[Any] = []
    constants: list[Any] = []

    def add(operation: str, *given: str, **attributes: Any) -> None:
        last = nodes[-1].output[0] if nodes else "image"
        node = helper.make_node(operation, [last, *given], [f"x{len(nodes)}"], **attributes)
        nodes.append(node)

    plain = {"relu": "Relu", "softmax": "Softmax", "tanh": "Tanh", "trivial": "Tanh"}
    pools = {"max": "MaxPool", "mean": "AveragePool"}
    for number, step in enumerate(steps(network)):
        names = (f"weight{number}", f"bias{number}") if step.has_weights else ()
        constants += map(numpy_helper.from_array, (step.weight, step.bias), names)
        if step.convolves:
            add("Conv", *names, pads=[step.side // 2 if step.kind == "same" else 0] * 4)
        elif step.kind == "dense":
            if len(step.before) == 3:
                add("Flatten")
            add("Gemm", *names, transB=1)
        elif step.kind in pools:
            add(pools[step.kind], kernel_shape=[2, 2], strides=[2, 2])
        else:
            add(plain[step.kind])
    nodes[-1].output[0] = "probabilities"
    ends = [("image", network.shape), ("probabilities", steps(network)[-1].after)]
    given, answer = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, *shape]) for name, shape in ends
    )
    graph = helper.make_graph(nodes, "described", [given], [answer], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model.SerializeToString()


def onnxruntime(network: Described, threads: int) -> Infer:
    from ..backends.onnxruntime import load

    session, x = load(onnx_model(network), threads, "cpu"), image(network)
    return lambda _: session.run(["probabilities"], {"image": x})[0]


def openvino(network: Described, threads: int) -> Infer:
    import openvino as ov

    config = {
        "INFERENCE_PRECISION_HINT": "f32",
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
    }
    core, x = ov.Core(), image(network)
    model = core.compile_model(core.read_model(onnx_model(network)), "CPU", config)
    request = model.create_infer_request()
    return lambda _: (request.infer(x, share_inputs=True)[0], model)[0]  # which must live on


def opencv(network: Described, threads: int) -> Infer:  # noqa: ARG001
    import cv2

    net = cv2.dnn.readNetFromONNX(np.frombuffer(onnx_model(network), np.uint8))
    x = image(network)

    def infer(_: Any) -> Any:
        net.setInput(x)
        return net.forward()

    return infer


def torch(network: Described, threads: int) -> Infer:  # noqa: ARG001
    import torch as framework
    from torch import nn

    layers: list[Any] = []
    for step in steps(network):
        match step.kind:
            case "conv" | "same":
                edge = step.side // 2 if step.kind == "same" else 0
                layers.append(nn.Conv2d(step.before[0], step.after[0], step.side, padding=edge))
            case "dense":
                layers += [nn.Flatten()] if len(step.before) == 3 else []
                layers.append(nn.Linear(step.weight.shape[1], step.weight.shape[0]))
            case "max" | "mean":
                layers.append(nn.MaxPool2d(2) if step.kind == "max" else nn.AvgPool2d(2))
            case "softmax":
                layers.append(nn.Softmax(dim=1))
            case _:
                layers.append(nn.ReLU() if step.kind == "relu" else nn.Tanh())
        if step.has_weights:
            layers[-1].weight.data = framework.tensor(step.weight)
            layers[-1].bias.data = framework.tensor(step.bias)
    model = nn.Sequential(*layers).to(memory_format=framework.channels_last).eval()
    x = image(network)

    def infer(_: Any) -> Any:
        with framework.inference_mode():
            return model(framework.from_numpy(x)).numpy()

    return infer


def tensorflow(network: Described, threads: int) -> Infer:  # noqa: ARG001
    import tensorflow as tf

    whole = [
        (step, *map(tf.constant, step.channels_last() if step.has_weights else (0, 0)))
        for step in steps(network)
    ]

    def forward(x: Any) -> Any:
        for step, weight, bias in whole:
            match step.kind:
                case "conv" | "same":
                    padding = "SAME" if step.kind == "same" else "VALID"
                    x = tf.nn.bias_add(tf.nn.conv2d(x, weight, 1, padding), bias)
                case "dense":
                    flat = tf.reshape(x, [1, -1]) if len(step.before) == 3 else x
                    x = tf.nn.bias_add(flat @ weight, bias)
                case "max" | "mean":
                    pool = tf.nn.max_pool2d if step.kind == "max" else tf.nn.avg_pool2d
                    x = pool(x, 2, 2, "VALID")
                case "trivial":
                    x = tf.nn.softsign(x)
                case name:
                    x = getattr(tf.nn, name)(x)
        return x

    x = image(network, channels_last=True)
    graph = tf.function(forward).get_concrete_function(tf.TensorSpec(x.shape, tf.float32))
    return lambda _: graph(tf.constant(x)).numpy()


def keras(network: Described, threads: int) -> Infer:  # noqa: ARG001
    import keras as framework
    from keras import layers

    x = image(network, channels_last=True)
    made: list[Any] = [framework.Input(x.shape[1:])]
    weights: list[tuple[Any, Any]] = []
    for step in steps(network):
        match step.kind:
            case "conv" | "same":
                padding = "same" if step.kind == "same" else "valid"
                made.append(layers.Conv2D(step.after[0], step.side, padding=padding))
            case "dense":
                made += [layers.Flatten()] if len(step.before) == 3 else []
                made.append(layers.Dense(step.after[0]))
            case "max" | "mean":
                pool = layers.MaxPooling2D if step.kind == "max" else layers.AveragePooling2D
                made.append(pool(2))
            case name:
                made.append(layers.Activation("softsign" if name == "trivial" else name))
        if step.has_weights:
            weights.append((made[-1], step.channels_last()))
    model = framework.Sequential(made)
    for layer, values in weights:
        layer.set_weights(values)
    return lambda _: model.predict_on_batch(x)


def jax(network: Described, threads: int) -> Infer:  # noqa: ARG001
    import jax as framework
    from jax import lax

    from ..backends.jax import LAYOUT, max_pool

    whole = [
        (step, *map(framework.device_put, step.channels_last() if step.has_weights else (0, 0)))
        for step in steps(network)
    ]

    def forward(x: Any) -> Any:
        for step, weight, bias in whole:
            match step.kind:
                case "conv" | "same":
                    padding = "SAME" if step.kind == "same" else "VALID"
                    convolved = lax.conv_general_dilated(
                        x, weight, (1, 1), padding, dimension_numbers=LAYOUT
                    )
                    x = convolved + bias
                case "dense":
                    x = x.reshape(1, -1) @ weight + bias
                case "max":
                    x = max_pool(x)
                case "mean":
                    x = lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4
                case "relu" | "softmax":
                    x = getattr(framework.nn, step.kind)(x)
                case _:
                    x = framework.numpy.tanh(x)
        return x

    program, x = framework.jit(forward), image(network, channels_last=True)
    return lambda _: np.array(program(x))


#: The function that writes them, by the name of the backend.
WRITTEN: dict[str, Write] = {
    "numpy": numpy,
    "onnxruntime": onnxruntime,
    "openvino": openvino,
    "opencv": opencv,
    "jax": jax,
    "torch": torch,
    "tensorflow:concrete": tensorflow,
    "keras:predict_on_batch": keras,
}
