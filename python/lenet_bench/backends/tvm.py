"""LeNet in TVM.

A compiler: the ONNX model becomes Relax, TVM's graph language, its operations are fused, lowered
to loops and compiled by LLVM. The loops are as they come: a search for better ones (MetaSchedule)
takes minutes for each operation, so this is TVM untuned. LLVM is allowed to add in another order,
as every library does: only so do sums go into vectors, and a call takes half the time. For images
one after another.
"""

import numpy as np
import onnx as onnx_package
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx
from tvm.target.codegen import llvm_get_system_cpu

from ..export import onnx
from ..weights import Weights
from ._exhibit import Array, Exhibit


class Tvm(Exhibit):
    """Relax's virtual machine on the compiled model."""

    def __init__(self, weights: Weights, *, threads: int) -> None:
        self._threads = threads
        model = onnx_package.load_from_string(onnx.model(weights))
        module = from_onnx(model, shape_dict={"image": (1, 1, 28, 28)})
        cpu = llvm_get_system_cpu()
        target = tvm.target.Target({"kind": "llvm", "mcpu": cpu, "fast-math-reassoc": True})
        with target:
            fused = relax.get_pipeline("zero")(module)
        self._machine = relax.VirtualMachine(tvm.compile(fused, target=target), tvm.cpu())

    def forward(self, images: Array) -> Array:
        return np.concatenate([self._answer(image) for image in images])

    def _answer(self, image: Array) -> Array:
        return self._machine["main"](tvm.runtime.tensor(image[np.newaxis, np.newaxis])).numpy()

    def describe(self) -> dict[str, str]:
        return {
            "library": f"TVM {tvm.__version__}",
            "target": llvm_get_system_cpu(),
            "threads": str(self._threads),
        }
