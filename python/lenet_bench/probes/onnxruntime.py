"""ONNX Runtime: an operation is a node of the model; below Python lies the session in C++."""

from collections.abc import Sequence

import numpy as np

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
    "run": "InferenceSession.run on an array, less the session of C++ on a prepared one",
    "iobinding": "image in, run_with_iobinding, answer copied out, less the run of C++",
}


def probes(row: Backend, variant: str, weights: Weights, threads: int) -> Sequence[Probe]:
    if variant not in _PYTHON:
        return ()
    models = Models(weights)
    whole = varied(row, variant, weights, threads, onnx_model=models.nothing())

    def below(model: bytes) -> Infer:
        inside = varied(row, variant, weights, threads, onnx_model=model).inside()
        session = inside["session"]._sess
        if variant == "iobinding":  # what is bound must live on
            return lambda _: session.run_with_iobinding(inside["binding"]._iobinding, None)
        feeds = {"image": IMAGES[:, np.newaxis]}
        names = ["probabilities"]
        return lambda _: session.run(names, feeds, None)

    return [
        way(CHECKS, whole.infer, CHECKS_EVIDENCE, REST),
        way("Python", unchecked(whole), _PYTHON[variant], REST),
        way(ENTERING, below(models.nothing()), "a run of a model that gives ten pixels", REST),
        *networks(below, models.trivial, models.cut, COUNT, REST),
    ]
