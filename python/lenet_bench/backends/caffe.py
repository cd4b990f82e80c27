"""LeNet as Caffe's own model, run by OpenCV 4's dnn module.

Caffe itself has had no release since 2017; its prototxt and caffemodel live on, and OpenCV read
them until version 5. OpenCV's convolutions are its own, its matrix products too.
"""

import cv2
import numpy as np

from ..export.caffe import caffemodel, prototxt
from ..weights import Weights
from ._exhibit import Array, Exhibit


class Caffe(Exhibit):
    """A net of OpenCV's, from the two files that lenet_bench.export makes."""

    def __init__(self, weights: Weights, *, threads: int) -> None:
        cv2.setNumThreads(threads)
        network, parameters = (
            np.frombuffer(file, np.uint8) for file in (prototxt(weights), caffemodel(weights))
        )
        self._net = cv2.dnn.readNetFromCaffe(network, parameters)
        self._net.setPreferableBackend(cv2.dnn.DNN_BACKEND_OPENCV)
        self._net.setPreferableTarget(cv2.dnn.DNN_TARGET_CPU)

    def forward(self, images: Array) -> Array:
        self._net.setInput(images[:, np.newaxis])
        return self._net.forward()

    def describe(self) -> dict[str, str]:
        return {"library": f"OpenCV {cv2.__version__}", "threads": str(cv2.getNumThreads())}
