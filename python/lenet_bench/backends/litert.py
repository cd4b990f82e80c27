"""LeNet in LiteRT, which was TensorFlow Lite.

A flatbuffer and an interpreter, made for phones: XNNPACK runs the convolutions and the matrix
products. `interpreter` is the API of TensorFlow Lite, `compiled` the one that is to replace it.
The model has a batch of one, so a batch is one image after another.
"""

from importlib.metadata import version

import numpy as np
from ai_edge_litert.compiled_model import CompiledModel
from ai_edge_litert.cpu_options import CpuOptions
from ai_edge_litert.interpreter import Interpreter
from ai_edge_litert.options import Options

from ..export import tflite
from ..weights import Weights
from ._exhibit import Array, Exhibit


class LiteRt(Exhibit):
    """The model that lenet_bench.export makes, in either of LiteRT's APIs."""

    def __init__(self, weights: Weights, *, threads: int, variant: str) -> None:
        model = tflite.model(weights)
        self._variant, self._threads = variant, threads
        if variant == "compiled":
            options = Options(cpu_options=CpuOptions(num_threads=threads))
            self._compiled = CompiledModel.from_buffer(model, options=options)
            self._inputs = self._compiled.create_input_buffers(0)
            self._outputs = self._compiled.create_output_buffers(0)
        else:
            self._interpreter = Interpreter(model_content=model, num_threads=threads)
            self._interpreter.allocate_tensors()
            self._input = self._interpreter.get_input_details()[0]["index"]
            self._output = self._interpreter.get_output_details()[0]["index"]

    def forward(self, images: Array) -> Array:
        run = self._run_compiled if self._variant == "compiled" else self._interpret
        if len(images) == 1:
            return run(images)
        return np.concatenate([run(image[np.newaxis]) for image in images])

    def describe(self) -> dict[str, str]:
        return {
            "library": f"LiteRT {version('ai-edge-litert')}",
            "variant": self._variant,
            "threads": str(self._threads),
        }

    def _interpret(self, image: Array) -> Array:
        self._interpreter.set_tensor(self._input, image[..., np.newaxis])
        self._interpreter.invoke()
        return self._interpreter.get_tensor(self._output)

    def _run_compiled(self, image: Array) -> Array:
        self._inputs[0].write(image)
        self._compiled.run_by_index(0, self._inputs, self._outputs)
        return self._outputs[0].read(10, np.float32).reshape(1, 10)
