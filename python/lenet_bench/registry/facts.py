"""Facts for `describe` about an API beyond its version: threads, device, instruction set.

One function for each file of backends/ with such facts. `inside` has the objects that the answering
function holds: its model, session or program.
"""

import os
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Inside = Mapping[str, Any]


def of(module: str, inside: Inside, threads: int) -> dict[str, str]:
    """The facts of this file's API; empty where there are none."""
    more = None if "handle" in inside else _FACTS.get(module)  # C++ has no objects to ask
    return more(inside, threads) if more else {}


def _torch(inside: Inside, _: int) -> dict[str, str]:
    import torch

    answer = inside.get("answer")  # of a captured graph
    if answer is None:
        with torch.inference_mode():
            answer = inside["model"](torch.zeros(1, 1, 28, 28, device=inside["place"]))
    onednn = re.search(r"MKL-DNN v([\d.]+)", torch.__config__.show())
    return {
        "threads": str(torch.get_num_threads()),
        "isa": torch.backends.cpu.get_cpu_capability(),
        "onednn": onednn[1] if onednn else "unknown",
        "device": str(answer.device),
    }


def _jax(inside: Inside, _: int) -> dict[str, str]:
    from jax import numpy as jnp

    given = [inside["parameters"]] if "parameters" in inside else []
    return {"device": str(inside["program"](*given, jnp.zeros((1, 28, 28))).device)}


def _tensorflow(inside: Inside, _: int) -> dict[str, str]:
    import tensorflow

    threads = tensorflow.config.threading.get_intra_op_parallelism_threads()
    if "session" in inside:
        return {"threads": str(threads), "device": ", ".join(_where_session_computes(inside))}
    device = inside["model"](tensorflow.zeros([1, 28, 28, 1])).device
    return {"threads": str(threads), "device": device}


def _where_session_computes(inside: Inside) -> list[str]:
    """The devices of the operations that do the work, from a run that tells of its graphs."""
    import tensorflow

    v1 = tensorflow.compat.v1
    told = v1.RunMetadata()
    inside["session"].run(
        inside["answer"],
        {inside["image"]: np.zeros((1, 28, 28, 1), np.float32)},
        options=v1.RunOptions(output_partition_graphs=True),
        run_metadata=told,
    )
    work = re.compile("Conv2D|MaxPool|MatMul|Softmax")  # also of _FusedConv2D
    nodes = (node for graph in told.partition_graphs for node in graph.node)
    return sorted({node.device for node in nodes if work.search(node.op)})


def _tinygrad(inside: Inside, _: int) -> dict[str, str]:
    from tinygrad import Tensor

    if "model" in inside:
        answer = inside["model"](Tensor(np.zeros((1, 1, 28, 28), np.float32)))
    else:
        answer = inside["play"](Tensor(np.zeros((1, 1, 28, 28), np.float32), device="NPY"))
    return {"device": str(answer.device)}


def _keras(inside: Inside, _: int) -> dict[str, str]:
    from importlib import import_module

    import keras

    framework = import_module(keras.config.backend())
    if compiled := "program" in inside:
        model = inside["program"]
        image = keras.ops.convert_to_tensor(np.zeros((1, 28, 28, 1), np.float32))
    else:
        model, image = inside["model"], np.zeros((1, 28, 28, 1), np.float32)
    answer = model(image)
    return {
        "backend": f"{framework.__name__} {framework.__version__}",
        "jit_compile": "True" if compiled else str(model.jit_compile),
        "device": str(getattr(answer, "device", "cpu")),  # OpenVINO's tensors have no device
    }


def _onnxruntime(inside: Inside, _: int) -> dict[str, str]:
    session = inside["session"]
    providers = session.get_providers()  # the CPU's is always there, as the fallback
    if _forbids_the_cpu(session):
        providers = [one for one in providers if one != "CPUExecutionProvider"]
    return {
        "device": ", ".join(providers),
        "threads": str(session.get_session_options().intra_op_num_threads),
    }


def _forbids_the_cpu(session: Any) -> bool:
    """Whether the session forbids nodes on the CPU: then none of its nodes is there."""
    try:
        entry = session.get_session_options().get_session_config_entry(
            "session.disable_cpu_ep_fallback"
        )
    except RuntimeError:  # not set
        return False
    return bool(entry == "1")


def _openvino(inside: Inside, _: int) -> dict[str, str]:
    read = inside["request"].get_compiled_model().get_property
    return {
        "precision": str(read("INFERENCE_PRECISION_HINT")),
        "threads": str(read("INFERENCE_NUM_THREADS")),
    }


def _executorch(_inside: Inside, _: int) -> dict[str, str]:
    from executorch.extension.pybindings.portable_lib import _threadpool_get_thread_count

    return {"threads": str(_threadpool_get_thread_count())}


def _ggml(_inside: Inside, _: int) -> dict[str, str]:
    import ggml

    isa = "AVX-512" if ggml.ggml_cpu_has_avx512() else "AVX2" if ggml.ggml_cpu_has_avx2() else ""
    return {"ggml": ggml.ggml_version().decode(), **({"isa": isa} if isa else {})}


def _halide(_inside: Inside, _: int) -> dict[str, str]:
    import halide

    return {"target": str(halide.get_jit_target_from_environment())}


def _opencv(_inside: Inside, _: int) -> dict[str, str]:
    import cv2

    return {"threads": str(cv2.getNumThreads())}


def _tvm(_inside: Inside, _: int) -> dict[str, str]:
    from tvm.target.codegen import llvm_get_system_cpu

    return {"target": str(llvm_get_system_cpu())}  # a subclass of str cannot be sent to the parent


def _theano(_inside: Inside, _: int) -> dict[str, str]:
    import theano

    return {
        "compiler": theano.config.cxx or "none, so NumPy",
        "blas": theano.config.blas.ldflags or "NumPy's",
    }


def _numpy(_inside: Inside, threads: int) -> dict[str, str]:
    blas = getattr(np.__config__, "CONFIG", {}).get("Build Dependencies", {}).get("blas", {})
    return {
        "blas": f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip(),
        "threads": _threads_of_blas(threads),
    }


def _threads_of_blas(asked: int) -> str:
    """BLAS reads its thread count once, when NumPy is imported, and only from the environment."""
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
        if os.environ.get(name) == str(asked):
            return f"{asked} ({name})"
    return f"as BLAS chose: set OPENBLAS_NUM_THREADS={asked} before NumPy is imported"


_FACTS: Mapping[str, Callable[[Inside, int], dict[str, str]]] = {
    "caffe": _opencv,
    "chainer": lambda _inside, _: {"numpy": np.__version__},
    "executorch": _executorch,
    "ggml": _ggml,
    "halide": _halide,
    "iree": lambda _, threads: {"driver": "local-sync" if threads == 1 else "local-task"},
    "jax": _jax,
    "keras": _keras,
    "ncnn": lambda inside, _: {"threads": str(inside["net"].opt.num_threads)},
    "numpy": _numpy,
    "onnxruntime": _onnxruntime,
    "opencv": _opencv,
    "openvino": _openvino,
    "reference": lambda _, threads: {"dtype": "float64", "threads": _threads_of_blas(threads)},
    "tensorflow": _tensorflow,
    "tflite_micro": lambda _, threads: {"threads": f"1 of {threads}"},
    "theano": _theano,
    "tinygrad": _tinygrad,
    "torch": _torch,
    "tract": lambda _, threads: {"threads": f"1 of {threads}"},
    "tvm": _tvm,
}
