"""OpenCV's engines, and the options of its net."""

import cv2
import numpy as np
from lenet_bench.backends import Array, Infer


def _answers(net: cv2.dnn.Net) -> Infer:
    def infer(images: Array) -> Array:
        net.setInput(images[:, np.newaxis])
        return net.forward()

    return infer


def _read(onnx_model: bytes, threads: int, engine: int) -> cv2.dnn.Net:
    cv2.setNumThreads(threads)
    return cv2.dnn.readNetFromONNX(np.frombuffer(onnx_model, np.uint8), engine)


def classic(onnx_model: bytes, threads: int) -> Infer:
    """ENGINE_CLASSIC requested, OpenCV 4's."""
    return _answers(_read(onnx_model, threads, cv2.dnn.ENGINE_CLASSIC))


def classic_no_winograd(onnx_model: bytes, threads: int) -> Infer:
    """ENGINE_CLASSIC requested, without Winograd's method."""
    net = _read(onnx_model, threads, cv2.dnn.ENGINE_CLASSIC)
    net.enableWinograd(False)
    return _answers(net)


def new(onnx_model: bytes, threads: int) -> Infer:
    """ENGINE_NEW requested, OpenCV 5's."""
    return _answers(_read(onnx_model, threads, cv2.dnn.ENGINE_NEW))


def by_onnxruntime(onnx_model: bytes, threads: int) -> Infer:
    """ENGINE_ORT requested, ONNX Runtime."""
    return _answers(_read(onnx_model, threads, cv2.dnn.ENGINE_ORT))


def one_image(onnx_model: bytes, threads: int) -> Infer:
    """ENGINE_NEW requested, on a model for one image."""
    import onnx
    from onnx.tools.update_model_dims import update_inputs_outputs_dims

    shapes = {"image": [1, 1, 28, 28]}, {"probabilities": [1, 10]}
    model = update_inputs_outputs_dims(onnx.load_from_string(onnx_model), *shapes)
    return _answers(_read(model.SerializeToString(), threads, cv2.dnn.ENGINE_NEW))
