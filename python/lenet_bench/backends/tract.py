"""LeNet in tract.

A runtime in Rust with kernels of its own, made for small machines; it reads the ONNX model and
fixes its shapes when it is prepared, so a batch is one image after another. It has one thread.
"""

import tempfile
from pathlib import Path

import numpy as np
import tract

from ..export import onnx
from ..weights import Weights
from ._exhibit import Array, Exhibit


class Tract(Exhibit):
    """A runnable for one image, made from the model that lenet_bench.export makes."""

    def __init__(self, weights: Weights, *, threads: int) -> None:
        self._threads = f"1 of {threads}"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "lenet.onnx"
            path.write_bytes(onnx.model(weights))
            model = tract.onnx().load(path)
        model.set_input_fact(0, "1,1,28,28,f32")
        self._runnable = model.into_model().into_runnable()

    def forward(self, images: Array) -> Array:
        probabilities = np.empty((len(images), 10), np.float32)
        for index in range(len(images)):
            (answer,) = self._runnable.run([images[index : index + 1, np.newaxis]])
            probabilities[index] = answer.to_numpy()
        return probabilities

    def describe(self) -> dict[str, str]:
        return {"library": f"tract {tract.version()}", "threads": self._threads}
