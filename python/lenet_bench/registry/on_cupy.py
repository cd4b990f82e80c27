"""The adapter of CuPy: the chosen GPU, a stream, and the layers, as of the native GPU backends."""

import os
from collections.abc import Callable
from typing import Any

import cupy as cp
import numpy as np
from numpy.typing import NDArray

from ..errors import Unavailable
from ..network import IMAGE_SIDE
from ..weights import Weights
from .adapter import Adapter
from .backend import Backend
from .cuda import dotted
from .gpu import chosen
from .input import check_image

Array = NDArray[np.float32]

_DEVICE_MEMORY = 2  # cudaMemoryTypeDevice


class OnCuPy(Adapter):
    """CuPy on one GPU, in a stream of its own."""

    def __init__(
        self, row: Backend, variant: str, weights: Weights, threads: int, **others: Any
    ) -> None:
        _require_float32()
        self.device = cp.cuda.Device(chosen(_gpus()))
        with self.device:
            self.stream = cp.cuda.Stream(non_blocking=True)
        with self.device, self.stream:
            super().__init__(row, variant, weights, threads, **others)
        self._infer = self.answer  # without the layers, which stay on the GPU
        self._forward: Callable[[Any], dict[str, Any]] = self.inside()["forward"]
        self.stream.synchronize()

    def infer(self, images: Array) -> Array:
        with self.device, self.stream:
            return super().infer(images)

    def layers(self, image: Array) -> dict[str, Array]:
        image = check_image(image)
        with self.device, self.stream:
            outputs = self._forward(cp.asarray(image))
            return {name: cp.asnumpy(output) for name, output in outputs.items()}

    def describe(self) -> dict[str, str]:
        """The device, and the versions of what runs on it."""
        with self.device, self.stream:
            properties = cp.cuda.runtime.getDeviceProperties(self.device.id)
            return {
                "device": properties["name"].decode(),
                "device index": str(self.device.id),
                "PCI bus": self.device.pci_bus_id,
                "proof": self._where_answers_lie(),
                "library": f"CuPy {cp.__version__}",
                "CUDA runtime": dotted(cp.cuda.runtime.runtimeGetVersion()),
            }

    def _where_answers_lie(self) -> str:
        """From the driver, not from CuPy."""
        answer = self._forward(cp.zeros((IMAGE_SIDE, IMAGE_SIDE), np.float32))["probabilities"]
        where = cp.cuda.runtime.pointerGetAttributes(answer.data.ptr)
        if (where.type, where.device) != (_DEVICE_MEMORY, self.device.id):
            raise RuntimeError(f"CuPy's answers are not in the memory of GPU {self.device.id}")
        return f"its answers are in the memory of GPU {where.device}"


def _require_float32() -> None:
    """Refuse variables that let cuBLAS round to TF32, as csrc/cuda/float32.cpp does."""
    for variable in ("CUPY_TF32", "NVIDIA_TF32_OVERRIDE"):
        if (value := os.environ.get(variable, "")) not in ("", "0"):
            raise Unavailable(
                f"{variable}={value} lets NVIDIA's libraries round floats to TF32, and this "
                f"backend promises float32; fix it with: unset {variable}"
            )


def _gpus() -> int:
    try:
        count: int = cp.cuda.runtime.getDeviceCount()
    except cp.cuda.runtime.CUDARuntimeError as error:
        raise Unavailable(
            f"CuPy finds no GPU that it can use ({error}); see what the driver says with: "
            "nvidia-smi"
        ) from None
    return count
