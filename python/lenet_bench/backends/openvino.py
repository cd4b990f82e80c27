"""LeNet in OpenVINO.

A model file compiled for one device: the CPU's plug-in runs it on Intel's fork of oneDNN. `infer`
hands over an array a call, which is read where it lies; `tensors` computes from and into tensors
that were set once. Precision is demanded: on a CPU with bfloat16 the default is to compute in that,
and be wrong by 0.002.
"""

import numpy as np
import openvino as ov

from ..export import onnx
from ..weights import Weights
from ._exhibit import Array, Exhibit


class OpenVino(Exhibit):
    """A compiled model and one inference request."""

    def __init__(self, weights: Weights, *, threads: int, variant: str) -> None:
        core = ov.Core()
        config = {
            "INFERENCE_PRECISION_HINT": "f32",
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
        }
        model = core.read_model(onnx.model(weights))
        self._batch = core.compile_model(model, "CPU", config)
        model.reshape([1, 1, 28, 28])
        self._compiled = core.compile_model(model, "CPU", config)
        self._request = self._compiled.create_infer_request()
        self._variant = variant
        self._image = self._request.get_input_tensor().data
        self._probabilities = self._request.get_output_tensor().data

    def forward(self, images: Array) -> Array:
        if len(images) > 1:
            return self._batch(images[:, np.newaxis])[0]
        if self._variant == "tensors":
            self._image[0] = images
            self._request.infer()
            return self._probabilities.copy()
        return self._request.infer(images[:, np.newaxis], share_inputs=True)[0]

    def describe(self) -> dict[str, str]:
        read = self._compiled.get_property
        return {
            "library": f"OpenVINO {ov.__version__}",
            "variant": self._variant,
            "precision": str(read("INFERENCE_PRECISION_HINT")),
            "threads": str(read("INFERENCE_NUM_THREADS")),
        }
