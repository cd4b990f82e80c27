"""What ONNX Runtime's pages on performance name."""

import onnxruntime as ort
from lenet_bench.backends import Infer
from lenet_bench.backends.onnxruntime import any_number as of_any_number
from lenet_bench.backends.onnxruntime import on_arrays


def _run(model: bytes, threads: int, config: str = "", **options: object) -> Infer:
    """A session for one image, with one entry of its configuration and some options."""
    given = ort.SessionOptions()
    given.intra_op_num_threads = threads
    given.inter_op_num_threads = 1
    given.add_free_dimension_override_by_name("n", 1)
    for name, value in options.items():
        setattr(given, name, value)
    if config:
        given.add_session_config_entry(*config.split("="))
    return on_arrays(ort.InferenceSession(model, given, ["CPUExecutionProvider"]))


def any_number(onnx_model: bytes, threads: int) -> Infer:
    """For any number of images."""
    return of_any_number(onnx_model, threads, "cpu")


def no_arena(onnx_model: bytes, threads: int) -> Infer:
    """No memory arena."""
    return _run(onnx_model, threads, enable_cpu_mem_arena=False)


def no_memory_pattern(onnx_model: bytes, threads: int) -> Infer:
    """No memory pattern."""
    return _run(onnx_model, threads, enable_mem_pattern=False)


def no_spinning(onnx_model: bytes, threads: int) -> Infer:
    """No spinning of threads."""
    return _run(onnx_model, threads, "session.intra_op.allow_spinning=0")


def denormals_as_zero(onnx_model: bytes, threads: int) -> Infer:
    """Denormal numbers as zero."""
    return _run(onnx_model, threads, "session.set_denormal_as_zero=1")
