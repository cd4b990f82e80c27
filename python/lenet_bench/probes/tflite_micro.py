"""TensorFlow Lite for Microcontrollers: an operation is a node of the model; below Python is C++.

A later tensor overwrites the image in its arena, so each run needs the image again.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tflite_micro.tensorflow.lite.micro.python import schema_py_generated

from . import IMAGES, Case, Infer, Probe
from .tflite_models import LateAnswer, called_below

_ARENA = 256 * 1024  # 64 operations have more nodes and tensors than LeNet


def probes(case: Case) -> Sequence[Probe]:
    if case.variant in case.row.reduced:
        return ()
    return called_below(
        case,
        schema_py_generated,
        _runs,
        arrays="the call on an array less set_input and invoke",
        python="Interpreter.set_input and invoke",
        below="SetInputTensor and Invoke",
        ARENA=_ARENA,
    )


def _runs(inside: Mapping[str, Any]) -> Sequence[Infer]:
    model, images = inside["model"], IMAGES[..., None]
    below, answer = model._interpreter, LateAnswer(lambda: model.get_output(0))

    def run(_: Any) -> Any:
        model.set_input(images, 0)
        model.invoke()
        return answer

    def run_below(_: Any) -> Any:
        below.SetInputTensor(images, 0)
        below.Invoke()
        return answer

    return run, run_below
