"""LeNet in OpenCV's dnn module, from the ONNX model.

What those who have OpenCV for their pictures use for their networks too. Convolutions and matrix
products are its own.
"""

import cv2
import numpy as np

from ..export import onnx
from ..weights import Weights
from ._exhibit import Array, Exhibit


class OpenCv(Exhibit):
    """A net of OpenCV's."""

    def __init__(self, weights: Weights, *, threads: int) -> None:
        cv2.setNumThreads(threads)
        self._net = cv2.dnn.readNetFromONNX(np.frombuffer(onnx.model(weights), np.uint8))

    def forward(self, images: Array) -> Array:
        self._net.setInput(images[:, np.newaxis])
        return self._net.forward()

    def describe(self) -> dict[str, str]:
        return {"library": f"OpenCV {cv2.__version__}", "threads": str(cv2.getNumThreads())}
