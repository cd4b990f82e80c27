"""LeNet in OpenVINO.

A model file compiled for one device: the CPU's plug-in runs it on Intel's fork of oneDNN. `infer`
hands over an array a call, which is read where it lies; `tensors` computes from and into tensors
that were set once. Both are compiled for one image, `infer` once more for batches. Precision is
demanded: on a CPU with bfloat16 the default is to compute in that, and be wrong by 0.01.
"""

from pathlib import Path

import numpy as np
import openvino as ov

from ..network import IMAGE
from ..weights import Weights
from . import Array, Infer, in_cpp


def load(file: str | bytes, threads: int, dims: object, precision: str = "f32") -> ov.CompiledModel:
    """The model, compiled for an input of these dimensions; -1 is any size."""
    core = ov.Core()
    model = core.read_model(file)  # load
    model.reshape(dims)
    config = {
        "INFERENCE_PRECISION_HINT": precision,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
    }
    return core.compile_model(model, "CPU", config)


def infer(onnx_model: bytes, threads: int, images: int | None) -> Infer:
    """Arrays in, arrays out."""
    request = load(onnx_model, threads, [images or -1, 1, *IMAGE]).create_infer_request()
    return lambda images: request.infer(images[:, np.newaxis], share_inputs=True)[0]


def tensors(onnx_model: bytes, threads: int) -> Infer:
    """The image into a tensor that was set, the answer out of another."""
    request = load(onnx_model, threads, [1, 1, *IMAGE]).create_infer_request()
    image, probabilities = request.get_input_tensor().data, request.get_output_tensor().data

    def infer(images: Array) -> Array:
        image[0] = images
        request.infer()
        return probabilities.copy()

    return infer


def int8(int8_onnx_model: bytes, threads: int) -> Infer:
    """The quantized model."""
    return infer(int8_onnx_model, threads, 1)


def bfloat16(onnx_model: bytes, threads: int) -> Infer:
    """The model in bfloat16: the default of a processor that has it."""
    request = load(onnx_model, threads, [1, 1, *IMAGE], "bf16").create_infer_request()
    return lambda images: request.infer(images[:, np.newaxis], share_inputs=True)[0]


def cpp(weights: Weights, threads: int, onnx_model: bytes) -> Infer:
    """`infer` in C++, on the same libraries."""
    package = Path(ov.__file__).parent
    libraries = list((package / "libs").glob("libopenvino.so*"))
    includes = [package / "include"]
    return in_cpp.build(
        "openvino", ov.__version__, includes, libraries, weights, threads, onnx_model
    )


def describe(request: ov.InferRequest) -> dict[str, str]:
    """The precision and the threads that the plug-in chose."""
    read = request.get_compiled_model().get_property
    return {
        "precision": str(read("INFERENCE_PRECISION_HINT")),
        "threads": str(read("INFERENCE_NUM_THREADS")),
    }
