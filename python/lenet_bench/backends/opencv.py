"""LeNet in OpenCV's dnn module, from the ONNX model.

For programs that use OpenCV for their pictures already. Convolutions and matrix products are its
own.
"""

import cv2
import numpy as np

from . import Array, Infer


def build(onnx_model: bytes, threads: int) -> Infer:
    """A net of OpenCV's."""
    cv2.setNumThreads(threads)
    net = cv2.dnn.readNetFromONNX(np.frombuffer(onnx_model, np.uint8))  # load

    def infer(images: Array) -> Array:
        net.setInput(images[:, np.newaxis])
        return net.forward()

    return infer


def describe() -> dict[str, str]:
    """The threads that OpenCV takes."""
    return {"threads": str(cv2.getNumThreads())}
