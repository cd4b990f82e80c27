"""LeNet in IREE.

A compiler on MLIR: the ONNX model becomes machine code of its own making, all operations fused
and tiled, and a small runtime calls it. On one thread it runs in the caller's (`local-sync`), on
more in a pool (`local-task`).
"""

import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np
from iree import runtime
from iree.compiler import tools

from ..export import onnx
from ..weights import Weights
from ._exhibit import Array, Exhibit

IMPORT = [sys.executable, "-m", "iree.compiler.tools.import_onnx"]
FOR_THIS_CPU = ["--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3"]


class Iree(Exhibit):
    """The compiled module's one function."""

    def __init__(self, weights: Weights, *, threads: int) -> None:
        self._threads = threads
        self._driver = "local-sync" if threads == 1 else "local-task"
        with tempfile.TemporaryDirectory() as folder:
            model, imported = Path(folder) / "lenet.onnx", Path(folder) / "lenet.mlir"
            model.write_bytes(onnx.model(weights))
            subprocess.run([*IMPORT, model, "-o", imported], check=True, capture_output=True)
            compiled = tools.compile_file(
                str(imported),
                input_type="onnx",
                target_backends=["llvm-cpu"],
                extra_args=FOR_THIS_CPU,
            )
        runtime.flags.parse_flags(f"--task_topology_group_count={threads}")
        self._module = runtime.load_vm_flatbuffer(compiled, driver=self._driver)

    def forward(self, images: Array) -> Array:
        return np.array(self._module.lenet(images[:, np.newaxis]).to_host())

    def describe(self) -> dict[str, str]:
        return {
            "library": f"IREE {version('iree-base-runtime')}",
            "driver": self._driver,
            "threads": str(self._threads),
        }
