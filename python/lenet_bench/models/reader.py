"""A model file, read in a process of its own: it may come from anybody.

The process fixes the shapes of the model's inputs, makes inputs, and answers them with ONNX's
reference evaluator.
"""

import tempfile
import zipfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache, partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import LenetBenchError, first_line
from ..networks.memory import limit_memory, require_memory
from ..process import Parent
from ..texts import printable
from .callers import MODEL

Array = NDArray[Any]
Shape = tuple[int, ...]
Sizes = Mapping[str, Shape]  # shapes that the user gave, by input
# The type and the shape of each input, and what else is known.
Read = tuple[dict[str, tuple[np.dtype[Any], Shape]], dict[str, Any]]

_COUNT = 3  # different inputs
_LONGEST_NAME = 100
_MOST_INPUTS = 500  # that a result names
_LARGEST_INPUTS = 1 << 26  # bytes that are handed to a process at once


def serve(parent: Parent) -> None:
    """Read the file that the parent names; then answer the inputs, if it asks for that."""
    limit_memory()
    read = cache(partial(read_model, **parent.hear()))
    parent.answer(read)
    parent.hear()
    parent.answer(lambda: _answers(read()))


def read_model(
    file: str, shapes: Sizes, ranges: Mapping[str, Any], data: str, suffix: str = ""
) -> dict[str, Any]:
    """What the parent is told of a model, with inputs that are made for it.

    `suffix` says what it is, where its name does not.
    """
    path = Path(file)
    size = path.stat().st_size
    read = {".onnx": _read_onnx, ".tflite": _read_tflite}[suffix or path.suffix]
    return with_inputs(partial(read, path, size), shapes, ranges, arrays_of(data))


def with_inputs(
    read: Callable[[Sizes], Read],
    shapes: Sizes,
    ranges: Mapping[str, Any],
    given: Mapping[str, Array],
) -> dict[str, Any]:
    """What is read of a model whose inputs have these shapes, with inputs that are made for it."""
    shapes = {**shapes, **{name: array.shape for name, array in given.items()}}
    kinds, known = read(shapes)
    if not kinds or not known["outputs"]:
        raise LenetBenchError("it has no inputs or no outputs")
    if len(kinds) > _MOST_INPUTS:
        raise LenetBenchError(
            f"it has {len(kinds)} inputs, and at most {_MOST_INPUTS} are measured"
        )
    for name in (*shapes, *ranges):
        if name not in kinds:
            raise LenetBenchError(f"it has no input {name}, but {', '.join(kinds)}")
    for name, limits in ranges.items():
        _check_held(name, np.array(limits), kinds[name][0])
    once = sum(prod(shape) * kind.itemsize for kind, shape in kinds.values())
    if once > _LARGEST_INPUTS:
        raise LenetBenchError(f"its inputs have {once / 1e6:.0f} MB, at most 67 are handed over")
    count = 1 if given.keys() == kinds.keys() or _COUNT * once > _LARGEST_INPUTS else _COUNT
    random = np.random.default_rng(0)
    inputs = [
        {
            name: _converted(name, given[name], kind)
            if name in given
            else _made(random, kind, shape, ranges.get(name))
            for name, (kind, shape) in kinds.items()
        }
        for _ in range(count)
    ]
    return {**known, "inputs": inputs}


def _answers(known: Mapping[str, Any]) -> list[list[Array]]:
    """The reference evaluator's."""
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(known["path"])
    runs = (evaluator.run(None, given) for given in known["inputs"])
    return [[np.asarray(output) for output in outputs] for outputs in runs]


def _read_onnx(file: Path, size: int, shapes: Sizes) -> Read:
    try:
        import onnx
        from onnx.external_data_helper import load_external_data_for_model
    except ImportError:
        raise LenetBenchError(
            "reading it needs the package onnx; fix it with: pip install 'lenet-bench[onnx]'"
        ) from None
    try:
        model, data = _without_data(file)
        load_external_data_for_model(model, str(file.parent))
    except MemoryError:
        raise LenetBenchError("it takes more memory than is free") from None
    except Exception as error:
        if missing := _missing_data(file):
            raise LenetBenchError(
                f"its weights are in {missing}, which is not beside it: put it there"
            ) from None
        raise LenetBenchError(f"it cannot be read as ONNX: {first_line(error)}") from None
    graph = model.graph
    if not graph.node or not model.opset_import:
        raise LenetBenchError("it is no ONNX model")
    constants = {value.name for value in graph.initializer}
    inputs = [value for value in graph.input if value.name not in constants]
    for value in (*inputs, *graph.output):
        _kind(value)
    opened = _fix(inputs, graph.output, shapes)
    del graph.value_info[:]  # shapes from before they were fixed
    del graph.input[:]
    graph.input.extend(inputs)
    model.ir_version = max(4, model.ir_version)  # before, each constant had to be an input too
    graph.name = MODEL
    kinds = {value.name: (_kind(value), _shape(value)) for value in inputs}
    inferred = graph
    with suppress(Exception):  # the engines say what contradicts
        inferred = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    _complete(graph.output, inferred.output)
    tensors = [*inferred.value_info, *inferred.output, *inputs]
    largest = [prod(_shape(value)) for value in tensors]
    weights = [prod(value.dims) for value in graph.initializer]
    check_memory(max(size, 4 * sum(weights)), 4 * max(largest))
    path = f"{tempfile.mkdtemp()}/model.onnx"
    Path(path).write_bytes(model.SerializeToString())
    known = {
        "path": path,
        "nudged": _nudged(model, path),
        "outputs": [value.name for value in graph.output],
        "coarse": _coarsest(graph),
        "open": opened,
        "data": data,
    }
    return kinds, known


def _nudged(model: Any, path: str) -> str:
    """A file beside it: the model with half of its weights moved by their last bit.

    "" where there is none, as of a model that is too large with its constants spelled out.
    """
    from onnx import numpy_helper

    file = Path(path).with_name("nudged.onnx")
    random = np.random.default_rng(0)
    with suppress(Exception):
        for tensor in _weights(model.graph):
            array = numpy_helper.to_array(tensor).copy()
            flipped = random.integers(0, 2, array.shape, np.uint32)
            array.view(np.uint32)[...] ^= flipped * np.isfinite(array)
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
        file.write_bytes(model.SerializeToString())
        return str(file)
    return ""


def _weights(graph: Any) -> list[Any]:
    """Its kernels and matrices in float32; those of one number are spelled out."""
    from onnx import TensorProto, helper, numpy_helper

    known = {one.name: one for one in graph.initializer}
    for node in graph.node:
        if node.op_type == "ConstantOfShape" and node.input[0] in known:
            shape = numpy_helper.to_array(known[node.input[0]])
            value = next((numpy_helper.to_array(one.t) for one in node.attribute), np.float32(0))
            filled = numpy_helper.from_array(np.full(shape, value))
            node.CopyFrom(helper.make_node("Constant", [], node.output, value=filled))
    held = [one for node in graph.node if node.op_type == "Constant" for one in node.attribute]
    tensors = [*graph.initializer, *(one.t for one in held if one.name == "value")]
    return [one for one in tensors if one.data_type == TensorProto.FLOAT and len(one.dims) > 1]


def _missing_data(file: Path) -> str | None:
    """A file of its weights that is named in it and does not exist."""
    with suppress(Exception):
        _, names = _without_data(file)
        missing = (name for name in names if not (file.parent / name).exists())
        return next((printable(name)[:_LONGEST_NAME] for name in missing), None)
    return None


def _without_data(file: Path) -> tuple[Any, list[str]]:
    """The model, and the names of the files beside it that its weights are in."""
    import onnx
    from onnx.external_data_helper import _get_all_tensors

    model = onnx.load(file, "protobuf", load_external_data=False)
    entries = (entry for tensor in _get_all_tensors(model) for entry in tensor.external_data)
    return model, sorted({entry.value for entry in entries if entry.key == "location"})


def _read_tflite(file: Path, size: int, shapes: Sizes) -> Read:
    try:
        from ai_edge_litert.interpreter import Interpreter
    except ImportError:
        raise LenetBenchError(
            "reading it needs LiteRT; fix it with: pip install 'lenet-bench[litert]'"
        ) from None
    try:
        interpreter = Interpreter(model_path=str(file))
        tensors = interpreter.get_tensor_details()
        inputs, outputs = interpreter.get_input_details(), interpreter.get_output_details()
    except (ValueError, RuntimeError) as error:  # also a name that is no text
        raise LenetBenchError(f"it cannot be read as TFLite: {first_line(error)}") from None
    largest = max((prod(map(int, tensor["shape"])) for tensor in tensors), default=0)
    check_memory(size, 4 * largest)
    kinds = {
        tensor["name"]: (
            np.dtype(tensor["dtype"]),
            agreed(tensor["name"], tensor["shape_signature"].tolist(), shapes.get(tensor["name"])),
        )
        for tensor in inputs
    }
    types = {np.dtype(tensor["dtype"]).name for tensor in tensors}
    coarse = {"int8": "int8", "uint8": "int8", "float16": "float16"}
    known = {
        "path": str(_named(file, ".tflite")),
        "nudged": "",
        "outputs": [tensor["name"] for tensor in outputs],
        "coarse": next((coarse[name] for name in coarse if name in types), ""),
        "open": {
            tensor["name"]: spelled(tensor["shape_signature"])
            for tensor in inputs
            if tensor["name"] not in shapes and min(tensor["shape_signature"], default=1) <= 0
        },
    }
    return kinds, known


def _named(file: Path, suffix: str) -> Path:
    """The file by a name that says what it is, which some engines ask for."""
    if file.suffix == suffix:
        return file
    named = Path(tempfile.mkdtemp()) / f"model{suffix}"
    named.symlink_to(file.resolve())
    return named


def _coarsest(graph: Any) -> str:
    """The coarsest type that it computes in, unless that is float32 or finer."""
    if any("Quant" in node.op_type or "Integer" in node.op_type for node in graph.node):
        return "int8"
    ends = (value.type.tensor_type.elem_type for value in (*graph.input, *graph.output))
    halves = {10, 16}  # float16 and bfloat16
    if halves & {*ends, *(tensor.data_type for tensor in graph.initializer)}:
        return "float16"
    return ""


def _fix(inputs: list[Any], outputs: Any, shapes: Sizes) -> dict[str, str]:
    """Give every dimension of the inputs a size; one of the same name has the same size.

    Returns the shapes of the inputs of which a size was neither known nor given: 1 was used.
    """
    given = _given_sizes(inputs, shapes)
    opened: dict[str, str] = {}
    for value in inputs:
        sides = [given.get(side.dim_param, side.dim_value) for side in _sides(value)]
        if value.name not in shapes and min(sides, default=1) <= 0:
            opened[value.name] = spelled(sides)
    named = {side.dim_param for value in inputs for side in _sides(value)} - {""}
    sizes = {**dict.fromkeys(named, 1), **given}
    for value in (*inputs, *outputs):
        for side in _sides(value):
            if side.dim_param in sizes:
                side.dim_value = sizes[side.dim_param]
    fixed = {value.name: shapes.get(value.name, _shape(value)) for value in inputs}
    for value in (*inputs, *outputs):
        _set_shape(value, fixed.get(value.name, ()))
    return opened


def _given_sizes(inputs: list[Any], shapes: Sizes) -> dict[str, int]:
    """The sizes of named dimensions in the shapes that the user gave, where these fit."""
    sizes: dict[str, int] = {}
    for value in inputs:
        name, given = value.name, shapes.get(value.name)
        if value.type.tensor_type.HasField("shape"):
            sides = _sides(value)
            dims = [side.dim_value if side.HasField("dim_value") else -1 for side in sides]
            agreed(name, dims, given)
            pairs = zip(sides, given or (), strict=False)
            sizes |= {side.dim_param: size for side, size in pairs if side.dim_param}
        elif given is None:
            raise LenetBenchError(f"{name} has no shape; give one: --shape {name}=1x3x8x8")
    return sizes


def _set_shape(value: Any, shape: Shape) -> None:
    """Set these sizes of a tensor, which may have no shape yet."""
    sides = _sides(value)
    for number, size in enumerate(shape):
        side = sides[number] if number < len(sides) else sides.add()
        side.dim_value = size


def _sides(value: Any) -> Any:
    return value.type.tensor_type.shape.dim


def spelled(sides: Iterable[int]) -> str:
    """A shape as it is in a file."""
    return "x".join(str(side) if side > 0 else "?" for side in sides) or "a scalar"


def _complete(outputs: Any, inferred: Any) -> None:
    """Give an output without a shape the inferred one: some engines need it."""
    for output, known in zip(outputs, inferred, strict=True):
        end, shape = output.type.tensor_type, known.type.tensor_type.shape
        is_known = known.type.tensor_type.HasField("shape")
        if is_known and not end.HasField("shape") and all(s.dim_value > 0 for s in shape.dim):
            end.shape.CopyFrom(shape)


def agreed(name: str, dims: list[int], given: Shape | None) -> Shape:
    """The shape that was given, where the model's has it; else those without a size, -1, are 1."""
    if given is None:
        if 0 in dims:
            raise LenetBenchError(
                f"{name} has a size of 0, and no number goes in; give others: --shape {name}=SIZES"
            )
        return tuple(side if side > 0 else 1 for side in dims)
    fits = len(given) == len(dims) and all(
        a in (b, 0, -1) for a, b in zip(dims, given, strict=True)
    )
    if not fits:
        raise LenetBenchError(
            f"{name} is {spelled(dims)} in it, not {'x'.join(map(str, given)) or 'a scalar'}"
        )
    return given


def _shape(value: Any) -> Shape:
    return tuple(max(1, side.dim_value) for side in _sides(value))


def _kind(value: Any) -> "np.dtype[Any]":
    from onnx import TensorProto, helper

    if not value.type.HasField("tensor_type"):
        raise LenetBenchError(f"{value.name} is no tensor, and only tensors are measured")
    number = value.type.tensor_type.elem_type
    try:
        kind = np.dtype(helper.tensor_dtype_to_np_dtype(number))
    except (KeyError, TypeError):
        raise LenetBenchError(f"{value.name} is of a type that ONNX has not: {number}") from None
    if kind.kind not in "fiub":
        named = "strings" if number == TensorProto.STRING else kind.name
        raise LenetBenchError(f"{value.name} is of {named}, and only numbers are measured")
    return kind


def _made(random: np.random.Generator, kind: "np.dtype[Any]", shape: Shape, limits: Any) -> Array:
    """Normal floats, all of a byte, or 0 and 1; or numbers within the limits, these included."""
    if kind.kind == "f":
        made = (
            random.uniform(limits[0], limits[1], shape) if limits else random.standard_normal(shape)
        )
        return np.asarray(made, kind)
    if not limits:
        whole = np.iinfo(kind) if kind.itemsize == 1 and kind.kind != "b" else None
        limits = (whole.min, whole.max) if whole else (0, 1)
    low, high = (int(limit) for limit in limits)
    return np.asarray(random.integers(low, high, size=shape, endpoint=True)).astype(kind)


def arrays_of(name: str) -> dict[str, Array]:
    """The arrays of an .npz file, unpacked only if they are not too large; none without a file."""
    if not name:
        return {}
    path = Path(name)
    try:
        with zipfile.ZipFile(path) as file:
            total = sum(map(partial(_bytes_of, file), file.namelist()))
        if total > _LARGEST_INPUTS:
            raise LenetBenchError(
                f"{path.name} has arrays of {total / 1e6:.0f} MB, at most 67 are handed over"
            )
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except LenetBenchError:
        raise
    except OSError as error:
        raise LenetBenchError(f"{path.name} cannot be read: {error.strerror or error}") from None
    except Exception as error:
        raise LenetBenchError(f"{path.name} is no .npz file: {first_line(error)}") from None


def _bytes_of(file: zipfile.ZipFile, name: str) -> int:
    """The size of an array, from its header."""
    formats = np.lib.format
    with file.open(name) as stream:
        version = formats.read_magic(stream)
        first = formats.read_array_header_1_0
        shape, _, kind = (first if version == (1, 0) else formats.read_array_header_2_0)(stream)
    if kind.hasobject:
        raise LenetBenchError(f"{name.removesuffix('.npy')} holds Python's objects, not numbers")
    return prod(map(abs, shape)) * int(kind.itemsize)


def _converted(name: str, array: Array, kind: "np.dtype[Any]") -> Array:
    if not np.can_cast(array.dtype, kind, "same_kind"):
        raise LenetBenchError(f"{name} is {array.dtype} in the file and {kind} in the model")
    _check_held(name, array, kind)
    return np.ascontiguousarray(array, kind).reshape(array.shape)


def _check_held(name: str, array: Array, kind: "np.dtype[Any]") -> None:
    """Raise LenetBenchError where numbers of this type would be others, beyond their rounding."""
    with np.errstate(invalid="ignore", over="ignore"):
        held = array.astype(kind)
    lost = array[np.isinf(held) > np.isinf(array) if kind.kind == "f" else held != array]
    if lost.size:
        number = str(lost.flat[0]).removesuffix(".0")
        raise LenetBenchError(f"{name} is {kind} in the model, which does not hold {number}")


def check_memory(weights: int, largest: int) -> None:
    """Raise LenetBenchError where a process with the model does not fit the free memory."""
    require_memory(
        f"its weights have {weights / 2**30:.1f} GiB and its largest tensor "
        f"{largest / 2**30:.1f}, so a process",
        weights,
        largest,
    )
