"""Restrict a framework to the requested device, and to float32.

Before a network is built, the framework is restricted to the device; a network on the GPU must then
prove that it computes there. Ordinary users of the framework write none of this.
"""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Unavailable
from .backend import Backend, Network

Array = NDArray[np.float32]


def prepare(row: Backend) -> None:
    """Restrict the framework to the row's device; an exception says why it cannot run there."""
    if row.module == "keras":
        _check_keras()
    framework = _framework(row)
    on_gpu = row.device == "gpu"
    if framework == "tensorflow":
        _tensorflow(on_gpu, strict=row.module == "tensorflow")
    elif framework == "jax" and on_gpu:
        import jax

        jax.config.update("jax_default_matmul_precision", "highest")
    elif framework == "torch" and on_gpu:
        import torch

        torch.backends.cudnn.allow_tf32 = False
        torch.set_float32_matmul_precision("highest")
    elif framework == "onnxruntime" and on_gpu:
        import onnxruntime

        onnxruntime.preload_dlls()  # CUDA's and cuDNN's, installed by pip


def _framework(row: Backend) -> str:
    """The framework that computes: for Keras, the one below it."""
    return row.variables.get("KERAS_BACKEND", row.module)


def wait(row: Backend) -> Callable[[Any], Any] | None:
    """The function that waits for an answer, where a call on the GPU only enqueues work."""
    framework = _framework(row)
    if row.device != "gpu" or framework not in ("torch", "tensorflow", "jax"):
        return None
    if framework == "jax":
        import jax

        return lambda answer: jax.block_until_ready(answer)
    if framework == "torch":
        import torch

        return lambda _: torch.cuda.synchronize()
    import tensorflow

    return lambda answer: tensorflow.nest.flatten(answer)[0].numpy()


def _check_keras() -> None:
    import keras

    chosen = os.environ.get("KERAS_BACKEND", keras.config.backend())
    if keras.config.backend() != chosen:
        raise Unavailable(
            f"this process runs Keras on {keras.config.backend()} and cannot change to {chosen}; "
            "load it in a process of its own"
        )


def _tensorflow(on_gpu: bool, *, strict: bool) -> None:
    import tensorflow

    gpus = tensorflow.config.list_physical_devices("GPU")
    if on_gpu and not gpus:
        raise RuntimeError(f"TensorFlow {tensorflow.__version__} finds no GPU")
    tensorflow.config.set_visible_devices(gpus[:1] if on_gpu else [], "GPU")
    tensorflow.config.experimental.enable_tensor_float_32_execution(False)
    if strict:  # an operation elsewhere is an error; Keras has some
        tensorflow.config.set_soft_device_placement(False)


class ProvenOnGpu:
    """A network on the GPU: its first answer and each description prove that it computes there.

    A framework places a network when it is built and called first, and does not move it later. So
    the check is then, and once more after a run, and not between timed calls.
    """

    def __init__(self, network: Network, name: str, remedy: str) -> None:
        self._network, self._name, self._remedy = network, name, remedy
        self._proven = False

    def infer(self, images: Array) -> Array:
        answer = self._network.infer(images)
        if not self._proven:
            self.describe()
        return answer

    def layers(self, image: Array) -> dict[str, Array]:
        return self._network.layers(image)

    def describe(self) -> dict[str, str]:
        """The network's description; raises Unavailable where an answer lies elsewhere."""
        described = self._network.describe()
        device = described.get("device", "a device that it does not name")
        places = device.lower().split(", ")
        if not all("gpu" in place or "cuda" in place for place in places):
            raise Unavailable(
                f"{self._name} cannot run on the GPU (it computed on {device} without an error);"
                f" {self._remedy}"
            )
        self._proven = True
        return described
