"""LiteRT: an operation is a node of the model, which XNNPACK runs; below Python lies C++."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated

from ..registry.backend import Backend
from ..weights import Weights
from . import ENTERING, Infer, Probe
from .tflite_models import Answer, called_below

_ARRAYS = "image into its tensor, answer copied out, less the run alone"
_EVIDENCE = {
    "interpreter": {
        "arrays": _ARRAYS,
        "Python": "Interpreter.invoke, less Invoke in C++",
        ENTERING: "Invoke of a model that gives ten pixels",
    },
    "compiled": {
        "arrays": _ARRAYS,
        "Python": "CompiledModel.run_by_index, less RunByIndex in C++",
        ENTERING: "RunByIndex of a model that gives ten pixels",
    },
}


def probes(row: Backend, variant: str, weights: Weights, threads: int) -> Sequence[Probe]:
    if variant not in _EVIDENCE:
        return ()
    runs = {"interpreter": _interpreter, "compiled": _compiled}[variant]
    evidence = _EVIDENCE[variant]
    return called_below(row, weights, threads, schema_py_generated, runs, evidence, variant)


def _interpreter(inside: Mapping[str, Any]) -> Sequence[Infer]:
    model = inside["model"]  # it refuses to run where something else holds its `_interpreter`
    answer = Answer(lambda: model.get_tensor(inside["probabilities"]))
    return lambda _: model.invoke() or answer, lambda _: model._interpreter.Invoke() or answer


def _compiled(inside: Mapping[str, Any]) -> Sequence[Infer]:
    model, inputs, outputs = inside["model"], inside["inputs"], inside["outputs"]
    below = model._model
    given, answers = ([one.capsule for one in buffers] for buffers in (inputs, outputs))
    answer = Answer(lambda: outputs[0].read(10, np.float32))
    return (
        lambda _: model.run_by_index(0, inputs, outputs) or answer,
        lambda _: below.RunByIndex(0, given, answers) or answer,
    )
