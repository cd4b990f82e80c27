"""A model that does not say what it takes and answers with: an example of its inputs shows it."""

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import LenetBenchError, first_line
from ..models.reader import Read, Sizes, arrays_of
from .framework_model import Array, FrameworkModel, Inputs, as_list

#: How a function takes the values of its inputs: by place, and by name.
Taken = Callable[[Sequence[Any]], tuple[Sequence[Any], Mapping[str, Any]]]

ONE = ("output",)  # the outputs of a model that answers with one array
_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True)
class ByExample(FrameworkModel):
    """A model that is called once to know it."""

    def function(self, model: Any) -> Any:
        """What has its parameters."""
        return model

    def names(self, model: Any, count: int) -> list[str]:
        try:
            parameters = [*inspect.signature(self.function(model)).parameters.values()]
        except (TypeError, ValueError):  # it does not say
            parameters = []
        placed = [one.name for one in parameters if one.kind in _BY_PLACE]
        return [*placed, *(f"arg{number}" for number in range(len(placed), count))][:count]

    def taken(self, model: Any, names: Sequence[str]) -> Taken:
        """How it takes these: by place where they are its first parameters, else by name."""
        if [*names] == self.names(model, len(names)):
            return lambda values: (values, {})
        return lambda values: ((), dict(zip(names, values, strict=True)))

    def answer(self, model: Any, inputs: Inputs) -> Any:
        """What it answers in the plainest call."""
        by_place, by_name = self.taken(model, [*inputs])([*inputs.values()])
        return model(*by_place, **by_name)

    def about(self, model: Any) -> dict[str, Any]:  # noqa: ARG002
        """What else is known of it."""
        return {}

    def read(self, model: Any, shapes: Sizes) -> Read:
        known = {"coarse": "", "open": {}, "parameters": None, **self.about(model)}
        examples = self.examples(model) or arrays_of(self.data)
        if not examples:
            raise LenetBenchError(
                "it has no example inputs, which get_args() of a model.py returns; give them in "
                "its order: --input FILE.npz"
            )
        kinds, inputs = {}, {}
        for name, array in examples.items():
            shape = shapes.get(name, array.shape)
            kinds[name] = array.dtype, shape
            inputs[name] = array if array.shape == shape else np.ones(shape, array.dtype)
        answer = self.answer(model, inputs)
        outputs = [f"output{number}" for number in range(len(as_list(answer)))]
        with suppress(TypeError):  # a class of the user's that holds several
            known["taken"] = json.loads(json.dumps(self.taken(model, [*inputs])([*inputs])))
        return kinds, {**known, "outputs": [*ONE] if is_array(answer) else outputs}


def is_array(answer: Any) -> bool:
    """Whether it is one array, of a type that NumPy has."""
    return hasattr(answer, "dtype") and "bfloat16" not in str(answer.dtype)


def arrays(values: Mapping[str, Any]) -> dict[str, Array]:
    """Inputs that may be tensors of a framework, as arrays."""
    return {name: _input(name, value) for name, value in values.items()}


def _input(name: str, value: Any) -> Array:
    kind = type(value).__name__
    if "bfloat16" in str(getattr(value, "dtype", "")):
        raise LenetBenchError(
            f"its input {name} is bfloat16, which NumPy lacks; take float32 and cast inside the "
            "model"
        )
    try:
        array = np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)
    except (TypeError, ValueError, RuntimeError) as error:  # a type that NumPy does not have
        raise LenetBenchError(
            f"its input {name} is of the type {kind}: {first_line(error)}"
        ) from None
    if not hasattr(value, "shape") or array.dtype.kind not in "fiub":
        raise LenetBenchError(
            f"its input {name} is of the type {kind}, and only arrays of numbers are taken"
        )
    return array
