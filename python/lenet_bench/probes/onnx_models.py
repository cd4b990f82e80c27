"""The networks as ONNX models, for every API that reads one: image in, ten probabilities out."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from onnx import helper, load_from_string, numpy_helper

from ..export import onnx as lenet
from ..registry.backend import Backend
from ..weights import Weights
from . import (
    CHECKS,
    CHECKS_EVIDENCE,
    CUTS,
    ENTERING,
    SOFTMAX,
    Infer,
    Probe,
    networks,
    unchecked,
    varied,
    way,
)

#: Operations a stage, as the model has them; with fc1 go its Flatten and its Relu.
COUNT = {"conv1": 1, "pool1": 1, "conv2": 1, "pool2": 1, "fc1": 3, "fc2": 1, SOFTMAX: 1}
#: Those that take ten floats of what was computed: Flatten and Slice.
REST = 2

_LAST = {"fc1": "relu"}  # where a stage ends, unless in the tensor of its name


class Models:
    """Made from one set of weights."""

    def __init__(self, weights: Weights) -> None:
        self._whole = load_from_string(lenet.model(weights))

    def nothing(self) -> bytes:
        """Ten pixels."""
        return self._ending([], "image")

    def trivial(self, count: int) -> bytes:
        """Ten pixels, and so many operations on them."""
        names = ["ten", *(f"tanh{n}" for n in range(1, count)), "probabilities"]
        nodes = [helper.make_node("Tanh", [names[n]], [names[n + 1]]) for n in range(count)]
        return self._model([*_taking("image", "ten"), *nodes])

    def cut(self, stage: str) -> bytes:
        """LeNet until after that stage; or the softmax of ten pixels."""
        if stage == SOFTMAX:
            softmax = helper.make_node(SOFTMAX.title(), ["ten"], ["probabilities"], axis=1)
            return self._model([*_taking("image", "ten"), softmax])
        last = _LAST.get(stage, stage)
        kept: list[Any] = []
        for node in self._whole.graph.node:
            kept.append(node)
            if node.output[0] == last:
                break
        if stage == CUTS[-1]:
            kept[-1] = type(kept[-1]).FromString(kept[-1].SerializeToString())
            kept[-1].output[0] = "probabilities"
            return self._model(kept)
        return self._ending(kept, last)

    def _ending(self, nodes: Sequence[Any], last: str) -> bytes:
        return self._model([*nodes, *_taking(last, "probabilities")])

    def _model(self, nodes: Sequence[Any]) -> bytes:
        model = type(self._whole).FromString(self._whole.SerializeToString())
        del model.graph.node[:]
        model.graph.node.extend(nodes)
        used = {name for node in nodes for name in node.input}
        bounds = {"from": [0], "to": [10], "axis": [1]}
        kept = [one for one in model.graph.initializer if one.name in used]
        kept += [
            numpy_helper.from_array(np.array(bound, np.int64), name)
            for name, bound in bounds.items()
            if name in used
        ]
        del model.graph.initializer[:]
        model.graph.initializer.extend(kept)
        content: bytes = model.SerializeToString()
        return content


def _taking(whole: str, ten: str) -> list[Any]:
    """The first ten floats of it."""
    return [
        helper.make_node("Flatten", [whole], [f"{ten}.flat"]),
        helper.make_node("Slice", [f"{ten}.flat", "from", "to", "axis"], [ten]),
    ]


def called_whole(row: Backend, variant: str, weights: Weights, threads: int) -> Sequence[Probe]:
    """Of an API whose backend has one way to call it: its own function, on each model."""
    models = Models(weights)

    def last(model: bytes) -> Infer:
        return unchecked(varied(row, variant, weights, threads, onnx_model=model))

    nothing = varied(row, variant, weights, threads, onnx_model=models.nothing())
    evidence = "the call on a model that gives ten pixels"
    return [
        way(CHECKS, nothing.infer, CHECKS_EVIDENCE, REST),
        way(ENTERING, unchecked(nothing), evidence, REST),
        *networks(last, models.trivial, models.cut, COUNT, REST),
    ]


def called_below(
    row: Backend,
    variant: str,
    weights: Weights,
    threads: int,
    below: Callable[[bytes], Infer],
    python: str,
    entering: str,
) -> Sequence[Probe]:
    """Of an API that can be called `below` its Python; the last two are evidence."""
    models = Models(weights)
    whole = varied(row, variant, weights, threads, onnx_model=models.nothing())
    return [
        way(CHECKS, whole.infer, CHECKS_EVIDENCE, REST),
        way("Python", unchecked(whole), python, REST),
        way(ENTERING, below(models.nothing()), entering, REST),
        *networks(below, models.trivial, models.cut, COUNT, REST),
    ]
