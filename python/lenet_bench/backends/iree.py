"""LeNet in IREE.

A compiler on MLIR: the ONNX model becomes machine code of its own making, all operations fused
and tiled, and a small runtime calls it. On one thread it runs in the caller's (`local-sync`), on
more in a pool (`local-task`). Convolutions become matrix products, which it tiles if it knows their
shape: the program is made for one image, in a third of the time.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from iree import runtime
from iree.compiler import tools
from onnx.tools.update_model_dims import update_inputs_outputs_dims

from . import Infer

IMPORT = [sys.executable, "-I", "-m", "iree.compiler.tools.import_onnx"]
FOR_THIS_CPU = ["--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3"]
AS_TILED_PRODUCTS = ["--iree-global-opt-use-im2col-for-convs", "--iree-opt-data-tiling"]
FROM_ONNX = {"input_type": "onnx", "target_backends": ["llvm-cpu"]}
ONE_IMAGE = {"image": [1, 1, 28, 28]}, {"probabilities": [1, 10]}


# load
def load(model: Path, to: Path, threads: int, *more: str) -> runtime.system_api.BoundModule:
    """The module of a model of fixed shapes, compiled with the options in `more` too."""
    subprocess.run([*IMPORT, model, "-o", to], check=True, capture_output=True)
    options = [*FOR_THIS_CPU, *AS_TILED_PRODUCTS, *more]
    compiled = tools.compile_file(str(to), extra_args=options, **FROM_ONNX)
    runtime.flags.parse_flags(f"--task_topology_group_count={threads}")
    driver = "local-sync" if threads == 1 else "local-task"
    return runtime.load_vm_flatbuffer(compiled, driver=driver)


def build(onnx_model: bytes, threads: int) -> Infer:
    """The compiled module's one function."""
    # load
    with tempfile.TemporaryDirectory() as folder:
        model, imported = Path(folder) / "lenet.onnx", Path(folder) / "lenet.mlir"
        any_number = onnx.load_from_string(onnx_model)
        onnx.save(update_inputs_outputs_dims(any_number, *ONE_IMAGE), model)
        module = load(model, imported, threads)
    return lambda images: np.array(module.lenet(images[:, np.newaxis]).to_host())  # not a view


def describe(threads: int) -> dict[str, str]:
    """The driver."""
    return {"driver": "local-sync" if threads == 1 else "local-task"}
