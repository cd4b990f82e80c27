"""LeNet as Caffe's own model, run by OpenCV 4's dnn module.

Caffe itself has had no release since 2017; its prototxt and caffemodel live on, and OpenCV read
them until version 5. OpenCV's convolutions are its own, its matrix products too.
"""

import cv2
import numpy as np

from . import Array, Infer


def build(prototxt: bytes, caffemodel: bytes, threads: int) -> Infer:
    """A net of OpenCV's, from Caffe's two files."""
    cv2.setNumThreads(threads)
    network = np.frombuffer(prototxt, np.uint8)
    parameters = np.frombuffer(caffemodel, np.uint8)
    net = cv2.dnn.readNetFromCaffe(network, parameters)  # load
    net.setPreferableBackend(cv2.dnn.DNN_BACKEND_OPENCV)
    net.setPreferableTarget(cv2.dnn.DNN_TARGET_CPU)

    def infer(images: Array) -> Array:
        net.setInput(images[:, np.newaxis])
        return net.forward()

    return infer


def describe() -> dict[str, str]:
    """The threads that OpenCV takes."""
    return {"threads": str(cv2.getNumThreads())}
