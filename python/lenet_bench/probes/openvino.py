"""OpenVINO: an operation is a node of the compiled model; below Python lies the request in C++."""

from collections.abc import Sequence

from . import IMAGES, Case, Infer, Probe
from .onnx_models import on_models

_PYTHON = {
    "infer": "InferRequest.infer on an array less a request whose tensors are set",
    "tensors": "copy of the image into its tensor and of the answer: the call less the request",
}


def probes(case: Case) -> Sequence[Probe]:
    if case.variant not in _PYTHON:
        return ()

    def below(model: bytes) -> Infer:
        request = case.varied(onnx_model=model).inside()["request"]
        request.get_input_tensor().data[:] = IMAGES
        run = super(type(request), request).infer  # without the wrapper in Python
        return lambda _: run({}, share_outputs=True, decode_strings=False)

    entering = "a request of a model that returns ten pixels"
    return on_models(case, below, _PYTHON[case.variant], entering)
