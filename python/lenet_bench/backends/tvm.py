"""LeNet in TVM.

A compiler: the ONNX model becomes Relax, TVM's graph language, its operations are fused, lowered
to loops and compiled by LLVM. The loops are as they come: a search for better ones (MetaSchedule)
takes minutes for each operation, so this is TVM untuned. LLVM is allowed to add in another order,
as every library does: only so do sums go into vectors, and a call takes 0.58 of the time. The
program is made for one image.
"""

import numpy as np
import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx
from tvm.target.codegen import llvm_get_system_cpu

from ..network import IMAGE
from . import Infer

TARGET = {"kind": "llvm", "mcpu": llvm_get_system_cpu(), "fast-math-reassoc": True}


def load(module: object) -> relax.VirtualMachine:
    """Relax's virtual machine on the compiled module."""
    with tvm.target.Target(TARGET) as target:
        fused = relax.get_pipeline("zero")(module)
    return relax.VirtualMachine(tvm.compile(fused, target=target), tvm.cpu())


def build(onnx_model: bytes) -> Infer:
    """The model for one image."""
    model = onnx.load_from_string(onnx_model)  # load
    machine = load(from_onnx(model, shape_dict={"image": (1, 1, *IMAGE)}))  # load
    return lambda images: machine["main"](tvm.runtime.tensor(images[:, np.newaxis])).numpy()


def describe() -> dict[str, str]:
    """The processor that it generates code for."""
    return {"target": str(llvm_get_system_cpu())}  # a subclass of str cannot be sent to the parent
