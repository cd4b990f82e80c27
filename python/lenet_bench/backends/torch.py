"""LeNet in PyTorch.

nn.Module over ATen, whose convolutions and matrix products are oneDNN's and MKL's. `compile`,
`export` and `autotuned` replace the dispatch of one kernel after another by C++ that Inductor
generates; `torchscript` is the older way to the same end. On a GPU the kernels are cuDNN's and
cuBLAS's, or Triton's that Inductor generates; there `cudagraph` captures the module by hand, and
`pinned` the copies to and from it, too; `reduce_overhead` has PyTorch capture what Inductor made of
it, and `max_autotune` has Inductor time its kernels as well.
"""

import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.ao.quantization import quantize_fx
from torch.nn import functional

from ..export.calibration import digits
from ..network import CLASSES, IMAGE
from ..weights import Weights
from . import Array, Infer, in_cpp


class LeNet(nn.Module):
    """The network as PyTorch's tutorials write it."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 20, kernel_size=5)
        self.conv2 = nn.Conv2d(20, 50, kernel_size=5)
        self.fc1 = nn.Linear(50 * 4 * 4, 500)
        self.fc2 = nn.Linear(500, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = functional.max_pool2d(self.conv1(x), 2)  # conv1 and pool1
        x = functional.max_pool2d(self.conv2(x), 2)  # conv2 and pool2
        x = functional.relu(self.fc1(torch.flatten(x, 1)))
        return functional.softmax(self.fc2(x), dim=1)  # fc2 and softmax


def plain(weights: Weights, threads: int, device: str) -> LeNet:
    """The module with its weights, ready to infer."""
    torch.set_num_threads(threads)
    module = LeNet()
    # load
    module.load_state_dict({name: torch.tensor(a) for name, a in weights.parameters.items()})
    return module.to(device).eval()


def load(weights: Weights, threads: int, device: str) -> LeNet:
    """The same in the layout that suits the device: on a CPU oneDNN's, channels last."""
    layout = torch.contiguous_format if device == "cuda" else torch.channels_last
    return plain(weights, threads, device).to(memory_format=layout)


def on_arrays(model: nn.Module, device: str) -> Infer:
    """The model from array to array."""
    place = torch.device(device)

    def infer(images: Array) -> Array:
        with torch.inference_mode():
            x = torch.from_numpy(images[:, np.newaxis]).to(place)
            return model(x).cpu().numpy()

    return infer


def example(device: str, images: int = 1) -> torch.Tensor:
    """So many images."""
    return torch.zeros(images, 1, *IMAGE, device=device)


def eager(weights: Weights, threads: int, device: str) -> Infer:
    """The module as it is, channels last on a CPU."""
    return on_arrays(load(weights, threads, device), device)


def contiguous(weights: Weights, threads: int, device: str) -> Infer:
    """The module as it is."""
    return on_arrays(plain(weights, threads, device), device)


def compile(weights: Weights, threads: int, device: str) -> Infer:
    """The module, compiled by Inductor when it is called first."""
    torch._inductor.config.compile_threads = 1
    return on_arrays(torch.compile(load(weights, threads, device)), device)


def reduce_overhead(weights: Weights, threads: int, device: str) -> Infer:
    """The same, captured as a CUDA graph when it is called first."""
    torch._inductor.config.compile_threads = 1
    return on_arrays(torch.compile(load(weights, threads, device), mode="reduce-overhead"), device)


def max_autotune(weights: Weights, threads: int, device: str) -> Infer:
    """The same, its kernels chosen by timing them."""
    torch._inductor.config.compile_threads = 1
    torch._inductor.config.autotune_num_choices_displayed = 0  # or it prints what it timed
    return on_arrays(torch.compile(load(weights, threads, device), mode="max-autotune"), device)


def cudagraph(weights: Weights, threads: int, device: str) -> Infer:
    """The module for one image, captured as a CUDA graph."""
    model, image = load(weights, threads, device), example(device)
    with torch.inference_mode():
        graph, answer = captured(lambda: model(image))

    def infer(images: Array) -> Array:
        with torch.inference_mode():
            image.copy_(torch.from_numpy(images[:, np.newaxis]))
            graph.replay()
            return answer.cpu().numpy()

    return infer


def pinned(weights: Weights, threads: int, device: str) -> Infer:
    """The same, with both copies in the graph, from and to pinned memory of the host."""
    model, image = load(weights, threads, device), example(device)
    given = torch.zeros(image.shape, pin_memory=True)
    probabilities = torch.zeros(1, CLASSES, pin_memory=True)

    def enqueue() -> torch.Tensor:
        answer = model(image.copy_(given, non_blocking=True))
        probabilities.copy_(answer, non_blocking=True)
        return answer

    with torch.inference_mode():
        graph, answer = captured(enqueue)

    def infer(images: Array) -> Array:
        given.numpy()[:, 0] = images
        graph.replay()
        torch.cuda.synchronize(answer.device)
        return probabilities.numpy().copy()

    return infer


def captured(enqueue: Callable[[], torch.Tensor]) -> tuple[torch.cuda.CUDAGraph, torch.Tensor]:
    """What the function enqueues as a CUDA graph, and the tensor that it gave."""
    beside, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    beside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(beside):  # what is done for the first time cannot be captured
        for _ in range(3):
            enqueue()
    torch.cuda.current_stream().wait_stream(beside)
    with torch.cuda.graph(graph):
        answer = enqueue()
    return graph, answer


def tf32(weights: Weights, threads: int, device: str) -> Infer:
    """The module, its products rounded to TF32 where the GPU has it."""
    torch.backends.cudnn.allow_tf32 = True
    torch.set_float32_matmul_precision("high")
    return on_arrays(load(weights, threads, device), device)


def export(weights: Weights, threads: int, device: str, images: int | None) -> Infer:
    """The exported graph, compiled ahead of time to a shared library."""
    module = load(weights, threads, device)
    shapes = None if images else {"x": {0: torch.export.Dim("n", min=1, max=1 << 16)}}
    with torch.inference_mode():  # of two images, since 1 is taken for a size that never changes
        graph = torch.export.export(module, (example(device, images or 2),), dynamic_shapes=shapes)
        return packaged(graph, device)


def autotuned(weights: Weights, threads: int, device: str) -> Infer:
    """The same for one image, its weights frozen and its kernels chosen by timing them.

    Frozen for any number of images, PyTorch 2.13's answers are wrong.
    """
    module, settings = load(weights, threads, device), {"freezing": True, "max_autotune": True}
    with torch.inference_mode():
        return packaged(torch.export.export(module, (example(device),)), device, settings)


def packaged(
    graph: torch.export.ExportedProgram, device: str, settings: dict[str, bool] | None = None
) -> Infer:
    """The graph, compiled to a package with the library in it."""
    torch._inductor.config.compile_threads = 1
    with torch.inference_mode(), tempfile.TemporaryDirectory() as folder:
        package = str(Path(folder) / "lenet.pt2")
        torch._inductor.aoti_compile_and_package(
            graph, package_path=package, inductor_configs=settings
        )
        return on_arrays(torch._inductor.aoti_load_package(package), device)


def torchscript(weights: Weights, threads: int, device: str) -> Infer:
    """The traced and frozen module."""
    with torch.inference_mode():
        module = load(weights, threads, device)
        traced = torch.jit.trace(module, (example(device),), check_trace=False)
        return on_arrays(torch.jit.freeze(traced), device)


def int8(weights: Weights, threads: int, device: str) -> Infer:
    """Fully connected layers with weights in int8, images quantized as they come."""
    module = load(weights, threads, device)
    layers = {nn.Linear}
    return on_arrays(torch.ao.quantization.quantize_dynamic(module, layers, torch.qint8), device)


def static_int8(weights: Weights, threads: int, device: str) -> Infer:
    """The traced module all in int8: torch.ao's static quantization of its graph, deprecated."""
    torch.fx.config.do_not_emit_stack_traces = True  # to name a line of ours, it imports Inductor
    settings = torch.ao.quantization.get_default_qconfig_mapping("x86")
    with torch.inference_mode():
        module = quantize_fx.prepare_fx(load(weights, threads, device), settings, example(device))
        for digit in digits():
            module(torch.from_numpy(digit[np.newaxis, np.newaxis]))
        module = quantize_fx.convert_fx(module)
        traced = torch.jit.trace(module, example(device), check_trace=False)
        return on_arrays(torch.jit.freeze(traced), device)


def bfloat16(weights: Weights, threads: int, device: str) -> Infer:
    """The module in bfloat16."""
    module = load(weights, threads, device).to(torch.bfloat16)
    return on_arrays(lambda x: module(x.to(torch.bfloat16)).float(), device)


def cpp(weights: Weights, threads: int) -> Infer:
    """The module in C++, on the same libraries."""
    package = Path(torch.__file__).parent
    includes = [package / "include", package / "include/torch/csrc/api/include"]
    libraries = [package / f"lib/lib{name}.so" for name in ("torch", "torch_cpu", "c10")]
    return in_cpp.build("torch", torch.__version__, includes, libraries, weights, threads)


def describe(model: Any = None, place: Any = None, answer: Any = None) -> dict[str, str]:
    """Threads, instruction set, oneDNN's version, and the device that an answer lies on."""
    if answer is None:  # else it is that of a captured graph
        with torch.inference_mode():
            answer = model(example(place))
    onednn = re.search(r"MKL-DNN v([\d.]+)", torch.__config__.show())
    return {
        "threads": str(torch.get_num_threads()),
        "isa": torch.backends.cpu.get_cpu_capability(),
        "onednn": onednn[1] if onednn else "unknown",
        "device": str(answer.device),
    }
