"""The rows of frameworks, up to Keras: first those that are compilers, as engine_rows.py ends."""

from dataclasses import replace
from typing import Any

from .backend import FLOAT32_ON_GPU, IN_CPP, OPENMP, Backend, OnGpu, framework

_TENSORFLOW = {"TF_NUM_INTRAOP_THREADS": "{threads}", "TF_NUM_INTEROP_THREADS": "1"}
_TENSORFLOW_QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3"}
_JAX = {"JAX_PLATFORMS": "cpu", "NPROC": "{threads}"}  # XLA counts its threads by NPROC

_TENSORFLOW_GPU = OnGpu(
    calls="cuDNN and cuBLAS, through TensorFlow's kernels",
    environment="tensorflow-gpu",
    variables={"TF_FORCE_GPU_ALLOW_GROWTH": "true", **FLOAT32_ON_GPU},
)
_JAX_GPU = OnGpu(
    calls="XLA, which generates kernels and calls cuDNN and cuBLAS",
    environment="jax-gpu",
    variables={"JAX_PLATFORMS": "cuda", "XLA_PYTHON_CLIENT_PREALLOCATE": "false", **FLOAT32_ON_GPU},
)
_TORCH_GPU = OnGpu(
    calls="cuDNN and cuBLAS, through ATen", environment="torch-gpu", variables=FLOAT32_ON_GPU
)
_TF32 = 5e-3  # ten times what an H100 showed
_KERAS = {
    "predict": "Model.predict, as in the guides: an input pipeline and callbacks for each call",
    "predict_on_batch": "Model.predict_on_batch: the compiled graph only",
    "call": "model(images): layer after layer",
}
_FUNCTION = {
    "function": "the model in tf.function(jit_compile=True)",
    "bfloat16": "`function` with the policy mixed_bfloat16",
    "int8": "`function`, fully connected layers quantized by Model.quantize",
}
_JIT = {"jit": "the model in jax.jit, through Keras' stateless_call"}
_COMPILE = {"compile": "the model in torch.compile: C++ by Inductor when first called"}


def _keras(
    below: str,
    name: str,
    variables: dict[str, str],
    gpu: OnGpu | None = None,
    own: dict[str, str] | None = None,
    **rest: Any,
) -> Backend:
    backend = name.partition("-")[2] or "tensorflow"
    return framework(
        name,
        family="Keras",
        summary=f"Python, Keras 3 layers on {below}",
        calls=below,
        module="keras",
        library="Keras",
        package="keras",
        variants={**_KERAS, **(own or {})},
        variables={"KERAS_BACKEND": backend, **variables},
        compiled=frozenset({"compile"} & {*(own or {})}),
        gpu=gpu and replace(gpu, calls=f"{below}, on a GPU"),
        **rest,
    )


FRAMEWORKS: tuple[Backend, ...] = (
    framework(
        "tinygrad",
        family="compilers",
        summary="Python, tinygrad's tensors",
        calls="C that it generates and clang compiles",
        library="tinygrad",
        at_once={"jit": 1, "beam": 1},
        variants={
            "jit": "TinyJit: the kernels of a call recorded and played back",
            "beam": "the same, each kernel found by a search that times them: BEAM=2",
            "eager": "the kernels scheduled again in each call",
        },
        programs=("clang",),
        variables={"DEV": "CPU", "NUM_CPU_THREADS": "{threads}"},
        gpu=OnGpu(
            calls="CUDA that it generates and NVRTC compiles",
            environment=None,
            variables={"DEV": "CUDA"},
        ),
    ),
    framework(
        "jax",
        family="compilers",
        summary="Python, jax.jit of a function of arrays",
        calls="XLA, which generates code and calls YNNPACK",
        library="JAX",
        variants={
            "constants": "the weights closed over by the function",
            "arguments": "the weights passed to each call",
            "aot": "the default, compiled ahead of time for one image: lower and compile",
            "bfloat16": "constants and images in bfloat16",
        },
        tolerances={"bfloat16": 0.04},
        reduced={"bfloat16": "bfloat16"},
        at_once={"aot": 1},
        shared={"": "docs.jax.dev/en/latest/concurrency.html"},
        variables=_JAX,
        gpu=replace(
            _JAX_GPU,
            variants={"tf32": "products rounded to TF32: jax_default_matmul_precision"},
            tolerances={"tf32": _TF32},
            reduced={"tf32": "TF32", "bfloat16": "bfloat16"},
        ),
    ),
    framework(
        "mxnet",
        summary="Python, MXNet 1.9, retired in 2023",
        calls="MXNet's operators, on oneDNN",
        library="MXNet",
        variants={
            "symbol": "a symbol bound by a Module, its first API",
            "gluon": "layers, hybridized",
            "bfloat16": "the symbol, converted by MXNet's amp",
        },
        tolerances={"bfloat16": 0.02},
        reduced={"bfloat16": "bfloat16"},
        environment="mxnet",
        variables={"MXNET_CPU_WORKER_NTHREADS": "1", **OPENMP},
    ),
    framework(
        "chainer",
        summary="Python, Chainer 7, in maintenance since 2019",
        calls="NumPy, and the BLAS that it was built with",
        library="Chainer",
        environment="chainer",
        variables={"OPENBLAS_NUM_THREADS": "{threads}"},
        silencing_variables={"CHAINER_WARN_VERSION_MISMATCH": "0"},
    ),
    framework(
        "mlx",
        summary="Python, MLX's nn.Module, on the CPU",
        calls="MLX's own kernels, and the reference BLAS",
        library="MLX",
        variants={
            "eager": "the module as it is",
            "compile": "mx.compile: element-wise operations fused",
            "bfloat16": "the module in bfloat16",
            "float16": "the module in float16",
        },
        tolerances={"bfloat16": 0.03, "float16": 5e-3},
        reduced={"bfloat16": "bfloat16", "float16": "float16"},
        compiled=frozenset({"compile", "bfloat16", "float16"}),  # as `eager`'s relu, which is tried
        variables=OPENMP,
    ),
    framework(
        "paddle",
        summary="Python, PaddlePaddle's nn.Layer",
        calls="Paddle's kernels, oneDNN and MKL",
        own_threads=1,
        library="PaddlePaddle",
        variants={
            "eager": "the layer as it is",
            "static": "jit.to_static: the layer as a graph",
            "predictor": "the inference engine on the saved program",
            "bfloat16": "the inference engine on oneDNN, in bfloat16",
        },
        tolerances={"bfloat16": 0.02},
        reduced={"bfloat16": "bfloat16"},
        environment="paddle",
        variables={
            "CPU_NUM": "1",
            "FLAGS_new_executor_serial_run": "1",
            "FLAGS_eager_delete_tensor_gb": "-1",  # or another thread frees each tensor
            "GLOG_minloglevel": "2",
            **OPENMP,
        },
    ),
    framework(
        "torch",
        summary="Python, PyTorch's nn.Module in inference mode",
        calls="ATen, on oneDNN and MKL",
        library="PyTorch",
        variants={
            "eager": "the module, channels last as PyTorch's tuning guide advises",
            "contiguous": "the module as it is",
            "compile": "torch.compile: C++ by Inductor when first called",
            "export": "torch.export and Inductor, compiled ahead of time to a package",
            "autotuned": "export, frozen, and its kernels chosen by timing them: max_autotune",
            "torchscript": "torch.jit.trace and freeze, deprecated",
            "int8": "fully connected layers quantized, torch.ao's dynamic quantization",
            "static_int8": "all layers quantized, torch.ao's static quantization, traced",
            "bfloat16": "the module in bfloat16",
            IN_CPP: "the same module in C++, compiled here when first asked for",
        },
        tolerances={"int8": 0.1, "static_int8": 0.3, "bfloat16": 0.02},
        reduced={"int8": "int8 weights", "static_int8": "int8", "bfloat16": "bfloat16"},
        at_once={"export": 1, "autotuned": 1},
        batch=frozenset({"export"}),
        shared={"torchscript": "pytorch.org/docs: CPU threading and TorchScript inference"},
        compiled=frozenset({"compile", "export", "autotuned", IN_CPP}),
        gpu=replace(
            _TORCH_GPU,
            variants={
                "cudagraph": "the module captured by hand: torch.cuda.graph",
                "pinned": "cudagraph, its copies captured too, from and to pinned memory",
                "reduce_overhead": "torch.compile(mode='reduce-overhead'), which captures graphs",
                "max_autotune": "the same with mode='max-autotune': kernels chosen by timing them",
                "tf32": "products rounded to TF32: set_float32_matmul_precision('high')",
            },
            tolerances={"tf32": _TF32},
            reduced={"tf32": "TF32", "bfloat16": "bfloat16"},
            at_once={"cudagraph": 1, "pinned": 1},
            compiled=frozenset({"reduce_overhead", "max_autotune"}),
        ),
    ),
    framework(
        "tensorflow",
        summary="Python, raw tf.nn operations",
        calls="TensorFlow's kernels, on oneDNN and Eigen",
        library="TensorFlow",
        variants={
            "eager": "operation after operation",
            "function": "tf.function: traced into a graph once",
            "xla": "the graph, called directly and compiled by XLA: tf.function(jit_compile=True)",
            "concrete": "the graph, called directly: get_concrete_function",
            "session": "the graph in a session of TensorFlow 1, run by the caller's thread",
            "bfloat16": "the graph in bfloat16, called directly",
            IN_CPP: "the session in C++, compiled here when first asked for",
        },
        tolerances={"bfloat16": 0.02},
        reduced={"bfloat16": "bfloat16"},
        at_once={"xla": 1, "concrete": 1, "session": 1, "bfloat16": 1},
        batch=frozenset({"xla", "concrete", "session"}),
        shared={"session": "tensorflow/core/public/session.h: concurrent calls to Run()"},
        variables=_TENSORFLOW,
        silencing_variables=_TENSORFLOW_QUIET,
        gpu=_TENSORFLOW_GPU,
    ),
    _keras("OpenVINO", "keras-openvino", {}, set_up="on_openvino"),
    _keras("JAX", "keras-jax", _JAX, _JAX_GPU, own=_JIT),
    _keras(
        "PyTorch",
        "keras-torch",
        {"KERAS_TORCH_DEVICE": "cpu"},
        replace(_TORCH_GPU, variables={"KERAS_TORCH_DEVICE": "cuda", **FLOAT32_ON_GPU}),
        set_up="on_torch",
        own=_COMPILE,
    ),
    _keras(
        "TensorFlow",
        "keras",
        _TENSORFLOW,
        _TENSORFLOW_GPU,
        set_up="on_tensorflow",
        own=_FUNCTION,
        silencing_variables=_TENSORFLOW_QUIET,
        tolerances={"bfloat16": 0.04, "int8": 0.05},
        reduced={"bfloat16": "bfloat16", "int8": "int8 weights"},
    ),
)
