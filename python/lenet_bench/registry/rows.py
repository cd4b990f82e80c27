"""The rows: every backend as data, from C++ to Keras; and the backend that a name stands for."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import LenetBenchError, Misuse
from ..units import counted
from .backend import ON_GPU, Backend, Device, Native
from .engine_rows import ENGINES
from .framework_rows import FRAMEWORKS

FLOAT32 = 1e-5  # the largest difference from the reference's probabilities that float32 may show


#: APIs of 2018 that cannot be run any more, and what took their place.
GONE = {
    "lasagne": "Lasagne had its last release, 0.1, in 2015, which imports what Theano 1.0 no "
    "longer has; `keras` took its place, and `theano` runs",
    "caffe2": "Caffe2 was merged into PyTorch in 2018, left its builds in 2022 and its sources in "
    "2024; `torch:export` took its place",
    "cntk": "CNTK had its last main release, 2.7, in 2019, for Python 3.6 at most; `onnxruntime` "
    "took its place",
    "torch7": "Torch7 had its last release, 7.0, in 2017 and speaks Lua only; `torch` took "
    "its place",
    "knet": "Knet.jl had 1.4.10, still its latest release in 2023, and speaks Julia only; Flux.jl "
    "took its place there, which has no Python API",
}


def _in_cpp(name: str, native: Native, **rest: Any) -> Backend:
    """The row of a backend in C++, on an NVIDIA GPU where its module is CUDA's."""
    if native.module == "cuda":
        rest |= {"device": "gpu", "extra": "cuda13"}
    return Backend(name, "native code", native=native, layers=True, **rest)


BACKENDS: tuple[Backend, ...] = (
    _in_cpp(
        "fused",
        Native("_fused", "Fused", ("cpu/fused",)),
        own_threads=1,
        summary="C++, our own SIMD kernels: Winograd convolutions fused with pooling",
        calls="nothing",
        variants={"int16": "fc1's weights as int16 with one scale a row"},
        tolerances={"int16": 1e-4},
        reduced={"int16": "int16"},
    ),
    _in_cpp(
        "onednn",
        Native(
            "_onednn", "OneDnn", ("cpu/onednn",), "libdnnl", "onednn-cpu-gomp", built="BuiltOneDnn"
        ),
        summary="C++ on oneDNN primitives, the CPU's cuDNN",
        calls="kernels that oneDNN generates at run time",
        extra="onednn",
    ),
    _in_cpp(
        "openblas",
        Native("_openblas", "OpenBlas", ("cpu/openblas",), "libscipy_openblas", "scipy-openblas32"),
        summary="C++, im2col and OpenBLAS sgemm/sgemv",
        calls="OpenBLAS's assembly kernels",
        extra="openblas",
    ),
    _in_cpp(
        "cuda",
        Native("cuda", "FusedOnGpu", ("cuda/fused",)),
        at_once={"": 1, "cudagraph": 1, "mapped": 1},
        summary="C++ and CUDA, three kernels of our own, compiled for the GPU that is here",
        calls="nothing but CUDA's runtime",
        variants={
            "cudagraph": "copies and kernels captured once as a CUDA graph",
            "mapped": "no copies: host memory, polled; one kernel where the GPU has clusters",
        },
        counterpart="fused",
    ),
    _in_cpp(
        "cuda:persistent",
        Native("cuda", "PersistentOnGpu", ("cuda/persistent", "cuda/cluster")),
        at_once={"": 1},
        summary="C++ and CUDA, one kernel that stays on the GPU and waits for images",
        calls="nothing: the host writes an image, the kernel answers",
        counterpart="fused",
    ),
    _in_cpp(
        "cudnn",
        Native("cuda", "Cudnn", ("cuda/cudnn",), built="BuiltCudnn"),
        summary="C++ on cuDNN and cuBLAS, algorithm fixed in the source",
        calls="NVIDIA's kernels, one or more for each step",
        variants={
            "find": "the algorithm that cuDNN measured to be the fastest",
            "fused": "a convolution and its bias in one call",
            "tf32": "TF32 allowed: 10 bits of mantissa in products",
            "cudagraph": "all of it captured once as a CUDA graph",
        },
        counterpart="onednn",
        tolerances={"tf32": 5e-3},
        reduced={"tf32": "TF32"},
    ),
    _in_cpp(
        "cudnn:graph_api",
        Native("cuda", "CudnnGraphApi", ("cuda/cudnn_graph_api",)),
        summary="C++ on cuDNN's graph API in C: a convolution and its bias in one plan",
        calls="NVIDIA's kernels, the engines that cuDNN's heuristics name",
        counterpart="onednn",
    ),
    _in_cpp(
        "cudnn:graph_api_cudagraph",
        Native("cuda", "CudnnGraphApi", ("cuda/cudnn_graph_api",)),
        default="cudagraph",
        summary="the plans of cudnn:graph_api, all of it captured once as a CUDA graph",
        calls="NVIDIA's kernels, the engines that cuDNN's heuristics name",
        variants={"cudagraph": "all of it captured once as a CUDA graph"},
        counterpart="onednn",
    ),
    Backend(
        name="cupy",
        family="arrays",
        summary="Python, CuPy's arrays: the code of `numpy` on a GPU",
        calls="cuBLAS, and kernels that CuPy compiles at run time",
        module="cupy",
        layers=True,
        at_once={"": 1},
        library="CuPy",
        package="cupy",
        device="gpu",
        counterpart="numpy",
        extra="cupy",
    ),
    Backend(
        name="numpy",
        family="arrays",
        summary="Python, im2col and matmul on float32 arrays",
        calls="the BLAS that NumPy was built with",
        module="numpy",
        layers=True,
        at_once={"": 16},  # so that the layers between stay in the cache
        shared={"": "numpy.org/doc/stable/reference/thread_safety.html"},
        library="NumPy",
        package="numpy",
    ),
    Backend(
        name="reference",
        family="arrays",
        summary="Python, float64 NumPy: all answers are compared with it",
        calls="the BLAS that NumPy was built with",
        module="reference",
        layers=True,
        at_once={"": 50},  # the layers between take 13 MB
        library="NumPy",
        package="numpy",
    ),
    *ENGINES,
    *FRAMEWORKS,
)


def names(device: Device | None = None) -> list[str]:
    """Every backend and variant, in the registry's order.

    With a device, those that run there: on the GPU also torch@gpu, which `names()` leaves out.
    """
    rows = [row if device is None else row.on(device) for row in BACKENDS]
    return [name for row in rows if row for name in row.names()]


def every_name() -> list[str]:
    """All names that `find` accepts: names(), and after each backend its names on a GPU."""
    return [name for row in _rows() for name in row.names()]


def with_variants(asked: Sequence[str]) -> list[str]:
    """These names in the registry's order; a bare name stands for all its variants."""
    wanted = set(map(canonical_name, asked))
    for row, variant in map(find, asked):
        if variant == row.default:
            wanted.update(row.names())
    return [name for name in every_name() if name in wanted]


def held_by(environment: str) -> list[str]:
    """The backends that this isolated environment is for."""
    return [row.spell(row.default) for row in _rows() if row.environment == environment]


def _rows() -> Iterator[Backend]:
    """Each row and, where it has one, its form on a GPU."""
    for row in BACKENDS:
        yield row
        if row.gpu and (moved := row.on("gpu")):
            yield moved


#: What people call an engine by its file's format, or by an earlier name.
_KNOWN_AS = {"onnx": "onnxruntime", "ort": "onnxruntime", "tflite": "litert", "pytorch": "torch"}
AGAIN = " (again)"  # ends the name of a version in a second environment
_VERSION = re.compile(rf"\d+(\.\d+)*((a|b|rc)\d+)?(\.(post|dev)\d+)*({re.escape(AGAIN)})?")
_CLOSE = 0.7  # how alike two names are, from 0 to 1, that may be meant for each other


def find(name: str) -> tuple[Backend, str]:
    """The row and the variant ("" for the plain one) that `name` spells.

    The row of torch:compile@gpu is that of torch as it is on a GPU. The number of threads that
    follows a name in some results is ignored.
    """
    name, is_versioned, version = without_threads(name).partition("==")
    if is_versioned:
        plain, variant = find(name)
        return _at(plain, version), variant
    spelt = name.removesuffix(ON_GPU)
    base, _, variant = spelt.partition(":")
    rows = {row.name: row for row in BACKENDS}
    row = rows.get(spelt) or rows.get(base)
    if row is None:
        if base in GONE:
            raise LenetBenchError(GONE[base])
        meant = nearest(name, every_name()) or "`lenet-bench backends` lists them"
        raise LenetBenchError(f"no backend is called {name!r}; {meant}")
    if spelt != name:
        row = _on_gpu(row, name)
    if row.name == spelt:  # a variant with a file of its own has a row
        variant = row.default
    elif variant not in row.variants:
        if row.gpu and variant in row.gpu.variants:
            raise LenetBenchError(f"{name} runs on a GPU only; its name is {name}{ON_GPU}")
        known = ", ".join(row.names())
        raise LenetBenchError(f"{base} has no variant {variant!r}; it has {known}")
    return row.of(variant), variant


def _at(row: Backend, version: str) -> Backend:
    """The row with that version of its API."""
    if not _VERSION.fullmatch(version):
        raise LenetBenchError(
            f"{version!r} is no version; expected NAME==VERSION such as onnxruntime==1.26.0"
        )
    if not row.package or row.environment or row.device == "gpu":
        raise LenetBenchError(f"{row.spell(row.default)} has no versions to choose from")
    return row.at(version)


def nearest(name: str, known: Sequence[str]) -> str | None:
    """A question that suggests the probably intended name."""
    from difflib import get_close_matches

    close = get_close_matches(name, known, n=1, cutoff=_CLOSE)
    meant = _KNOWN_AS.get(name.lower()) or next(iter(close), None)
    return f"did you mean {meant}?" if meant in known else None


def _on_gpu(row: Backend, name: str) -> Backend:
    """The row that a name ending in @gpu is of."""
    if row.device == "gpu":
        raise LenetBenchError(f"{row.name} always runs on the GPU; leave out {ON_GPU} in {name!r}")
    moved = row.on("gpu")
    if moved is None:
        able = ", ".join(other.name for other in BACKENDS if other.gpu)
        raise Misuse(f"{row.name} runs on the CPU only; {able} run on a GPU too")
    return moved


def canonical_name(name: str) -> str:
    """The name as it is listed: `keras` of `keras:predict`, which is what `keras` is."""
    row, variant = find(name)
    return row.spell(variant)


def without_version(name: str) -> str:
    """The name without its API's version: torch:compile of torch:compile==2.9.1."""
    return without_threads(name).partition("==")[0]


def with_threads(name: str, threads: int) -> str:
    """The name in a run that compares numbers of threads: torch (2 threads)."""
    return f"{name} ({counted(threads, 'thread') if threads else 'default threads'})"


def without_threads(name: str) -> str:
    """The backend's own name: torch of torch (2 threads)."""
    return re.sub(r" \(([\d,]+|default) threads?\)$", "", name)


def on_device(name: str, device: Device | None) -> str:
    """The name of the same on that device: torch@gpu of torch; None leaves it as it is.

    Raises Misuse where it cannot run there.
    """
    row, variant = find(name)
    if device == "cpu" and row.device == "gpu":
        raise Misuse(f"{name} runs on the GPU, but the requested device is the CPU")
    if device == "gpu" and row.device == "cpu":
        row = _on_gpu(row, name)
    return row.spell(variant)


def on_cpu(name: str) -> str | None:
    """Its counterpart on the CPU: onednn for cudnn, torch for torch@gpu; None for others."""
    row, variant = find(name)
    if not row.moved:
        return row.counterpart
    there = next(one for one in BACKENDS if one.name == row.name)
    return there.spell(variant if variant in there.variants else there.default)


def with_counterpart(name: str, reason: str) -> str:
    """Why it cannot run here, and what runs on the CPU instead; a command stays last."""
    if not (other := on_cpu(name)):
        return reason
    sentence, *command = reason.rsplit("; ", 1)
    instead = f"{sentence}. The same network runs on the CPU with the backend {other}"
    return "; ".join([instead, *command])


def precision(name: str) -> str:
    """What it computes in, as its row says; float32 where nobody knows it here."""
    try:
        row, variant = find(name)
    except LenetBenchError:
        return "float32"
    return row.reduced.get(variant, "float32")


def tolerance(name: str) -> float:
    """The largest allowed difference of its probabilities from the reference's."""
    row, variant = find(name)
    return row.tolerances.get(variant, FLOAT32)
