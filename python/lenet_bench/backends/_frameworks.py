"""The rows of the ladder above the native rungs: runtimes, compilers, frameworks, and those gone.

From the leanest to Keras. A rung's `variables` are what its API must find in the environment when
it is imported: threads and device; `quieting` are those that make it print less.
"""

from dataclasses import replace

from ._rung import OnGpu, Rung

_TENSORFLOW = {"TF_NUM_INTRAOP_THREADS": "{threads}", "TF_NUM_INTEROP_THREADS": "1"}
_TENSORFLOW_QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3"}
_JAX = {"JAX_PLATFORMS": "cpu", "NPROC": "{threads}"}  # XLA counts its threads by NPROC
_OPENMP = {"OMP_NUM_THREADS": "{threads}"}

# On a GPU: no TF32 in NVIDIA's libraries, and no more memory than is used, since all rungs of a
# comparison are there at once.
_FLOAT32 = {"NVIDIA_TF32_OVERRIDE": "0"}
_TENSORFLOW_GPU = OnGpu(
    calls="cuDNN and cuBLAS, through TensorFlow's kernels",
    environment="tensorflow-gpu",
    variables={"TF_FORCE_GPU_ALLOW_GROWTH": "true", **_FLOAT32},
)
_JAX_GPU = OnGpu(
    calls="XLA, which generates kernels and calls cuDNN and cuBLAS",
    environment="jax-gpu",
    variables={
        "JAX_PLATFORMS": "cuda",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        **_FLOAT32,
    },
)
_TORCH_GPU = OnGpu(
    calls="cuDNN and cuBLAS, through ATen",
    environment="torch-gpu",
    variables=_FLOAT32,
)
_KERAS = {
    "predict": "Model.predict, as in the guides: an input pipeline and callbacks a call",
    "predict_on_batch": "Model.predict_on_batch: the compiled graph only",
    "call": "model(images): layer after layer",
}


def _keras(
    framework: str,
    name: str,
    variables: dict[str, str],
    gpu: OnGpu | None = None,
    quieting: dict[str, str] | None = None,
) -> Rung:
    backend = name.partition("-")[2] or "tensorflow"
    return Rung(
        name=name,
        summary=f"Python, Keras 3 layers on {framework}",
        calls=framework,
        exhibit="keras:Keras",
        framework=True,
        variants=_KERAS,
        default="predict",
        extra=name,
        variables={"KERAS_BACKEND": backend, **variables},
        quieting=quieting or {},
        gpu=gpu and replace(gpu, calls=f"{framework}, on a GPU"),
    )


def _gone(name: str, summary: str, calls: str, gone: str) -> Rung:
    return Rung(name=name, summary=summary, calls=calls, exhibit="", gone=gone)


FRAMEWORKS: tuple[Rung, ...] = (
    Rung(
        name="mnn",
        summary="Python, MNN's session on its converted ONNX model",
        calls="MNN's own kernels, Winograd among them",
        exhibit="mnn:Mnn",
        framework=True,
        variants={
            "session": "Interpreter and Session, MNN's first API",
            "module": "nn.Module, the newer API",
            "direct": "the session with no Winograd",
        },
        default="session",
        extra="mnn",
        tolerances={"session": 2e-4, "module": 2e-4},  # 1.1e-4 over the 10,000 test images
    ),
    Rung(
        name="litert",
        summary="Python, LiteRT (TensorFlow Lite) on a flatbuffer",
        calls="XNNPACK",
        exhibit="litert:LiteRt",
        framework=True,
        variants={
            "interpreter": "Interpreter, the API of TensorFlow Lite",
            "compiled": "CompiledModel, its successor",
        },
        default="interpreter",
        extra="litert",
    ),
    Rung(
        name="executorch",
        summary="Python, ExecuTorch's runtime on an exported PyTorch module",
        calls="XNNPACK",
        exhibit="executorch:ExecuTorch",
        framework=True,
        environment="executorch",
        variables=_OPENMP,
    ),
    Rung(
        name="ncnn",
        summary="Python, ncnn's Net and Extractor",
        calls="ncnn's own kernels",
        exhibit="ncnn:Ncnn",
        framework=True,
        extra="ncnn",
    ),
    Rung(
        name="openvino",
        summary="Python, OpenVINO's compiled model, float32 demanded",
        calls="Intel's fork of oneDNN",
        exhibit="openvino:OpenVino",
        framework=True,
        variants={
            "infer": "InferRequest.infer(array)",
            "tensors": "input and output tensors that are set once",
        },
        default="infer",
        extra="openvino",
    ),
    Rung(
        name="onnxruntime",
        summary="Python, ONNX Runtime's session",
        calls="MLAS",
        exhibit="onnxruntime:OnnxRuntime",
        framework=True,
        variants={
            "run": "InferenceSession.run with NumPy arrays",
            "iobinding": "input and output memory that is bound once",
        },
        default="run",
        extra="onnxruntime",
        gpu=OnGpu(
            calls="cuDNN and cuBLAS, through the CUDA execution provider",
            environment="onnxruntime-gpu",
            variables=_FLOAT32,
        ),
    ),
    Rung(
        name="opencv",
        summary="Python, OpenCV's dnn module on the ONNX model",
        calls="OpenCV's own kernels",
        exhibit="opencv:OpenCv",
        framework=True,
        extra="opencv",
    ),
    Rung(
        name="caffe",
        summary="Python, Caffe's prototxt and caffemodel in OpenCV 4's dnn",
        calls="OpenCV's own kernels",
        exhibit="caffe:Caffe",
        framework=True,
        environment="caffe",
    ),
    Rung(
        name="tract",
        summary="Python, tract's runnable on the ONNX model",
        calls="tract's own kernels",
        exhibit="tract:Tract",
        framework=True,
        extra="tract",
    ),
    Rung(
        name="iree",
        summary="Python, IREE's runtime on the ONNX model that it compiled",
        calls="code that IREE generates",
        exhibit="iree:Iree",
        framework=True,
        extra="iree",
    ),
    Rung(
        name="tvm",
        summary="Python, TVM's virtual machine on the ONNX model that it compiled, untuned",
        calls="code that TVM generates",
        exhibit="tvm:Tvm",
        framework=True,
        extra="tvm",
        variables={"TVM_NUM_THREADS": "{threads}"},
    ),
    Rung(
        name="theano",
        summary="Python, Theano 1.0's expressions, the last release in 2020",
        calls="C that it generates, and a BLAS",
        exhibit="theano:Theano",
        framework=True,
        environment="theano",
        programs=("g++",),
        variables={"OPENBLAS_NUM_THREADS": "{threads}", **_OPENMP},
    ),
    Rung(
        name="pytensor",
        summary="Python, PyTensor's expressions, the heir of Theano",
        calls="code that Numba generates, and NumPy's BLAS",
        exhibit="pytensor:PyTensor",
        framework=True,
        environment="pytensor",
        variables={"NUMBA_NUM_THREADS": "{threads}", "OPENBLAS_NUM_THREADS": "{threads}"},
    ),
    Rung(
        name="mxnet",
        summary="Python, MXNet 1.9, retired in 2023",
        calls="MXNet's operators, on oneDNN",
        exhibit="mxnet:MxNet",
        framework=True,
        variants={
            "symbol": "a symbol bound by a Module, its first API",
            "gluon": "layers, hybridized",
        },
        default="symbol",
        environment="mxnet",
        variables={"MXNET_CPU_WORKER_NTHREADS": "1", **_OPENMP},
    ),
    Rung(
        name="chainer",
        summary="Python, Chainer 7, in maintenance since 2019",
        calls="NumPy, and the BLAS that it was built with",
        exhibit="chainer:Chainer",
        framework=True,
        environment="chainer",
        variables={"OPENBLAS_NUM_THREADS": "{threads}"},
        quieting={"CHAINER_WARN_VERSION_MISMATCH": "0"},
    ),
    Rung(
        name="tinygrad",
        summary="Python, tinygrad's tensors",
        calls="C that it generates and clang compiles",
        exhibit="tinygrad:Tinygrad",
        framework=True,
        variants={
            "jit": "TinyJit: the kernels of a call recorded and played back",
            "eager": "the kernels scheduled anew each call",
        },
        default="jit",
        extra="tinygrad",
        programs=("clang",),
        variables={"DEV": "CPU", "NUM_CPU_THREADS": "{threads}"},
    ),
    Rung(
        name="mlx",
        summary="Python, MLX's nn.Module, on the CPU",
        calls="MLX's own kernels, and the reference BLAS",
        exhibit="mlx:Mlx",
        framework=True,
        variants={
            "eager": "the module as it is",
            "compile": "mx.compile: element-wise operations fused",
        },
        default="eager",
        extra="mlx",
        variables=_OPENMP,
    ),
    Rung(
        name="paddle",
        summary="Python, PaddlePaddle's nn.Layer",
        calls="Paddle's kernels, and MKL",
        exhibit="paddle:Paddle",
        framework=True,
        variants={
            "eager": "the layer as it is",
            "static": "jit.to_static: the graph of it",
            "predictor": "the inference engine on the saved program",
        },
        default="eager",
        environment="paddle",
        variables={
            "CPU_NUM": "1",
            "FLAGS_new_executor_serial_run": "1",
            "FLAGS_eager_delete_tensor_gb": "-1",  # else a thread of its own frees each tensor
            "GLOG_minloglevel": "2",
            **_OPENMP,
        },
    ),
    Rung(
        name="jax",
        summary="Python, jax.jit of a function of arrays",
        calls="XLA, which generates code and calls YNNPACK",
        exhibit="jax:Jax",
        framework=True,
        variants={
            "constants": "the weights closed over by the function",
            "arguments": "the weights passed to each call",
        },
        default="constants",
        extra="jax",
        variables=_JAX,
        gpu=_JAX_GPU,
    ),
    Rung(
        name="torch",
        summary="Python, PyTorch's nn.Module in inference mode",
        calls="ATen, on oneDNN and MKL",
        exhibit="torch:Torch",
        framework=True,
        variants={
            "eager": "the module as it is",
            "compile": "torch.compile: C++ by Inductor when first called",
            "export": "torch.export and Inductor, compiled ahead of time to a package",
            "torchscript": "torch.jit.trace and freeze, deprecated",
        },
        default="eager",
        extra="torch",
        compiled=frozenset({"compile", "export"}),
        gpu=_TORCH_GPU,
    ),
    Rung(
        name="tensorflow",
        summary="Python, raw tf.nn operations",
        calls="TensorFlow's kernels, on oneDNN and Eigen",
        exhibit="tensorflow:TensorFlow",
        framework=True,
        variants={
            "eager": "operation after operation",
            "function": "tf.function: traced into a graph once",
            "xla": "the graph itself, compiled by XLA: tf.function(jit_compile=True)",
            "concrete": "the graph itself, get_concrete_function",
        },
        default="eager",
        extra="tensorflow",
        variables=_TENSORFLOW,
        quieting=_TENSORFLOW_QUIET,
        gpu=_TENSORFLOW_GPU,
    ),
    _keras("OpenVINO", "keras-openvino", {}),
    _keras("JAX", "keras-jax", _JAX, _JAX_GPU),
    _keras(
        "PyTorch",
        "keras-torch",
        {"KERAS_TORCH_DEVICE": "cpu"},
        replace(_TORCH_GPU, variables={"KERAS_TORCH_DEVICE": "cuda", **_FLOAT32}),
    ),
    _keras("TensorFlow", "keras", _TENSORFLOW, _TENSORFLOW_GPU, _TENSORFLOW_QUIET),
)

#: What the studies of 2018 could still run.
GONE: tuple[Rung, ...] = (
    _gone(
        "lasagne",
        "Python, Lasagne's layers on Theano",
        "Theano",
        "had its last release, 0.1, in 2015, which imports what Theano 1.0 no longer has "
        "(tensor.signal.downsample); `keras` took its place, `theano` runs",
    ),
    _gone(
        "caffe2",
        "Python, Caffe2's net of operators",
        "its own kernels, cuDNN on a GPU",
        "was merged into PyTorch in 2018, left its builds in 2022 and its sources in 2024; "
        "`torch:export` took its place",
    ),
    _gone(
        "cntk",
        "Python, Microsoft's CNTK, also under Keras 2",
        "MKL, cuDNN on a GPU",
        "had its last main release, 2.7, in 2019, and wheels for Python 3.6 at most; "
        "`onnxruntime` took its place",
    ),
    _gone(
        "torch7",
        "Lua, Torch7's nn",
        "its own kernels, cuDNN on a GPU",
        "had its last release, 7.0, in 2017 and speaks Lua only; `torch` took its place",
    ),
    _gone(
        "knet",
        "Julia, Knet.jl",
        "its own kernels, cuDNN on a GPU",
        "had 1.4.10, still its latest release in 2023, and speaks Julia only; Flux.jl took its "
        "place there, which has no face in Python to measure",
    ),
)
