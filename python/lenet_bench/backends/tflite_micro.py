"""LeNet in TensorFlow Lite for Microcontrollers.

An interpreter for chips without an operating system, here built for this computer: the same
flatbuffer as LiteRT's, kernels in plain C++ that any compiler reads, one thread, and all tensors
in an arena of fixed size (`ARENA`), of which LeNet takes 60 KB. The model has a batch of one.
"""

import numpy as np
from tflite_micro import runtime

from . import Array, Infer

ARENA = 64 * 1024


def int8(int8_tflite_model: bytes) -> Infer:
    """The quantized model."""
    return build(int8_tflite_model)


def build(tflite_model: bytes) -> Infer:
    """An interpreter with its arena."""
    model = runtime.Interpreter.from_bytes(tflite_model, arena_size=ARENA)  # load

    def infer(images: Array) -> Array:
        model.set_input(images[..., np.newaxis], 0)
        model.invoke()
        return model.get_output(0)

    return infer


def describe(threads: int) -> dict[str, str]:
    """Its one thread."""
    return {"threads": f"1 of {threads}"}
