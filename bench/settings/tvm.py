"""What TVM's tutorials on compiling and tuning show."""

import tempfile

import numpy as np
import onnx
import tvm
from lenet_bench.backends import Infer
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx
from tvm.target.codegen import llvm_get_system_cpu

_TRIALS = 512  # in all, a minute or two


def _built(
    onnx_model: bytes, *, reassociate: bool = True, tuned: bool = False, **how: str
) -> Infer:
    module = from_onnx(onnx.load_from_string(onnx_model), shape_dict={"image": (1, 1, 28, 28)})
    cpu = llvm_get_system_cpu()
    target = tvm.target.Target(
        {"kind": "llvm", "mcpu": cpu, "fast-math-reassoc": reassociate, "num-cores": 1}
    )
    with target:
        if tuned:
            with tempfile.TemporaryDirectory() as folder:
                tune = relax.get_pipeline(
                    "static_shape_tuning", total_trials=_TRIALS, target=target, work_dir=folder
                )
                module = tune(module)
        else:
            module = relax.get_pipeline("zero")(module)
    machine = relax.VirtualMachine(relax.build(module, target=target, **how), tvm.cpu())
    return lambda images: machine["main"](tvm.runtime.tensor(images[:, np.newaxis])).numpy()


def exact_order(onnx_model: bytes) -> Infer:
    """Sums in the order that is written."""
    return _built(onnx_model, reassociate=False)


def compiled_calls(onnx_model: bytes) -> Infer:
    """The virtual machine's code compiled too."""
    return _built(onnx_model, exec_mode="compiled")


def tuned(onnx_model: bytes) -> Infer:
    """Tuned by MetaSchedule, with a bound on its trials."""
    return _built(onnx_model, tuned=True)
