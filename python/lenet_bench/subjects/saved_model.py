"""A SavedModel of TensorFlow's: a folder."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..errors import LenetBenchError, Unsupported, first_line
from ..models.reader import Read, Sizes, agreed, check_memory, spelled
from ..registry import Network, find
from ..weights import Weights
from .framework_model import Array, FrameworkModel, Inputs, Placing, as_list, to_openvino
from .model import sha256_of_all

_SERVING = "serving_default"


@dataclass(frozen=True)
class SavedModel(FrameworkModel):
    """A SavedModel, whose signature TensorFlow's calls run in the place of LeNet's module."""

    framework: ClassVar[str] = "TensorFlow"
    modules: ClassVar[tuple[str, ...]] = ("tensorflow",)
    read_by: ClassVar[tuple[str, ...]] = ("tensorflow",)
    packages: ClassVar[tuple[str, ...]] = ("tensorflow", "tensorflow-cpu", "tf2onnx")

    kind: ClassVar[str] = "SavedModel"
    format: ClassVar[str] = "tensorflow"

    def checksum(self) -> str:
        files = sorted(path for path in self.path.rglob("*") if path.is_file())
        return sha256_of_all(self.path, (str(path.relative_to(self.path)) for path in files))

    def load(self) -> Any:
        """Its signature."""
        import tensorflow as tf

        try:
            loaded = tf.saved_model.load(self.file)
        except Exception as error:
            raise LenetBenchError(f"TensorFlow cannot load it: {first_line(error)}") from None
        signatures = loaded.signatures
        if _SERVING not in signatures and len(signatures) != 1:
            raise LenetBenchError(
                f"it has no signature {_SERVING}, but {', '.join(signatures) or 'none'}"
            )
        name = _SERVING if _SERVING in signatures else next(iter(signatures))
        signature = signatures[name]
        signature.own_name = name
        signature.holds = loaded  # or its variables are deleted
        return signature

    def read(self, model: Any, shapes: Sizes) -> Read:
        _, specs = model.structured_input_signature
        kinds, opened = {}, {}
        for name, spec in sorted(specs.items()):  # as in the graph; the signature has no order
            if spec.shape.rank is None and name not in shapes:
                raise LenetBenchError(f"{name} has no shape; give one: --shape {name}=1x3x8x8")
            sides = None
            if spec.shape.rank is not None:
                sides = [-1 if side is None else side for side in spec.shape]
            shape = shapes[name] if sides is None else agreed(name, sides, shapes.get(name))
            kinds[name] = np.dtype(spec.dtype.as_numpy_dtype), shape
            if sides and name not in shapes and -1 in sides[1:]:
                opened[name] = spelled(sides)
        parameters = sum(int(one.shape.num_elements()) for one in model.variables)
        check_memory(4 * parameters, 0)
        known = {
            "outputs": sorted(model.structured_outputs),
            "signature": model.own_name,
            "coarse": "",
            "open": opened,
            "parameters": parameters,
        }
        return kinds, known

    def exact(self, model: Any, inputs: Inputs, *, double: bool) -> list[Array]:
        import tensorflow as tf

        if double:
            raise Unsupported("a graph has its types")
        given = {name: tf.constant(array) for name, array in inputs.items()}
        return [one.numpy() for one in _in_order(model(**given))]

    def convert(self, model: Any, inputs: Inputs, target: Path) -> None:
        if target.suffix == ".xml":
            to_openvino(self.file, inputs, target)
            return
        import tensorflow as tf

        specs = [tf.TensorSpec(array.shape, array.dtype, name) for name, array in inputs.items()]
        whole = tf.function(
            lambda *given: _in_order(model(**dict(zip(inputs, given, strict=True))))
        )
        if target.suffix == ".onnx":
            import tf2onnx

            tf2onnx.convert.from_function(whole, specs, output_path=str(target))
            return
        graph = whole.get_concrete_function(*specs)
        converter = tf.lite.TFLiteConverter.from_concrete_functions([graph], model)
        target.write_bytes(converter.convert())

    def build(self, name: str, threads: int, weights: Weights, first: Any) -> Network:
        if find(name)[1] == "session" and (len(first) > 1 or len(self.outputs) > 1):
            raise Unsupported(f"{name} is asked of a model with one input and one output")
        return super().build(name, threads, weights, first)

    def in_place(self, placing: Placing) -> dict[str, Any]:
        import tensorflow as tf

        variant, first, load = placing
        frozen = _frozen(load()) if variant == "session" else None
        single = len(first) == 1 and len(self.outputs) == 1
        specs = {name: tf.TensorSpec(array.shape, array.dtype) for name, array in first.items()}

        def placed(weights: Weights, threads: int) -> Any:  # noqa: ARG001
            if frozen is None:  # else the session has settings of its own
                tf.config.threading.set_intra_op_parallelism_threads(threads)
                tf.config.threading.set_inter_op_parallelism_threads(1)
            signature = frozen or load()

            def module(given: Any) -> Any:
                whole = given if len(first) > 1 else dict.fromkeys(first, given)
                outputs = _in_order(signature(**whole))
                return outputs[0] if single else outputs

            called: Any = module
            called.signature = signature
            return called

        names: dict[str, Any] = {"load": placed, "given": lambda _: specs}
        if single:
            return names | {"given": lambda _: next(iter(specs.values()))}

        def on_arrays(model: Callable[[Any], Any]) -> Callable[[Any], list[Array]]:
            def infer(given: Any) -> list[Array]:
                tensors = tf.nest.map_structure(tf.constant, given[0])
                return [one.numpy() for one in as_list(model(tensors))]

            return infer

        return names | {"on_arrays": on_arrays}


def _in_order(outputs: Mapping[str, Any]) -> list[Any]:
    return [outputs[name] for name in sorted(outputs)]


def _frozen(signature: Any) -> Callable[..., dict[str, Any]]:
    """The signature for the graph of a session, its variables made constants."""
    import tensorflow as tf
    from tensorflow.python.framework import convert_to_constants

    frozen = convert_to_constants.convert_variables_to_constants_v2(signature)

    def imported(**inputs: Any) -> dict[str, Any]:
        given = zip(frozen.inputs, inputs.values(), strict=True)
        names = [output.name for output in frozen.outputs]
        found = tf.graph_util.import_graph_def(
            frozen.graph.as_graph_def(), {one.name: value for one, value in given}, names
        )
        return dict(zip(names, found, strict=True))

    return imported
