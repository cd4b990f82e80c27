"""What MNN's pages name for the CPU."""

import tempfile

import MNN
from lenet_bench.backends import Array, Infer
from lenet_bench.backends.mnn import SHAPE, config, converted
from MNN import expr, nn


def _session(
    onnx_model: bytes, set_to: "dict[str, object]", hint: "tuple[int, int] | None" = None
) -> Infer:
    with tempfile.TemporaryDirectory() as folder:
        model = MNN.Interpreter(converted(onnx_model, folder))
    if hint:
        model.setSessionHint(*hint)
    session = model.createSession(set_to)
    image = model.getSessionInput(session, "image")
    model.resizeTensor(image, SHAPE)
    model.resizeSession(session)
    probabilities = model.getSessionOutput(session, "probabilities")
    kind, layout = MNN.Halide_Type_Float, MNN.Tensor_DimensionType_Caffe

    def infer(images: Array) -> Array:
        image.copyFrom(MNN.Tensor(SHAPE, kind, images.reshape(SHAPE), layout))
        model.runSession(session)
        return probabilities.getNumpyData().copy()

    return infer


def memory_low(onnx_model: bytes, threads: int) -> Infer:
    """memory=low."""
    return _session(onnx_model, {**config(threads), "memory": "low"})


def memory_high(onnx_model: bytes, threads: int) -> Infer:
    """memory=high."""
    return _session(onnx_model, {**config(threads), "memory": "high"})


def power_high(onnx_model: bytes, threads: int) -> Infer:
    """power=high."""
    return _session(onnx_model, {**config(threads), "power": "high"})


def precision_normal(onnx_model: bytes, threads: int) -> Infer:
    """Precision normal, the default."""
    return _session(onnx_model, {**config(threads), "precision": "normal"})


def winograd_1(onnx_model: bytes, threads: int) -> Infer:
    """Winograd's method with small tiles."""
    return _session(onnx_model, config(threads), (3, 1))


def winograd_2(onnx_model: bytes, threads: int) -> Infer:
    """Winograd's method with medium tiles."""
    return _session(onnx_model, config(threads), (3, 2))


def _module(onnx_model: bytes, threads: int) -> "nn._Module":
    runtime = nn.create_runtime_manager((config(threads),))
    with tempfile.TemporaryDirectory() as folder:
        return nn.load_module_from_file(
            converted(onnx_model, folder),
            ["image"],
            ["probabilities"],
            runtime_manager=runtime,
            shape_mutable=False,
            rearrange=True,
        )


def module_fixed(onnx_model: bytes, threads: int) -> Infer:
    """The newer API, its shapes declared fixed."""
    model = _module(onnx_model, threads)

    def infer(images: Array) -> Array:
        x = expr.const(images, SHAPE, expr.NCHW, expr.float)
        return model.forward(x).read().copy()

    return infer


def module_placeholder(onnx_model: bytes, threads: int) -> Infer:
    """The newer API, its shapes declared fixed, the image written into one placeholder."""
    model = _module(onnx_model, threads)
    image = expr.placeholder(SHAPE, expr.NCHW, expr.float)

    def infer(images: Array) -> Array:
        image.write(images)
        return model.forward(image).read().copy()

    return infer
