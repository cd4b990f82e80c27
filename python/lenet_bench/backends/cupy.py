"""LeNet on CuPy: NumPy's way of writing on a GPU. Convolutions are one matrix product each over
windows that as_strided only points at; cuBLAS multiplies.
"""

import numpy as np
from numpy.typing import NDArray

from ..errors import Unavailable
from ..network import CLASSES, IMAGE_SIDE, PARAMETERS
from ..weights import Weights
from ._chosen_gpu import chosen_gpu
from ._input import check_image, check_images

try:
    import cupy as cp
    from cupy import cublas
    from cupy.lib.stride_tricks import as_strided

    from ._cupy_profile import profile
except ImportError as error:
    raise Unavailable(
        f"CuPy cannot be imported ({error}); mend it with: pip install 'lenet-bench[cupy]'"
    ) from None

try:
    GPUS = cp.cuda.runtime.getDeviceCount()
except cp.cuda.runtime.CUDARuntimeError as error:
    raise Unavailable(
        f"CuPy finds no GPU that it can use ({error}); see what the driver says with: nvidia-smi"
    ) from None

KERNEL_SIDE = PARAMETERS["conv1.weight"][-1]
DEVICE_MEMORY = 2  # cudaMemoryTypeDevice


class CuPy:
    """The network in array code; every operation is a kernel launch or a cuBLAS call."""

    def __init__(self, weights: Weights, *, threads: int) -> None:  # noqa: ARG002
        self._device = cp.cuda.Device(chosen_gpu(GPUS))
        with self._device:
            self._stream = cp.cuda.Stream(non_blocking=True)
        with self._device, self._stream:
            p = {name: cp.asarray(array) for name, array in weights.parameters.items()}
            self._conv1 = _as_matrix(p["conv1.weight"]), p["conv1.bias"][:, None]
            self._conv2 = _as_matrix(p["conv2.weight"]), p["conv2.bias"][:, None]
            self._fc1 = p["fc1.weight"], p["fc1.bias"]
            self._fc2 = p["fc2.weight"], p["fc2.bias"]
        self._stream.synchronize()

    def infer(self, images: NDArray[np.float32]) -> NDArray[np.float32]:
        """Probabilities of one image or of each image of a batch."""
        images = check_images(images)
        probabilities = np.empty((*images.shape[:-2], CLASSES), np.float32)
        with self._device, self._stream:
            for index in np.ndindex(probabilities.shape[:-1]):
                answer = self._forward(cp.asarray(images[index]))["probabilities"]
                probabilities[index] = cp.asnumpy(answer, stream=self._stream)
        return probabilities

    def layers(self, image: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
        """Every layer's output."""
        with self._device, self._stream:
            found = self._forward(cp.asarray(check_image(image)))
            return {name: cp.asnumpy(output, stream=self._stream) for name, output in found.items()}

    def describe(self) -> dict[str, str]:
        """The device, and the versions of what runs on it."""
        with self._device, self._stream:
            properties = cp.cuda.runtime.getDeviceProperties(self._device.id)
            return {
                "device": properties["name"].decode(),
                "device index": str(self._device.id),
                "PCI bus": self._device.pci_bus_id,
                "proof": self._where_answers_lie(),
                "library": f"CuPy {cp.__version__}",
                "CUDA runtime": _dotted(cp.cuda.runtime.runtimeGetVersion(), 1000, 10),
                "driver supports CUDA": _dotted(cp.cuda.runtime.driverGetVersion(), 1000, 10),
                "cuBLAS": _dotted(
                    cp.cuda.cublas.getVersion(self._device.cublas_handle), 10_000, 100
                ),
                "device memory": f"{cp.get_default_memory_pool().total_bytes() >> 10} KiB",
            }

    def profile(self, image: NDArray[np.float32], calls: int = 200) -> dict[str, float]:
        """Where the time of one image goes, in microseconds."""
        image = check_image(image)
        with self._device, self._stream:
            return profile(
                self._stream,
                copy_in=lambda: cp.asarray(image),
                compute=lambda inputs: self._forward(inputs)["probabilities"],
                copy_out=lambda answer: cp.asnumpy(answer, stream=self._stream),
                calls=calls,
            )

    def _where_answers_lie(self) -> str:
        """Asked of the driver and not of CuPy."""
        answer = self._forward(cp.zeros((IMAGE_SIDE, IMAGE_SIDE), np.float32))["probabilities"]
        where = cp.cuda.runtime.pointerGetAttributes(answer.data.ptr)
        if (where.type, where.device) != (DEVICE_MEMORY, self._device.id):
            raise RuntimeError(f"CuPy's answers do not lie in the memory of GPU {self._device.id}")
        return f"its answers lie in the memory of GPU {where.device}"

    def _forward(self, image: "cp.ndarray") -> "dict[str, cp.ndarray]":
        conv1 = convolve(image[None], *self._conv1)
        pool1 = max_pool(conv1)
        conv2 = convolve(pool1, *self._conv2)
        pool2 = max_pool(conv2)
        fc1 = cp.maximum(connect(pool2.ravel(), *self._fc1), 0)
        fc2 = connect(fc1, *self._fc2)
        exponentials = cp.exp(fc2 - fc2.max())
        return {
            "conv1": conv1,
            "pool1": pool1,
            "conv2": conv2,
            "pool2": pool2,
            "fc1": fc1,
            "fc2": fc2,
            "probabilities": exponentials / exponentials.sum(),
        }


def _dotted(version: int, major: int, minor: int) -> str:
    return f"{version // major}.{version % major // minor}"


def _as_matrix(kernels: "cp.ndarray") -> "cp.ndarray":
    return kernels.reshape(len(kernels), -1)


def convolve(inputs: "cp.ndarray", weight: "cp.ndarray", bias: "cp.ndarray") -> "cp.ndarray":
    """All 5x5 windows side by side, one matrix product, and the bias."""
    channels, side, _ = inputs.shape
    out = side - KERNEL_SIDE + 1
    plane, row, column = inputs.strides
    windows = as_strided(
        inputs, (channels, KERNEL_SIDE, KERNEL_SIDE, out, out), (plane, row, column, row, column)
    ).reshape(-1, out * out)
    return (weight @ windows + bias).reshape(-1, out, out)


def max_pool(inputs: "cp.ndarray") -> "cp.ndarray":
    """The largest of each 2x2 square."""
    channels, height, width = inputs.shape
    return inputs.reshape(channels, height // 2, 2, width // 2, 2).max(axis=(2, 4))


def connect(inputs: "cp.ndarray", weight: "cp.ndarray", bias: "cp.ndarray") -> "cp.ndarray":
    """CuBLAS's gemv, which adds to the copy of the bias that it is given."""
    output = bias.copy()
    cublas.gemv("N", 1.0, weight, inputs, 1.0, output)
    return output
