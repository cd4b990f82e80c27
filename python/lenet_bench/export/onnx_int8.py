"""LeNet as an ONNX model in int8, by ONNX Runtime's own tool: QDQ nodes, weights of 7 bits.

With 8, sums of two products overflow on processors without VNNI.
"""

import tempfile
from pathlib import Path

import numpy as np
from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_static

from ..weights import Weights
from . import onnx
from .calibration import digits


class Digits(CalibrationDataReader):
    """The images that the ranges of the activations are taken from."""

    def __init__(self) -> None:
        self._images = iter(digits())

    def get_next(self) -> "dict[str, np.ndarray] | None":
        """The next one as the model takes it."""
        image = next(self._images, None)
        return None if image is None else {"image": image[np.newaxis, np.newaxis]}


def model(weights: Weights) -> bytes:
    """The model, from float32 to float32."""
    with tempfile.TemporaryDirectory() as folder:
        plain, quantized = Path(folder) / "lenet.onnx", Path(folder) / "int8.onnx"
        plain.write_bytes(onnx.model(weights))
        quantize_static(
            plain,
            quantized,
            Digits(),
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
            per_channel=True,
            reduce_range=True,
        )
        return quantized.read_bytes()
