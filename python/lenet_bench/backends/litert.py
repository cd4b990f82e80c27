"""LeNet in LiteRT, which was TensorFlow Lite.

A flatbuffer and an interpreter, made for phones: XNNPACK runs the convolutions and the matrix
products. `interpreter` is the API of TensorFlow Lite, `compiled` the one that is to replace it.
The model has a batch of one. XNNPACK computes a float32 model in float16 where a flag says so.
"""

import numpy as np
from ai_edge_litert.compiled_model import CompiledModel
from ai_edge_litert.cpu_options import CpuOptions
from ai_edge_litert.interpreter import Interpreter
from ai_edge_litert.options import Options

from ..network import CLASSES
from . import Array, Infer

FORCE_FP16 = 4  # a flag of xnnpack_delegate.h: TFLITE_XNNPACK_DELEGATE_FLAG_FORCE_FP16


def interpreter(tflite_model: bytes, threads: int) -> Infer:
    """TensorFlow Lite's API."""
    model = Interpreter(model_content=tflite_model, num_threads=threads)  # load
    model.allocate_tensors()  # load
    image = model.get_input_details()[0]["index"]
    probabilities = model.get_output_details()[0]["index"]

    def infer(images: Array) -> Array:
        model.set_tensor(image, images[..., np.newaxis])
        model.invoke()
        return model.get_tensor(probabilities)

    return infer


def int8(int8_tflite_model: bytes, threads: int) -> Infer:
    """The quantized model."""
    return interpreter(int8_tflite_model, threads)


def float16_weights(float16_tflite_model: bytes, threads: int) -> Infer:
    """The model whose weights are float16, which XNNPACK widens when it is loaded."""
    return interpreter(float16_tflite_model, threads)


def compiled(tflite_model: bytes, threads: int, *, flags: int | None = None) -> Infer:
    """Its successor."""
    options = Options(cpu_options=CpuOptions(num_threads=threads, xnnpack_flags=flags))
    model = CompiledModel.from_buffer(tflite_model, options=options)  # load
    inputs, outputs = model.create_input_buffers(0), model.create_output_buffers(0)

    def infer(images: Array) -> Array:
        inputs[0].write(images)
        model.run_by_index(0, inputs, outputs)
        return outputs[0].read(CLASSES, np.float32).reshape(1, CLASSES)

    return infer


def float16(tflite_model: bytes, threads: int) -> Infer:
    """The same, float16 forced."""
    return compiled(tflite_model, threads, flags=FORCE_FP16)
