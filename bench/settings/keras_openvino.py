"""What Keras' and OpenVINO's pages name for one image."""

import tempfile

import numpy as np
import openvino
from lenet_bench.backends import Array, Infer
from lenet_bench.backends.keras import lenet, on_openvino  # noqa: F401 - it is called first
from lenet_bench.weights import Weights


def exported(weights: Weights) -> Infer:
    """Model.export(format="openvino"), run by OpenVINO itself for one image."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/lenet.xml"
        lenet(weights).export(path, format="openvino", verbose=False)
        model = openvino.Core().read_model(path)
    model.reshape((1, 28, 28, 1))
    request = openvino.compile_model(model).create_infer_request()  # as `on_openvino` configures

    def infer(images: Array) -> Array:
        (probabilities,) = request.infer([images[..., np.newaxis]]).values()
        return probabilities.copy()

    return infer
