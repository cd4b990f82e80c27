"""LeNet in ONNX Runtime.

A model file and a session: the graph is optimised when it is loaded, and its convolutions and
matrix products are those of MLAS, the runtime's own library, or on a GPU cuDNN's and cuBLAS's.
`run` takes and gives NumPy arrays; `iobinding` computes into memory that was bound once.
"""

from typing import Any

import numpy as np
import onnxruntime as ort

from ..export import onnx
from ..weights import Weights
from ._exhibit import Array, Exhibit


class OnnxRuntime(Exhibit):
    """An InferenceSession on the model that lenet_bench.export makes."""

    def __init__(self, weights: Weights, *, threads: int, variant: str, device: str) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        providers: list[Any] = ["CPUExecutionProvider"]
        if device == "gpu":
            ort.preload_dlls()  # CUDA's and cuDNN's, where pip put them
            options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
            providers = [("CUDAExecutionProvider", {"use_tf32": 0})]
        self._session = ort.InferenceSession(
            onnx.model(weights), options, providers=providers, enable_fallback=False
        )
        self._variant = variant
        place = "cuda" if device == "gpu" else "cpu"
        image, probabilities = np.zeros((1, 1, 28, 28), np.float32), np.zeros((1, 10), np.float32)
        self._image = ort.OrtValue.ortvalue_from_numpy(image, place)
        self._probabilities = ort.OrtValue.ortvalue_from_numpy(probabilities, place)
        self._binding = self._session.io_binding()
        self._binding.bind_ortvalue_input("image", self._image)
        self._binding.bind_ortvalue_output("probabilities", self._probabilities)

    def forward(self, images: Array) -> Array:
        if self._variant == "iobinding" and len(images) == 1:
            self._image.update_inplace(images[:, np.newaxis])
            self._session.run_with_iobinding(self._binding)
            return np.array(self._probabilities.numpy())
        return self._session.run(["probabilities"], {"image": images[:, np.newaxis]})[0]

    def describe(self) -> dict[str, str]:
        options = self._session.get_session_options()
        return {
            "library": f"ONNX Runtime {ort.__version__}",
            "variant": self._variant,
            "device": ", ".join(self._session.get_providers()),
            "threads": str(options.intra_op_num_threads),
        }
