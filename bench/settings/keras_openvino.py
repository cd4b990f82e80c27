"""What Keras' and OpenVINO's pages name for one image."""

import tempfile

import numpy as np
import openvino
from lenet_bench.backends import Array, Infer
from lenet_bench.backends.keras import lenet, on_openvino  # noqa: F401 - it is called first
from lenet_bench.weights import Weights


def exported(weights: Weights, threads: int) -> Infer:
    """Model.export(format="openvino"), run by OpenVINO itself for one image."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/lenet.xml"
        lenet(weights).export(path, format="openvino", verbose=False)
        model = openvino.Core().read_model(path)
    model.reshape((1, 28, 28, 1))
    config = {
        "INFERENCE_PRECISION_HINT": "f32",
        "INFERENCE_NUM_THREADS": threads,
        "PERFORMANCE_HINT": "LATENCY",
    }
    request = openvino.compile_model(model, config=config).create_infer_request()
    return _asked(request)


def _asked(request: openvino.InferRequest) -> Infer:
    def infer(images: Array) -> Array:
        (probabilities,) = request.infer([images[..., np.newaxis]]).values()
        return probabilities.copy()

    return infer
