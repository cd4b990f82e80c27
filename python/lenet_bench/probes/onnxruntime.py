"""ONNX Runtime: an operation is a node of the model; below Python lies the session in C++."""

from collections.abc import Sequence

import numpy as np

from ..registry.backend import Backend
from ..weights import Weights
from . import IMAGES, Infer, Probe, varied
from .onnx_models import on_models

_PYTHON = {
    "run": "InferenceSession.run on an array less the C++ session on a prepared one",
    "iobinding": "image in, run_with_iobinding, copy of the answer: all less the C++ run",
}


def probes(row: Backend, variant: str, weights: Weights, threads: int) -> Sequence[Probe]:
    if variant not in _PYTHON:
        return ()

    def below(model: bytes) -> Infer:
        inside = varied(row, variant, weights, threads, onnx_model=model).inside()
        session = inside["session"]._sess
        if variant == "iobinding":  # what is bound must live on
            return lambda _: session.run_with_iobinding(inside["binding"]._iobinding, None)
        feeds = {"image": IMAGES[:, np.newaxis]}
        names = ["probabilities"]
        return lambda _: session.run(names, feeds, None)

    entering = "a run of a model that returns ten pixels"
    return on_models(row, variant, weights, threads, below, _PYTHON[variant], entering)
