"""LeNet in MNN.

A C++ library made for phones, with kernels of its own. Its converter makes the file that its
runtime reads from an ONNX model. `session` is the runtime's first API, `module` the newer one.
Convolutions go by Winograd's method, which costs accuracy (1e-4 over the test images); `direct`
forbids that. The model is loaded for one image.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import MNN
from MNN import expr, nn

from . import Array, Infer

WINOGRAD_MEMORY_LEVEL = 3  # a number of Interpreter::HintMode; level 0 is no Winograd
SHAPE = (1, 1, 28, 28)

# What the command mnnconvert does, without its report to a server and its call of pip; apart,
# since its protocol buffers abort a process that holds TensorFlow's.
CONVERT = [sys.executable, "-c", "import _tools, sys; _tools.mnnconvert(['', *sys.argv[1:]])"]
CONVERT += ["-f", "ONNX", "--bizCode", "lenet"]


# load
def converted(onnx_model: bytes, folder: str, *options: str) -> str:
    """The file that MNN reads.

    The converter keeps the weights in a file of a fixed name in its working folder for a while: two
    in one folder would spoil each other's.
    """
    model, made = Path(folder) / "lenet.onnx", Path(folder) / "lenet.mnn"
    model.write_bytes(onnx_model)
    files = ["--modelFile", str(model), "--MNNModel", str(made)]
    subprocess.run([*CONVERT, *files, *options], check=True, capture_output=True, cwd=folder)
    return str(made)


def config(threads: int) -> dict[str, object]:
    """On so many threads of the CPU, in float32."""
    return {"backend": "CPU", "numThread": threads, "precision": "high"}


def on_session(onnx_model: bytes, threads: int, *options: str, winograd: bool = True) -> Infer:
    """An interpreter and its session."""
    with tempfile.TemporaryDirectory() as folder:  # load
        model = MNN.Interpreter(converted(onnx_model, folder, *options))
    if not winograd:
        model.setSessionHint(WINOGRAD_MEMORY_LEVEL, 0)
    session = model.createSession(config(threads))
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


def session(onnx_model: bytes, threads: int) -> Infer:
    """MNN's first API."""
    return on_session(onnx_model, threads)


def direct(onnx_model: bytes, threads: int) -> Infer:
    """The session with no Winograd."""
    return on_session(onnx_model, threads, winograd=False)


def int8(onnx_model: bytes, threads: int) -> Infer:
    """The session with weights in int8."""
    return on_session(onnx_model, threads, "--weightQuantBits", "8")


def module(onnx_model: bytes, threads: int) -> Infer:
    """The newer API."""
    runtime = nn.create_runtime_manager((config(threads),))
    with tempfile.TemporaryDirectory() as folder:  # load
        model = nn.load_module_from_file(
            converted(onnx_model, folder), ["image"], ["probabilities"], runtime_manager=runtime
        )

    def infer(images: Array) -> Array:
        x = expr.const(images, SHAPE, expr.NCHW, expr.float)
        return model.forward(x).read().copy()

    return infer
