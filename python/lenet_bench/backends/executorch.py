"""LeNet in ExecuTorch.

PyTorch's runtime for phones: the module is exported, what XNNPACK has is delegated to it, and the
rest runs on portable kernels. The program is made for one image. `int8` quantizes the module before
that, and each layer's input as it comes; `float16` exports it in that type.
"""

from collections.abc import Callable

import numpy as np
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.extension.pybindings.portable_lib import _unsafe_reset_threadpool
from executorch.runtime import Runtime
from torch import nn
from torch.nn import functional

from ..network import IMAGE
from ..weights import Weights
from . import Array, Infer


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


class InFloat16(nn.Module):
    """A module in float16, from float32 to float32."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module.eval().half()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.module(x.half()).float()


def build(
    weights: Weights, threads: int, *, made: Callable[[nn.Module], nn.Module] = nn.Module.eval
) -> Infer:
    """The method `forward` of the exported program."""
    _unsafe_reset_threadpool(threads)  # it has no other way, and is safe before the first call
    module = LeNet()
    # load
    module.load_state_dict({name: torch.tensor(a) for name, a in weights.parameters.items()})
    exported = torch.export.export(made(module), (torch.zeros(1, 1, *IMAGE),))
    lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    program = Runtime.get().load_program(lowered.to_executorch().buffer)
    method = program.load_method("forward")
    method.program = program  # which it needs, and would not keep alive

    def infer(images: Array) -> Array:
        (probabilities,) = method.execute([torch.from_numpy(images[:, np.newaxis])])
        return probabilities.numpy()

    return infer


def float16(weights: Weights, threads: int) -> Infer:
    """The module in float16."""
    return build(weights, threads, made=InFloat16)


def int8(weights: Weights, threads: int) -> Infer:
    """Weights in int8, and what comes into a layer by the range that it has."""
    return build(weights, threads, made=quantized)


def quantized(module: nn.Module) -> nn.Module:
    """The module for XNNPACK in int8."""
    from executorch.backends.xnnpack.quantizer import xnnpack_quantizer as xnnpack
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    settings = xnnpack.get_symmetric_quantization_config(is_per_channel=True, is_dynamic=True)
    quantizer = xnnpack.XNNPACKQuantizer().set_global(settings)
    image = (torch.zeros(1, 1, *IMAGE),)
    prepared = prepare_pt2e(torch.export.export(module.eval(), image).module(), quantizer)
    prepared(*image)  # which looks at the weights
    return convert_pt2e(prepared)


def describe() -> dict[str, str]:
    """The size of the pool of threads."""
    from executorch.extension.pybindings.portable_lib import _threadpool_get_thread_count

    return {"threads": str(_threadpool_get_thread_count())}
