"""ONNX Runtime: an operation is a node of the model; below Python lies the session in C++."""

from collections.abc import Sequence

import numpy as np

from . import IMAGES, Case, Infer, Probe
from .onnx_models import on_models

_PYTHON = {
    "run": "InferenceSession.run on an array less the C++ session on a prepared one",
    "iobinding": "image in, run_with_iobinding, copy of the answer: all less the C++ run",
}


def probes(case: Case) -> Sequence[Probe]:
    if case.variant not in _PYTHON:
        return ()

    def below(model: bytes) -> Infer:
        inside = case.varied(onnx_model=model).inside()
        session = inside["session"]._sess
        if case.variant == "iobinding":  # keeps the bound arrays alive
            return lambda _: session.run_with_iobinding(inside["binding"]._iobinding, None)
        feeds = {"image": IMAGES[:, np.newaxis]}
        names = ["probabilities"]
        return lambda _: session.run(names, feeds, None)

    entering = "a run of a model that returns ten pixels"
    return on_models(case, below, _PYTHON[case.variant], entering)
