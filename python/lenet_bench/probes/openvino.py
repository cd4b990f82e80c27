"""OpenVINO: an operation is a node of the compiled model; below Python lies the request in C++."""

from collections.abc import Sequence

from ..registry.backend import Backend
from ..weights import Weights
from . import (
    CHECKS,
    CHECKS_EVIDENCE,
    ENTERING,
    IMAGES,
    Infer,
    Probe,
    networks,
    unchecked,
    varied,
    way,
)
from .onnx_models import COUNT, REST, Models

_PYTHON = {
    "infer": "InferRequest.infer on an array, less a request whose tensors are set",
    "tensors": "image into its tensor, answer copied out, less the request alone",
}


def probes(row: Backend, variant: str, weights: Weights, threads: int) -> Sequence[Probe]:
    if variant not in _PYTHON:
        return ()
    models = Models(weights)

    def below(model: bytes) -> Infer:
        request = varied(row, variant, weights, threads, onnx_model=model).inside()["request"]
        request.get_input_tensor().data[:] = IMAGES
        run = super(type(request), request).infer  # without the wrapper in Python
        return lambda _: run({}, share_outputs=True, decode_strings=False)

    whole = varied(row, variant, weights, threads, onnx_model=models.nothing())
    return [
        way(CHECKS, whole.infer, CHECKS_EVIDENCE, REST),
        way("Python", unchecked(whole), _PYTHON[variant], REST),
        way(ENTERING, below(models.nothing()), "a request of a model that gives ten pixels", REST),
        *networks(below, models.trivial, models.cut, COUNT, REST),
    ]
