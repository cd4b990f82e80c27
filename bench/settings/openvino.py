"""What OpenVINO's pages on latency name."""

import numpy as np
import openvino as ov
from lenet_bench.backends import Array, Infer
from lenet_bench.backends.openvino import load


def _compiled(model: bytes, **config: object) -> ov.CompiledModel:
    core = ov.Core()
    read = core.read_model(model)
    read.reshape([1, 1, 28, 28])
    return core.compile_model(read, "CPU", {"INFERENCE_PRECISION_HINT": "f32", **config})


def called(onnx_model: bytes, threads: int) -> Infer:
    """The compiled model called as in the first example."""
    model = load(onnx_model, threads, images=1)
    return lambda images: model(images[:, np.newaxis])[0]


def any_number(onnx_model: bytes, threads: int) -> Infer:
    """Compiled for any number of images."""
    request = load(onnx_model, threads, images=-1).create_infer_request()
    return lambda images: request.infer(images[:, np.newaxis], share_inputs=True)[0]


def share_outputs(onnx_model: bytes, threads: int) -> Infer:
    """Outputs shared too, and copied by us."""
    request = load(onnx_model, threads, images=1).create_infer_request()

    def infer(images: Array) -> Array:
        answer = request.infer(images[:, np.newaxis], share_inputs=True, share_outputs=True)
        return answer[0].copy()

    return infer


def no_hint(onnx_model: bytes, threads: int) -> Infer:
    """No hint of latency and no streams: threads only."""
    request = _compiled(onnx_model, INFERENCE_NUM_THREADS=threads).create_infer_request()
    return lambda images: request.infer(images[:, np.newaxis], share_inputs=True)[0]


def not_pinned(onnx_model: bytes, threads: int) -> Infer:
    """No pinning of OpenVINO's own."""
    config = {"PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1, "ENABLE_CPU_PINNING": False}
    request = _compiled(onnx_model, INFERENCE_NUM_THREADS=threads, **config).create_infer_request()
    return lambda images: request.infer(images[:, np.newaxis], share_inputs=True)[0]


def started(onnx_model: bytes, threads: int) -> Infer:
    """start_async and wait, with tensors that are set once."""
    request = load(onnx_model, threads, images=1).create_infer_request()
    image, probabilities = request.get_input_tensor().data, request.get_output_tensor().data

    def infer(images: Array) -> Array:
        image[0] = images
        request.start_async()
        request.wait()
        return probabilities.copy()

    return infer


def tensors_no_hint(onnx_model: bytes, threads: int) -> Infer:
    """Tensors that are set once, with no streams and no hint."""
    request = _compiled(onnx_model, INFERENCE_NUM_THREADS=threads).create_infer_request()
    image, probabilities = request.get_input_tensor().data, request.get_output_tensor().data

    def infer(images: Array) -> Array:
        image[0] = images
        request.infer()
        return probabilities.copy()

    return infer
