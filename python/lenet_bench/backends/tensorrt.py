"""LeNet in TensorRT: an engine that it builds from the ONNX model, its kernels chosen by timing.

Never run here: written from NVIDIA's documentation, for whoever can install it. TensorRT takes
pointers and a stream, which something else has to make. Here that is `cuda.bindings`, CUDA's
runtime in Python, as in NVIDIA's samples: it is small, and CuPy or PyTorch would bring much that is
not needed. The call and both copies, from and to pinned memory, are captured as a CUDA graph.
"""

import ctypes
import math
from typing import Any

import numpy as np
import tensorrt as trt
from cuda.bindings import runtime as cuda

from ..network import CLASSES, IMAGE
from . import Array, Infer

TO_GPU = cuda.cudaMemcpyKind.cudaMemcpyHostToDevice
TO_HOST = cuda.cudaMemcpyKind.cudaMemcpyDeviceToHost


def load(onnx_model: bytes) -> trt.ICudaEngine:
    """The engine for one image, in float32 without TF32."""
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network, config = builder.create_network(), builder.create_builder_config()
    parser = trt.OnnxParser(network, logger)
    if not parser.parse(onnx_model):
        raise RuntimeError(parser.get_error(0).desc())
    network.get_input(0).shape = (1, 1, *IMAGE)
    config.clear_flag(trt.BuilderFlag.TF32)
    plan = builder.build_serialized_network(network, config)
    # load
    return trt.Runtime(logger).deserialize_cuda_engine(plan)


class Captured:
    """The engine's call and the copies as a CUDA graph."""

    def __init__(self, engine: trt.ICudaEngine) -> None:
        self.context = engine.create_execution_context()  # whose memory the graph uses
        self.image, image = memory((1, 1, *IMAGE))
        self.probabilities, self.answer = memory((1, CLASSES))
        self.context.set_tensor_address("image", image)
        self.context.set_tensor_address("probabilities", self.answer)
        self.stream = stream = done(cuda.cudaStreamCreate())

        def enqueue() -> None:
            x, y = self.image, self.probabilities
            done(cuda.cudaMemcpyAsync(image, x.ctypes.data, x.nbytes, TO_GPU, stream))
            if not self.context.execute_async_v3(int(stream)):
                raise RuntimeError("TensorRT does not run the engine")
            done(cuda.cudaMemcpyAsync(y.ctypes.data, self.answer, y.nbytes, TO_HOST, stream))

        enqueue()  # what is done for the first time cannot be captured
        done(cuda.cudaStreamSynchronize(stream))
        mode = cuda.cudaStreamCaptureMode.cudaStreamCaptureModeThreadLocal
        done(cuda.cudaStreamBeginCapture(stream, mode))
        enqueue()
        self.graph = done(cuda.cudaGraphInstantiate(done(cuda.cudaStreamEndCapture(stream)), 0))

    def replay(self, images: Array) -> Array:
        self.image[:, 0] = images
        done(cuda.cudaGraphLaunch(self.graph, self.stream))
        done(cuda.cudaStreamSynchronize(self.stream))
        return self.probabilities.copy()


def memory(shape: tuple[int, ...]) -> tuple[Array, int]:
    """An array in pinned memory of the host, and the address of as much memory of the GPU."""
    floats = math.prod(shape)
    pinned = (ctypes.c_float * floats).from_address(done(cuda.cudaMallocHost(4 * floats)))
    return np.ctypeslib.as_array(pinned).reshape(shape), done(cuda.cudaMalloc(4 * floats))


def done(returned: tuple[Any, ...]) -> Any:
    """What a function of CUDA's runtime gives; its first result is the error."""
    error, *given = returned
    if error:
        raise RuntimeError(f"CUDA: {error.name}")
    return given[0] if given else None


def build(onnx_model: bytes) -> Infer:
    """One image into the graph, one answer out of it."""
    captured = Captured(load(onnx_model))
    return lambda images: captured.replay(images)


def describe(captured: Captured) -> dict[str, str]:
    """The device that an answer lies on, as CUDA's runtime says."""
    where = done(cuda.cudaPointerGetAttributes(captured.answer))
    on_gpu = where.type == cuda.cudaMemoryType.cudaMemoryTypeDevice
    return {"device": f"cuda:{where.device}" if on_gpu else "cpu"}
