"""LeNet in MNN.

A C++ library made for phones, with kernels of its own. Its converter makes the file that its
runtime reads from an ONNX model. `session` is the runtime's first API, `module` the newer one.
Convolutions go by Winograd's method, which costs accuracy (1e-4 over the test images); `direct`
forbids that. The model is loaded for one image, so a batch is one after another.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import MNN
import numpy as np
from MNN import expr, nn

from ..export import onnx
from ..weights import Weights
from ._exhibit import Array, Exhibit

WINOGRAD_MEMORY_LEVEL = 3  # a number of Interpreter::HintMode; level 0 is no Winograd
SHAPE = (1, 1, 28, 28)

# What the command mnnconvert does, without its report to a server and its call of pip; apart,
# since its protocol buffers abort a process that holds TensorFlow's.
CONVERT = [sys.executable, "-c", "import _tools, sys; _tools.mnnconvert(['', *sys.argv[1:]])"]
CONVERT += ["-f", "ONNX", "--bizCode", "lenet"]


class Mnn(Exhibit):
    """The saved network in one of MNN's two runtimes."""

    def __init__(self, weights: Weights, *, threads: int, variant: str) -> None:
        self._variant, self._threads = variant, threads
        config = {"backend": "CPU", "numThread": threads, "precision": "high"}
        with tempfile.TemporaryDirectory() as folder:
            model, converted = str(Path(folder) / "lenet.onnx"), str(Path(folder) / "lenet.mnn")
            Path(model).write_bytes(onnx.model(weights))
            files = ["--modelFile", model, "--MNNModel", converted]
            subprocess.run([*CONVERT, *files], check=True, capture_output=True)
            if variant == "module":
                runtime = nn.create_runtime_manager((config,))
                self._module = nn.load_module_from_file(
                    converted, ["image"], ["probabilities"], runtime_manager=runtime
                )
                return
            self._interpreter = MNN.Interpreter(converted)
        if variant == "direct":
            self._interpreter.setSessionHint(WINOGRAD_MEMORY_LEVEL, 0)
        self._session = self._interpreter.createSession(config)
        self._input = self._interpreter.getSessionInput(self._session, "image")
        self._interpreter.resizeTensor(self._input, SHAPE)
        self._interpreter.resizeSession(self._session)
        self._output = self._interpreter.getSessionOutput(self._session, "probabilities")

    def forward(self, images: Array) -> Array:
        if len(images) == 1:
            return self._answer(images[0])
        return np.concatenate([self._answer(image) for image in images])

    def _answer(self, image: Array) -> Array:
        if self._variant == "module":
            x = expr.const(image, SHAPE, expr.NCHW, expr.float)
            return self._module.forward(x).read().copy()
        kind, layout = MNN.Halide_Type_Float, MNN.Tensor_DimensionType_Caffe
        self._input.copyFrom(MNN.Tensor(SHAPE, kind, image.reshape(SHAPE), layout))
        self._interpreter.runSession(self._session)
        return self._output.getNumpyData().copy()

    def describe(self) -> dict[str, str]:
        return {
            "library": f"MNN {MNN.version()}",
            "variant": self._variant,
            "threads": str(self._threads),
        }
