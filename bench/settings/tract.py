"""What tract's Python API offers besides Runnable.run."""

import tempfile
from pathlib import Path

import numpy as np
import tract
from lenet_bench.backends import Array, Infer


def state(onnx_model: bytes) -> Infer:
    """One state for all calls, in place of one a call."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lenet.onnx"
        path.write_bytes(onnx_model)
        model = tract.onnx().load(path)
    model.set_input_fact(0, "1,1,28,28,f32")
    kept = model.into_model().into_runnable().spawn_state()

    def infer(images: Array) -> Array:
        (probabilities,) = kept.run([images[:, np.newaxis]])
        return probabilities.to_numpy()

    return infer
