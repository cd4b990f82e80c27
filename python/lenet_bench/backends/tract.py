"""LeNet in tract.

A runtime in Rust with kernels of its own, made for small machines; it reads the ONNX model and
fixes its shapes when it is prepared, here for one image. It has one thread.
"""

import tempfile
from pathlib import Path

import numpy as np
import tract

from ..network import IMAGE
from . import Array, Infer


def build(onnx_model: bytes) -> Infer:
    """A runnable for one image."""
    # load
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lenet.onnx"
        path.write_bytes(onnx_model)
        model = tract.onnx().load(path)
    model.set_input_fact(0, "1,1,{},{},f32".format(*IMAGE))
    runnable = model.into_model().into_runnable()

    def infer(images: Array) -> Array:
        (probabilities,) = runnable.run([images[:, np.newaxis]])
        return probabilities.to_numpy()

    return infer


def describe(threads: int) -> dict[str, str]:
    """Its one thread."""
    return {"threads": f"1 of {threads}"}
