"""What PyTorch's tuning guide and Inductor's settings name."""

import numpy as np
import torch
from lenet_bench.backends import Array, Infer
from lenet_bench.backends.torch import LeNet, load, on_arrays, plain
from lenet_bench.weights import Weights


def _one() -> torch.Tensor:
    return torch.zeros(1, 1, 28, 28)


def eager_no_grad(weights: Weights, threads: int) -> Infer:
    """no_grad in place of inference_mode."""
    module = load(weights, threads, "cpu")

    def infer(images: Array) -> Array:
        with torch.no_grad():
            return module(torch.from_numpy(images[:, np.newaxis])).numpy()

    return infer


def eager_no_mkldnn(weights: Weights, threads: int) -> Infer:
    """Without oneDNN."""
    torch.backends.mkldnn.set_flags(False)
    return on_arrays(load(weights, threads, "cpu"), "cpu")


def eager_flush_denormal(weights: Weights, threads: int) -> Infer:
    """Denormal numbers as zero."""
    torch.set_flush_denormal(True)
    return on_arrays(load(weights, threads, "cpu"), "cpu")


def to_mkldnn(weights: Weights, threads: int) -> Infer:
    """The module's weights in oneDNN's own layout."""
    from torch.utils import mkldnn

    module = mkldnn.to_mkldnn(plain(weights, threads, "cpu"))

    def infer(images: Array) -> Array:
        with torch.no_grad():
            return module(torch.from_numpy(images[:, np.newaxis])).numpy()

    return infer


def _compiled(module: LeNet, **options: object) -> Infer:
    torch._inductor.config.compile_threads = 1
    return on_arrays(torch.compile(module, **options), "cpu")


def compile_static(weights: Weights, threads: int) -> Infer:
    """torch.compile for one image, dynamic=False."""
    return _compiled(load(weights, threads, "cpu"), dynamic=False)


def compile_contiguous(weights: Weights, threads: int) -> Infer:
    """torch.compile in the usual layout."""
    return _compiled(plain(weights, threads, "cpu"), dynamic=False)


def compile_freezing(weights: Weights, threads: int) -> Infer:
    """torch.compile with frozen weights."""
    options = {"freezing": True}
    return _compiled(load(weights, threads, "cpu"), options=options)


def compile_freezing_contiguous(weights: Weights, threads: int) -> Infer:
    """torch.compile with frozen weights, in the usual layout."""
    return _compiled(plain(weights, threads, "cpu"), options={"freezing": True})


def compile_cpp_wrapper(weights: Weights, threads: int) -> Infer:
    """torch.compile with frozen weights and a wrapper in C++."""
    options = {"freezing": True, "cpp_wrapper": True}
    return _compiled(load(weights, threads, "cpu"), options=options)


def compile_max_autotune(weights: Weights, threads: int) -> Infer:
    """torch.compile with frozen weights, tuned."""
    options = {"freezing": True, "max_autotune": True}
    return _compiled(load(weights, threads, "cpu"), options=options)


def _exported(module: LeNet, **config: object) -> Infer:
    import tempfile
    from pathlib import Path

    torch._inductor.config.compile_threads = 1
    with torch.inference_mode(), tempfile.TemporaryDirectory() as folder:
        graph = torch.export.export(module, (_one(),))
        package = str(Path(folder) / "lenet.pt2")
        torch._inductor.aoti_compile_and_package(
            graph, package_path=package, inductor_configs=config
        )
        return on_arrays(torch._inductor.aoti_load_package(package), "cpu")


def export_one_image(weights: Weights, threads: int) -> Infer:
    """Compiled ahead of time for one image."""
    return _exported(load(weights, threads, "cpu"))


def export_contiguous(weights: Weights, threads: int) -> Infer:
    """Compiled ahead of time for one image in the usual layout."""
    return _exported(plain(weights, threads, "cpu"))


def export_freezing(weights: Weights, threads: int) -> Infer:
    """Compiled ahead of time for one image, with frozen weights."""
    return _exported(load(weights, threads, "cpu"), freezing=True)


def export_max_autotune(weights: Weights, threads: int) -> Infer:
    """Compiled ahead of time, with frozen weights, tuned; this is torch:autotuned."""
    return _exported(load(weights, threads, "cpu"), freezing=True, max_autotune=True)


def _script(module: LeNet, *, optimized: bool) -> Infer:
    with torch.inference_mode():
        frozen = torch.jit.freeze(torch.jit.trace(module, _one()))
        return on_arrays(torch.jit.optimize_for_inference(frozen) if optimized else frozen, "cpu")


def torchscript_contiguous(weights: Weights, threads: int) -> Infer:
    """Traced and frozen, in the usual layout."""
    return _script(plain(weights, threads, "cpu"), optimized=False)


def torchscript_optimized(weights: Weights, threads: int) -> Infer:
    """Traced, frozen and optimize_for_inference."""
    return _script(plain(weights, threads, "cpu"), optimized=True)


def torchscript_optimized_channels_last(weights: Weights, threads: int) -> Infer:
    """Traced, frozen and optimize_for_inference, channels last."""
    return _script(load(weights, threads, "cpu"), optimized=True)
