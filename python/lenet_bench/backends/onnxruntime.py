"""LeNet in ONNX Runtime.

A model file and a session: the graph is optimised when it is loaded, and its convolutions and
matrix products are those of MLAS, the runtime's own library, or on a GPU cuDNN's and cuBLAS's.
`run` takes and gives NumPy arrays; `iobinding` computes into memory that was bound once; `extended`
keeps the layout that arrays have; `cudagraph` is `iobinding` on a GPU, where the runtime captures
the call as a CUDA graph. All fix the number of images to one; `run` and `extended` have a second
session for batches.
"""

import ctypes
from pathlib import Path

import numpy as np
import onnxruntime as ort

from ..errors import Unavailable
from ..network import CLASSES, IMAGE
from ..weights import Weights
from . import Array, Infer, in_cpp


def load(
    onnx_model: bytes,
    threads: int,
    device: str,
    images: int | None = 1,
    level: str = "ORT_ENABLE_ALL",
    capture: bool = False,
) -> ort.InferenceSession:
    """The session, for so many images a call; None is any number."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
    if images:
        options.add_free_dimension_override_by_name("n", images)
    provider, settings = "CPUExecutionProvider", {}
    if device == "cuda":  # no node may be left to the CPU, and a GPU that fails is an error
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        provider = "CUDAExecutionProvider"
        settings = {"use_tf32": 0, "enable_cuda_graph": int(capture)}
    # load
    return ort.InferenceSession(
        onnx_model, options, providers=[(provider, settings)], enable_fallback=0
    )


def run(onnx_model: bytes, threads: int, device: str, images: int | None) -> Infer:
    """Arrays in, arrays out."""
    return on_arrays(load(onnx_model, threads, device, images))


def on_arrays(session: ort.InferenceSession) -> Infer:
    """The session from array to array."""
    return lambda images: session.run(["probabilities"], {"image": images[:, np.newaxis]})[0]


def extended(onnx_model: bytes, threads: int, device: str, images: int | None) -> Infer:
    """Optimised without the blocked layout.

    In blocks of 16 channels, AVX-512's, LeNet's 20 and 50 are padded to 32 and 64, and reordered
    around each pool, which takes whole blocks only. A network with 32 and 64 is faster in blocks.
    """
    return on_arrays(load(onnx_model, threads, device, images, "ORT_ENABLE_EXTENDED"))


def int8(int8_onnx_model: bytes, threads: int, device: str) -> Infer:
    """The quantized model."""
    return on_arrays(load(int8_onnx_model, threads, device))


def iobinding(onnx_model: bytes, threads: int, device: str) -> Infer:
    """One image into memory that was bound, one answer out of it."""
    return bound(load(onnx_model, threads, device), device)


def cudagraph(onnx_model: bytes, threads: int, device: str) -> Infer:
    """The same, captured as a CUDA graph by the first call."""
    return bound(load(onnx_model, threads, device, capture=True), device)


def bound(session: ort.InferenceSession, device: str) -> Infer:
    """The session from array to array, through memory of the device that is bound once."""
    image = ort.OrtValue.ortvalue_from_numpy(np.zeros((1, 1, *IMAGE), np.float32), device)
    probabilities = ort.OrtValue.ortvalue_from_numpy(np.zeros((1, CLASSES), np.float32), device)
    binding = session.io_binding()
    binding.bind_ortvalue_input("image", image)
    binding.bind_ortvalue_output("probabilities", probabilities)

    def infer(images: Array) -> Array:
        image.update_inplace(images[:, np.newaxis])
        session.run_with_iobinding(binding)
        return np.array(probabilities.numpy())

    return infer


def cpp(weights: Weights, threads: int, onnx_model: bytes) -> Infer:
    """`run` in the C API, on the shared library that the wheel has beside Python's module."""
    libraries = list((Path(ort.__file__).parent / "capi").glob("libonnxruntime.so.*"))
    if not libraries:
        raise Unavailable(
            f"the C API needs libonnxruntime.so and onnxruntime-{ort.__version__} is here without "
            "it; fix it with: pip install -U onnxruntime"
        )
    ctypes.CDLL(str(libraries[0]))  # what the linker asks for by a name that no file here has
    return in_cpp.build("onnxruntime", ort.__version__, [], libraries, weights, threads, onnx_model)


def describe(session: ort.InferenceSession) -> dict[str, str]:
    """The threads, and the provider that has all nodes: `load` forbids others on a GPU."""
    return {
        "device": session.get_providers()[0],
        "threads": str(session.get_session_options().intra_op_num_threads),
    }
