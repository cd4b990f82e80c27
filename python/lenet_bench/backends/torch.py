"""LeNet in PyTorch.

Near the top of the ladder: nn.Module over ATen, whose convolutions and matrix products are
oneDNN's and MKL's. `compile` and `export` replace the dispatch of one kernel after another by
C++ that Inductor generates; `torchscript` is the older way to the same end. On a GPU the kernels
are cuDNN's and cuBLAS's, or Triton's that Inductor generates.
"""

import tempfile
from pathlib import Path

import numpy as np
import torch
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


class Torch(Exhibit):
    """The module as it is (`eager`), or what one of PyTorch's compilers made of it."""

    def __init__(self, weights: Weights, *, threads: int, variant: str, device: str) -> None:
        torch.set_num_threads(threads)
        torch.set_float32_matmul_precision("highest")
        torch.backends.cudnn.allow_tf32 = False
        if variant in ("compile", "export"):  # to import Inductor takes as long as PyTorch itself
            torch._inductor.config.compile_threads = 1
        self._variant = variant
        self._device = torch.device("cuda" if device == "gpu" else "cpu")
        module = LeNet()
        module.load_state_dict(
            {name: torch.tensor(array) for name, array in weights.parameters.items()}
        )
        layout = torch.contiguous_format if device == "gpu" else torch.channels_last
        module.to(self._device, memory_format=layout).eval()  # oneDNN's layout: eager in 2/3
        example = torch.zeros(2, 1, 28, 28, device=self._device)  # for export, 1 is never more
        with torch.inference_mode():
            if variant == "compile":
                self._model = torch.compile(module)
            elif variant == "torchscript":
                self._model = torch.jit.freeze(torch.jit.trace(module, example))
            elif variant == "export":
                self._model = compile_ahead_of_time(module, example)
            else:
                self._model = module

    def forward(self, images: Array) -> Array:
        with torch.inference_mode():
            x = torch.from_numpy(images[:, np.newaxis]).to(self._device)
            return self._model(x).cpu().numpy()

    def describe(self) -> dict[str, str]:
        with torch.inference_mode():
            answer = self._model(torch.zeros(1, 1, 28, 28, device=self._device))
        return {
            "library": f"PyTorch {torch.__version__}",
            "variant": self._variant,
            "threads": str(torch.get_num_threads()),
            "isa": torch.backends.cpu.get_cpu_capability(),
            "device": str(answer.device),
        }


def compile_ahead_of_time(module: nn.Module, example: torch.Tensor) -> nn.Module:
    """Export the graph, compile it to a package with a shared library in it, and load that."""
    batch = torch.export.Dim("batch", min=1, max=1 << 16)
    program = torch.export.export(module, (example,), dynamic_shapes={"x": {0: batch}})
    with tempfile.TemporaryDirectory() as folder:
        package = str(Path(folder) / "lenet.pt2")
        torch._inductor.aoti_compile_and_package(program, package_path=package)
        return torch._inductor.aoti_load_package(package)
