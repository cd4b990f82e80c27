"""What OpenCV 4's dnn module lets one choose for a net."""

import cv2
import numpy as np
from lenet_bench.backends import Array, Infer


def _net(prototxt: bytes, caffemodel: bytes, threads: int) -> cv2.dnn.Net:
    cv2.setNumThreads(threads)
    files = (np.frombuffer(file, np.uint8) for file in (prototxt, caffemodel))
    return cv2.dnn.readNetFromCaffe(*files)


def _asked(net: cv2.dnn.Net) -> Infer:
    def infer(images: Array) -> Array:
        net.setInput(images[:, np.newaxis])
        return net.forward()

    return infer


def default_backend(prototxt: bytes, caffemodel: bytes, threads: int) -> Infer:
    """The backend and target left to OpenCV."""
    return _asked(_net(prototxt, caffemodel, threads))


def not_fused(prototxt: bytes, caffemodel: bytes, threads: int) -> Infer:
    """Layers not fused: enableFusion(False)."""
    net = _net(prototxt, caffemodel, threads)
    net.enableFusion(False)
    return _asked(net)


def no_winograd(prototxt: bytes, caffemodel: bytes, threads: int) -> Infer:
    """Convolutions without Winograd's method: enableWinograd(False)."""
    net = _net(prototxt, caffemodel, threads)
    net.enableWinograd(False)
    return _asked(net)
