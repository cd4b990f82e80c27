"""LiteRT: an operation is a node of the model, which XNNPACK runs; below Python lies C++."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from . import Case, Infer, Probe
from .tflite_models import LateAnswer, called_below

_ARRAYS = "copy of the image into its tensor and of the answer: the call less the run"


def probes(case: Case) -> Sequence[Probe]:
    ways = {
        "interpreter": (_interpreter, "Interpreter.invoke", "Invoke"),
        "compiled": (_compiled, "CompiledModel.run_by_index", "RunByIndex"),
    }
    if case.variant not in ways:
        return ()
    runs, python, below = ways[case.variant]
    return called_below(case, schema, runs, _ARRAYS, python, below)


def _interpreter(inside: Mapping[str, Any]) -> Sequence[Infer]:
    model = inside["model"]  # it refuses to run if another object holds its `_interpreter`
    answer = LateAnswer(lambda: model.get_tensor(inside["probabilities"]))
    return lambda _: model.invoke() or answer, lambda _: model._interpreter.Invoke() or answer


def _compiled(inside: Mapping[str, Any]) -> Sequence[Infer]:
    model, inputs, outputs = inside["model"], inside["inputs"], inside["outputs"]
    below = model._model
    given, answers = ([one.capsule for one in buffers] for buffers in (inputs, outputs))
    answer = LateAnswer(lambda: outputs[0].read(10, np.float32))
    return (
        lambda _: model.run_by_index(0, inputs, outputs) or answer,
        lambda _: below.RunByIndex(0, given, answers) or answer,
    )
