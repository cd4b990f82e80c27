"""The networks as ONNX models, for every API that reads one: image in, ten probabilities out."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from onnx import helper, load_from_string, numpy_helper

from ..export import onnx as lenet
from ..registry.adapter import Adapter
from ..weights import Weights
from . import CUTS, ENTERING, SOFTMAX, Case, Infer, Probe, called, networks, unchecked, way

#: Operations a stage, as the model has them; with fc1 go its Flatten and its Relu.
_COUNT = {"conv1": 1, "pool1": 1, "conv2": 1, "pool2": 1, "fc1": 3, "fc2": 1, SOFTMAX: 1}
#: Those that take ten floats of the last layer: Flatten and Slice.
_REST = 2

_LAST = {"fc1": "relu"}  # where a stage ends, unless in the tensor of its name
_BOUNDS = {"from": 0, "to": 10, "axis": 1}  # of a slice


class Models:
    """Models made from one set of weights."""

    def __init__(self, weights: Weights) -> None:
        self._whole = load_from_string(lenet.model(weights))
        self._constants = [
            *self._whole.graph.initializer,
            *(numpy_helper.from_array(np.array([at]), name) for name, at in _BOUNDS.items()),
        ]

    def trivial(self, count: int) -> bytes:
        """Ten pixels with so many operations on them."""
        names = ["ten", *(f"tanh{n}" for n in range(count))]
        nodes = [helper.make_node("Tanh", [names[n]], [names[n + 1]]) for n in range(count)]
        return self._model([*_ten_of("image"), *nodes])

    def cut(self, stage: str) -> bytes:
        """LeNet until after that stage; or the softmax of ten pixels."""
        if stage == SOFTMAX:
            softmax = helper.make_node("Softmax", ["ten"], ["softmax"], axis=1)
            return self._model([*_ten_of("image"), softmax])
        last = _LAST.get(stage, stage)
        nodes = list(self._whole.graph.node)
        kept = nodes[: 1 + [node.output[0] for node in nodes].index(last)]
        if stage != CUTS[-1]:
            kept += _ten_of(last)
        return self._model(kept)

    def _model(self, nodes: Sequence[Any]) -> bytes:
        """A model of these nodes, the last of which gives the answer."""
        whole = self._whole
        used = {name for node in nodes for name in node.input}
        constants = [one for one in self._constants if one.name in used]
        graph = helper.make_graph(nodes, "cut", whole.graph.input, whole.graph.output, constants)
        graph.node[-1].output[0] = "probabilities"
        versions = {"opset_imports": whole.opset_import, "ir_version": whole.ir_version}
        return helper.make_model(graph, **versions).SerializeToString()


def _ten_of(whole: str) -> list[Any]:
    """The first ten floats of it."""
    return [
        helper.make_node("Flatten", [whole], ["ten.flat"]),
        helper.make_node("Slice", ["ten.flat", *_BOUNDS], ["ten"]),
    ]


def on_models(
    case: Case,
    below: Callable[[bytes], Infer] | None = None,
    python: str = "",
    entering: str = "the call on a model that returns ten pixels",
) -> Sequence[Probe]:
    """The experiments of an API that is called by the backend's function, or `below` its Python.

    The last two arguments are evidence.
    """
    models = Models(case.weights)

    def whole(model: bytes) -> Adapter:
        return case.varied(onnx_model=model)

    nothing = models.trivial(0)
    if below:
        ways = called(whole(nothing), "Python", python, _REST)
        ways.append(way(ENTERING, below(nothing), entering, _REST))
    else:
        ways = called(whole(nothing), ENTERING, entering, _REST)
    last = below or (lambda model: unchecked(whole(model)))
    return [*ways, *networks(last, models.trivial, models.cut, _COUNT, _REST)]
