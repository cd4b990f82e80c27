"""What IREE's page on optimisation names."""

import subprocess
import tempfile
from pathlib import Path

import numpy as np
import onnx
from iree import runtime
from iree.compiler import tools
from lenet_bench.backends import Infer
from lenet_bench.backends.iree import AS_TILED_PRODUCTS, FOR_THIS_CPU, IMPORT, ONE_IMAGE
from onnx.tools.update_model_dims import update_inputs_outputs_dims


def _compiled(
    onnx_model: bytes, *flags: str, driver: str = "local-sync", one: bool = True
) -> Infer:
    with tempfile.TemporaryDirectory() as folder:
        model, imported = Path(folder) / "lenet.onnx", Path(folder) / "lenet.mlir"
        graph = onnx.load_from_string(onnx_model)
        onnx.save(update_inputs_outputs_dims(graph, *ONE_IMAGE) if one else graph, model)
        subprocess.run([*IMPORT, model, "-o", imported], check=True, capture_output=True)
        compiled = tools.compile_file(
            str(imported),
            input_type="onnx",
            target_backends=["llvm-cpu"],
            extra_args=["--iree-llvmcpu-target-cpu=host", *flags],
        )
    if driver == "local-task":
        runtime.flags.parse_flags("--task_topology_group_count=1")
    module = runtime.load_vm_flatbuffer(compiled, driver=driver)
    return lambda images: np.array(module.lenet(images[:, np.newaxis]).to_host())


def plain(onnx_model: bytes) -> Infer:
    """Only the processor's flag."""
    return _compiled(onnx_model)


def only_o3(onnx_model: bytes) -> Infer:
    """-O3 alone."""
    return _compiled(onnx_model, "--iree-opt-level=O3")


def no_data_tiling(onnx_model: bytes) -> Infer:
    """Convolutions as matrix products that are not packed."""
    flags = ["--iree-opt-level=O3", AS_TILED_PRODUCTS[0], "--iree-opt-data-tiling=false"]
    return _compiled(onnx_model, *flags)


def microkernels(onnx_model: bytes) -> Infer:
    """All microkernels."""
    flags = [FOR_THIS_CPU[1], *AS_TILED_PRODUCTS, "--iree-llvmcpu-enable-ukernels=all"]
    return _compiled(onnx_model, *flags)


def no_microkernels(onnx_model: bytes) -> Infer:
    """No microkernels."""
    flags = [FOR_THIS_CPU[1], *AS_TILED_PRODUCTS, "--iree-llvmcpu-enable-ukernels=none"]
    return _compiled(onnx_model, *flags)


def any_number(onnx_model: bytes) -> Infer:
    """For any number of images."""
    return _compiled(onnx_model, FOR_THIS_CPU[1], *AS_TILED_PRODUCTS, one=False)


def task(onnx_model: bytes) -> Infer:
    """The driver with a pool of one thread."""
    return _compiled(onnx_model, FOR_THIS_CPU[1], *AS_TILED_PRODUCTS, driver="local-task")
