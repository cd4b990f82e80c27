"""The networks as TensorFlow Lite's flatbuffers: LeNet's own file, cut."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import flatbuffers
import numpy as np
from numpy.typing import NDArray

from .. import export
from ..registry.adapter import Adapter
from . import CUTS, ENTERING, IMAGES, SOFTMAX, Case, Infer, Probe, called, networks, way

#: Operations a stage, as the file has them; with fc1 goes what flattens, and the ReLUs are in none.
_COUNT = {"conv1": 1, "pool1": 1, "conv2": 1, "pool2": 1, "fc1": 2, "fc2": 1, SOFTMAX: 1}
#: Those that take ten floats of the last layer: slice and reshape.
_REST = 2

_ALIGNMENT = 16  # of a file's arrays; flatbuffers' Python ignores it


def called_below(
    case: Case,
    schema: ModuleType,
    runs: Callable[[Mapping[str, Any]], Sequence[Infer]],
    arrays: str,
    python: str,
    below: str,
    **others: Any,
) -> Sequence[Probe]:
    """The probes of an API that reads such a file.

    `runs` gives, of what the backend's function holds, the run of a model as Python has it and as
    C++ has it; `schema` is the API's own. `arrays` is evidence, `python` and `below` name the runs.
    """
    file = export.model("tflite_model", case.weights)

    def ten_pixels() -> _Model:
        model = _Model(file, schema)
        model.take_ten()
        return model

    def trivial(count: int) -> bytes:
        """Ten pixels with so many operations on them."""
        model = ten_pixels()
        for _ in range(count):
            model.add("TANH")
        return model.content()

    def cut(stage: str) -> bytes:
        """LeNet until after that stage; or the softmax of ten pixels."""
        if stage == SOFTMAX:
            model = ten_pixels()
            model.add("SOFTMAX", options=model.operators[-1])
            return model.content()
        kept = sum(_COUNT[name] for name in CUTS[: CUTS.index(stage) + 1])
        model = _Model(file, schema, kept)
        if stage != CUTS[-1]:
            model.take_ten()
        return model.content()

    def whole(model: bytes) -> Adapter:
        return case.varied(tflite_model=model, **others)

    def last(model: bytes) -> Infer:
        made = whole(model)
        made.infer(IMAGES[0])  # so that the image is in its tensor
        return runs(made.inside())[1]

    nothing = whole(trivial(0))
    run, run_below = runs(nothing.inside())
    return [
        *called(nothing, "arrays", arrays, _REST),
        way("Python", run, f"{python} less {below} in C++", _REST),
        way(ENTERING, run_below, f"{below} of a model that returns ten pixels", _REST),
        *networks(last, trivial, cut, _COUNT, _REST),
    ]


@dataclass(frozen=True)
class LateAnswer:
    """The answer of a run, read later."""

    read: Callable[[], Any]

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.read()


class _Model:
    """LeNet's file with its first `kept` operations, followed by others."""

    def __init__(self, file: bytes, schema: ModuleType, kept: int = 0) -> None:
        self._schema = schema
        self._model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(file, 0))
        (self._graph,) = self._model.subgraphs
        self.operators = self._graph.operators
        self._graph.operators = self.operators[:kept]
        ends = [self._graph.inputs[0], *(one.outputs[0] for one in self.operators)]
        self._end = ends[kept]

    def take_ten(self) -> None:
        """The first ten floats of the last tensor."""
        shape = self._graph.tensors[self._end].shape
        size = np.ones(len(shape), np.int32)
        size[-1 if shape[-1] >= 10 else -2] = 10
        self.add(
            "SLICE", self._constant(np.zeros_like(size)), self._constant(size), shape=size.tolist()
        )
        self.add("RESHAPE", self._constant(np.array([1, 10], np.int32)))

    def add(
        self, name: str, *constants: int, shape: Sequence[int] = (1, 10), options: Any = None
    ) -> None:
        """An operation on the last tensor, with the options of another."""
        operator = self._schema.OperatorT()
        operator.opcodeIndex = self._code(getattr(self._schema.BuiltinOperator, name))
        if options:
            operator.builtinOptionsType = options.builtinOptionsType
            operator.builtinOptions = options.builtinOptions
        operator.inputs = [self._end, *constants]
        self._end = self._tensor(shape, self._schema.TensorType.FLOAT32)
        operator.outputs = [self._end]
        self._graph.operators.append(operator)

    def content(self) -> bytes:
        """The flatbuffer."""
        self._graph.outputs = [self._end]
        for signature in self._model.signatureDefs:
            signature.outputs[0].tensorIndex = self._end
        builder = _Aligned()
        builder.Finish(self._model.Pack(builder), b"TFL3")
        return bytes(builder.Output())

    def _code(self, operation: int) -> int:
        codes = [code.builtinCode for code in self._model.operatorCodes]
        if operation not in codes:
            code = self._schema.OperatorCodeT()
            code.builtinCode = code.deprecatedBuiltinCode = operation
            code.version = 1
            self._model.operatorCodes.append(code)
            codes.append(operation)
        return codes.index(operation)

    def _constant(self, values: NDArray[np.int32]) -> int:
        return self._tensor([len(values)], self._schema.TensorType.INT32, values.view(np.uint8))

    def _tensor(
        self, shape: Sequence[int], kind: int, data: NDArray[np.uint8] | None = None
    ) -> int:
        buffer, tensor = self._schema.BufferT(), self._schema.TensorT()
        buffer.data = data
        self._model.buffers.append(buffer)
        tensor.shape, tensor.type = list(shape), kind
        tensor.buffer = len(self._model.buffers) - 1
        tensor.name = f"probe{tensor.buffer}"
        self._graph.tensors.append(tensor)
        return len(self._graph.tensors) - 1


class _Aligned(flatbuffers.Builder):
    """A builder that aligns weights as the converter does."""

    def CreateNumpyVector(self, values: Any) -> Any:  # noqa: N802
        self.Prep(_ALIGNMENT, values.nbytes)
        return super().CreateNumpyVector(values)
