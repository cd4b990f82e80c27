"""LeNet in ONNX Runtime.

A model file and a session: the graph is optimised when it is loaded, and its convolutions and
matrix products are those of MLAS, the runtime's own library. `run` takes and gives NumPy arrays;
`iobinding` computes into memory that was bound once.
"""

import numpy as np
import onnxruntime as ort

from ..export import onnx
from ..weights import Weights
from ._exhibit import Array, Exhibit


class OnnxRuntime(Exhibit):
    """An InferenceSession on the model that lenet_bench.export makes."""

    def __init__(self, weights: Weights, *, threads: int, variant: str) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session = ort.InferenceSession(
            onnx.model(weights), options, providers=["CPUExecutionProvider"]
        )
        self._variant = variant
        self._image = np.empty((1, 1, 28, 28), np.float32)
        self._probabilities = np.empty((1, 10), np.float32)
        self._binding = self._session.io_binding()
        self._binding.bind_ortvalue_input("image", ort.OrtValue.ortvalue_from_numpy(self._image))
        self._binding.bind_ortvalue_output(
            "probabilities", ort.OrtValue.ortvalue_from_numpy(self._probabilities)
        )

    def forward(self, images: Array) -> Array:
        if self._variant == "iobinding" and len(images) == 1:
            self._image[0, 0] = images[0]
            self._session.run_with_iobinding(self._binding)
            return self._probabilities.copy()
        return self._session.run(["probabilities"], {"image": images[:, np.newaxis]})[0]

    def describe(self) -> dict[str, str]:
        options = self._session.get_session_options()
        return {
            "library": f"ONNX Runtime {ort.__version__}",
            "variant": self._variant,
            "providers": ", ".join(self._session.get_providers()),
            "threads": str(options.intra_op_num_threads),
        }
