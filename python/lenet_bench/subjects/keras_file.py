"""A model that Keras saved: .keras or .h5."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..errors import LenetBenchError, first_line
from ..models.reader import Read, Sizes, agreed, check_memory, spelled
from .framework_model import (
    Array,
    FrameworkModel,
    Inputs,
    Placing,
    as_list,
    in_float64,
    to_openvino,
)


@dataclass(frozen=True)
class KerasFile(FrameworkModel):
    """A Keras file, on Keras' calls on each framework below."""

    framework: ClassVar[str] = "Keras"
    modules: ClassVar[tuple[str, ...]] = ("keras",)
    read_by: ClassVar[tuple[str, ...]] = ("keras", "keras-torch", "keras-jax", "keras-openvino")
    packages: ClassVar[tuple[str, ...]] = (
        "keras",
        "tensorflow",
        "tensorflow-cpu",
        "torch",
        "tf2onnx",
    )

    kind: ClassVar[str] = "Keras file"
    format: ClassVar[str] = "keras"

    def load(self) -> Any:
        import keras

        try:
            return keras.models.load_model(self.file, compile=False)
        except Exception as error:
            raise LenetBenchError(_refusal(error)) from None

    def read(self, model: Any, shapes: Sizes) -> Read:
        import keras

        kinds, opened, tensors = {}, {}, inputs_of(model)
        for name, tensor in zip(names_of(tensors), tensors, strict=True):
            sides = [-1 if side is None else side for side in tensor.shape]
            kinds[name] = np.dtype(tensor.dtype), agreed(name, sides, shapes.get(name))
            if name not in shapes and -1 in sides[1:]:
                opened[name] = spelled(sides)
        check_memory(4 * model.count_params(), 0)
        known = {
            "outputs": [one.name for one in model.outputs],
            "coarse": "float16" if "float16" in str(model.dtype_policy) else "",
            "open": opened,
            "below": keras.config.backend(),
            "parameters": model.count_params(),
        }
        return kinds, known

    def exact(self, model: Any, inputs: Inputs, *, double: bool) -> list[Array]:
        import keras

        if double:
            keras.config.set_floatx("float64")
            keras.config.set_dtype_policy("float64")  # of layers that a class of the user's makes
            wide = type(model).from_config(_in_float64(model.get_config()))
            wide.set_weights(model.get_weights())
            model, inputs = wide, in_float64(inputs)
        given = inputs if len(inputs) > 1 else next(iter(inputs.values()))
        outputs = as_list(model(given, training=False))
        return [np.asarray(keras.ops.convert_to_numpy(one)) for one in outputs]

    def convert(self, model: Any, inputs: Inputs, target: Path) -> None:
        import keras

        if target.suffix == ".xml" and keras.config.backend() != "torch":
            import tensorflow  # noqa: F401 - whose graphs OpenVINO reads

            whole = keras.Model(model.inputs, model.outputs)  # it takes no Sequential
            to_openvino(whole, inputs, target)
            return
        specs = {
            name: keras.InputSpec(dtype=array.dtype.name, shape=array.shape, name=name)
            for name, array in inputs.items()
        }
        signature = [specs] if len(specs) > 1 else list(specs.values())
        kind = {".onnx": "onnx", ".tflite": "litert", ".xml": "openvino"}[target.suffix]
        model.export(str(target), format=kind, input_signature=signature, verbose=False)

    def in_place(self, placing: Placing) -> dict[str, Any]:
        """The functions from arrays to arrays only where it has several inputs or outputs."""
        lenet = {"lenet": lambda _: placing.load()}
        if len(placing.first) == len(self.outputs) == 1:
            return lenet

        def on_arrays(model: Any) -> Callable[[Any], Any]:
            import keras

            array = keras.ops.convert_to_numpy

            def infer(given: Any) -> list[Any]:
                return [*map(array, as_list(model(given[0])))]

            if keras.config.backend() != "torch":
                return infer
            import torch

            without: Callable[[Any], Any] = torch.no_grad()(infer)
            return without

        def through_tensors(program: Any) -> Callable[[Any], Any]:
            import keras
            import tensorflow as tf

            def infer(given: Any) -> list[Any]:
                tensors = keras.tree.map_structure(tf.constant, given[0])
                return [one.numpy() for one in as_list(program(tensors))]

            return infer

        return {**lenet, "on_arrays": on_arrays, "through_tensors": through_tensors}


def inputs_of(model: Any) -> Sequence[Any]:
    """Raise LenetBenchError where it is no Functional or Sequential model, and so has none."""
    if not getattr(model, "inputs", None):
        raise LenetBenchError(
            "its class does not say which inputs it takes; in a model.py return "
            "keras.Model(x, model(x)) with x = keras.Input(...)"
        )
    inputs: Sequence[Any] = model.inputs
    return inputs


def names_of(inputs: Sequence[Any]) -> list[str]:
    """The names that Keras' own conversions have; those of tensors, where it takes several."""
    if len(inputs) > 1:
        return [one.name for one in inputs]
    return [one._keras_history.operation.name for one in inputs]


def _in_float64(config: Any) -> Any:
    """The configuration of a model, its float32 made float64."""
    if isinstance(config, Mapping):
        return {name: _in_float64(one) for name, one in config.items()}
    if isinstance(config, (list, tuple)):
        return type(config)(map(_in_float64, config))
    return "float64" if config == "float32" else config


def _refusal(error: Exception) -> str:
    """Keras' sentence, and what to do."""
    said = str(error)
    if unknown := re.search(r"Could not locate (?:class|function) '([^']+)'", said):
        return (
            f"it has the class {unknown[1]}, which Keras does not know; give it in a model.py "
            "whose get_model() returns the model: --model model.py"
        )
    if "safe_mode" in said or "Lambda" in said:
        return f"Keras does not load it: {first_line(error)}"
    return "it is no file that Keras can load" if "not found" in said else first_line(error)
