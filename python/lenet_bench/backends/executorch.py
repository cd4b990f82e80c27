"""LeNet in ExecuTorch.

PyTorch's runtime for phones: the module is exported, what XNNPACK has is delegated to it, and the
rest runs on portable kernels. The program is made for one image, which is twice as fast as one
for any number, so a batch is one after another.
"""

from importlib.metadata import version

import numpy as np
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.extension.pybindings.portable_lib import (
    _threadpool_get_thread_count,
    _unsafe_reset_threadpool,
)
from executorch.runtime import Runtime
from torch import nn
from torch.nn import functional

from ..weights import Weights
from ._exhibit import Array, Exhibit


class LeNet(nn.Module):
    """The network as PyTorch's tutorials write it."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 20, kernel_size=5)
        self.conv2 = nn.Conv2d(20, 50, kernel_size=5)
        self.fc1 = nn.Linear(50 * 4 * 4, 500)
        self.fc2 = nn.Linear(500, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = functional.max_pool2d(self.conv1(x), 2)
        x = functional.max_pool2d(self.conv2(x), 2)
        x = functional.relu(self.fc1(torch.flatten(x, 1)))
        return functional.softmax(self.fc2(x), dim=1)


class ExecuTorch(Exhibit):
    """The method `forward` of the exported program."""

    def __init__(self, weights: Weights, *, threads: int) -> None:
        _unsafe_reset_threadpool(threads)  # it has no other way, and is safe before the first call
        module = LeNet()
        module.load_state_dict(
            {name: torch.tensor(array) for name, array in weights.parameters.items()}
        )
        exported = torch.export.export(module.eval(), (torch.zeros(1, 1, 28, 28),))
        lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
        self._program = Runtime.get().load_program(lowered.to_executorch().buffer)
        self._method = self._program.load_method("forward")

    def forward(self, images: Array) -> Array:
        if len(images) == 1:
            return self._answer(images[0])
        return np.concatenate([self._answer(image) for image in images])

    def _answer(self, image: Array) -> Array:
        (probabilities,) = self._method.execute([torch.from_numpy(image[np.newaxis, np.newaxis])])
        return probabilities.numpy()

    def describe(self) -> dict[str, str]:
        return {
            "library": f"ExecuTorch {version('executorch')}",
            "threads": str(_threadpool_get_thread_count()),
        }
