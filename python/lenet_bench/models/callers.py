"""Any model file on the engines that read it: a function for each variant of a backend.

The backends' own functions take images. These take the model's inputs by name, as one dictionary,
and give its outputs in order. Sessions and converters are those of the backend's file where it has
a function for them.
"""

import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Inputs = Mapping[str, Array]
Call = Callable[[Inputs], Sequence[Array]]

_ARENA = 16 << 20  # bytes at least; TFLite Micro's own default is 10 times the model
_IREE_OPSET = 17  # its importer brings an older model to it, where the compiler needs that
MODEL = "lenet_bench"  # the name of each ONNX graph: IREE names its function so


@dataclass(frozen=True)
class Model:
    """A file in which all shapes are fixed, inputs as it takes them, its outputs in order."""

    path: Path
    own: Path  # the file as it was given
    inputs: Inputs
    outputs: tuple[str, ...]
    places: tuple[int, ...] = ()  # of the outputs that are asked for, where the order is another
    weights: Path | None = None  # where a second file has them

    @property
    def content(self) -> bytes:
        return self.path.read_bytes()


def onnxruntime(model: Model, threads: int, device: str, *, level: str = "ORT_ENABLE_ALL") -> Call:
    session = _session(model, threads, device, level)
    names = list(model.outputs)
    return lambda inputs: session.run(names, inputs)


def _session(model: Model, threads: int, device: str, level: str = "ORT_ENABLE_ALL") -> Any:
    """Of the file as it was given, where fixed shapes contradict a branch that does not run."""
    from ..backends.onnxruntime import load

    try:
        return load(model.content, threads, device, images=None, level=level)
    except Exception:
        return load(model.own.read_bytes(), threads, device, images=None, level=level)


def onnxruntime_extended(model: Model, threads: int, device: str) -> Call:
    return onnxruntime(model, threads, device, level="ORT_ENABLE_EXTENDED")


def onnxruntime_iobinding(model: Model, threads: int, device: str) -> Call:
    from ..backends.onnxruntime import ort

    session = _session(model, threads, device)
    binding = session.io_binding()
    given = {
        name: ort.OrtValue.ortvalue_from_numpy(array, device)
        for name, array in model.inputs.items()
    }
    for name, value in given.items():
        binding.bind_ortvalue_input(name, value)
    names = list(dict.fromkeys(model.outputs))  # a file may list one twice
    for name in names:
        binding.bind_output(name, device)
    session.run_with_iobinding(binding)
    found = dict(zip(names, binding.get_outputs(), strict=True))
    sizes = {end.name: end.shape for end in session.get_outputs()}
    # Memory has one size: an output whose size the data may decide is bound by its name, each time.
    free = [name for name, value in found.items() if value.shape() != sizes[name]]
    for name in found.keys() - free:
        binding.bind_ortvalue_output(name, found[name])

    def call(inputs: Inputs) -> list[Array]:
        for name, array in inputs.items():
            given[name].update_inplace(array)
        for name in free:
            binding.bind_output(name, device)
        session.run_with_iobinding(binding)
        if free:
            found.update(zip(names, binding.get_outputs(), strict=True))
        return [np.array(found[name].numpy()) for name in model.outputs]

    return call


def _openvino(model: Model, threads: int) -> Any:
    from ..backends.openvino import load

    shapes = dict(enumerate(array.shape for array in model.inputs.values()))
    with tempfile.TemporaryDirectory() as folder:
        file = model.path
        if model.weights:  # which it finds by the file's name
            file = Path(folder) / "model.xml"
            file.symlink_to(model.path)
            file.with_suffix(".bin").symlink_to(model.weights)
        return load(str(file), threads, shapes).create_infer_request()


def openvino(model: Model, threads: int) -> Call:
    request = _openvino(model, threads)
    return lambda inputs: request.infer(list(inputs.values()), share_inputs=True).to_tuple()


def openvino_tensors(model: Model, threads: int) -> Call:
    request = _openvino(model, threads)
    given = [request.get_input_tensor(number).data for number in range(len(model.inputs))]
    outputs = [request.get_output_tensor(number) for number in range(len(model.outputs))]

    def call(inputs: Inputs) -> list[Array]:
        for data, array in zip(given, inputs.values(), strict=True):
            np.copyto(data, array)
        request.infer()
        return [output.data.copy() for output in outputs]

    return call


def opencv(model: Model, threads: int) -> Call:
    import cv2

    cv2.setNumThreads(threads)
    net = cv2.dnn.readNetFromONNX(np.frombuffer(model.content, np.uint8))
    names = list(model.outputs)

    def call(inputs: Inputs) -> Sequence[Array]:
        for name, array in inputs.items():
            net.setInput(array, name)
        outputs: Sequence[Array] = net.forward(names)
        return outputs

    return call


def _mnn_file(model: Path, folder: str) -> str:
    """The model as MNN reads it. Its converter prints that it failed, and ends as if it had not."""
    from ..backends.mnn import CONVERT

    made = Path(folder) / "model.mnn"
    command = [*CONVERT, "--modelFile", str(model), "--MNNModel", str(made)]
    done = subprocess.run(command, check=True, capture_output=True, cwd=folder)
    if not made.exists():
        lines = done.stdout.decode(errors="replace").strip().splitlines()
        raise RuntimeError(", ".join(map(str.strip, lines[-2:])))
    return str(made)


def mnn(model: Model, threads: int, *, winograd: bool = True) -> Call:
    from ..backends.mnn import MNN, WINOGRAD_MEMORY_LEVEL, config

    with tempfile.TemporaryDirectory() as folder:
        interpreter = MNN.Interpreter(_mnn_file(model.path, folder))
    if not winograd:
        interpreter.setSessionHint(WINOGRAD_MEMORY_LEVEL, 0)
    session = interpreter.createSession(config(threads))
    layout = MNN.Tensor_DimensionType_Caffe
    kinds = {
        MNN.Halide_Type_Float: np.float32,
        MNN.Halide_Type_Int: np.int32,
        MNN.Halide_Type_Uint8: np.uint8,
    }
    given = {}
    for name, array in model.inputs.items():
        tensor = interpreter.getSessionInput(session, name)
        kind = tensor.getDataType()
        given[name] = tensor, array.shape, kind, _taken(name, array, kinds.get(kind))
    for tensor, shape, *_ in given.values():
        interpreter.resizeTensor(tensor, shape)
    interpreter.resizeSession(session)
    outputs = [interpreter.getSessionOutput(session, name) for name in model.outputs]

    def call(inputs: Inputs) -> list[Array]:
        for name, array in inputs.items():
            tensor, shape, kind, taken = given[name]
            tensor.copyFrom(MNN.Tensor(shape, kind, array.astype(taken, copy=False), layout))
        if code := interpreter.runSession(session):
            raise RuntimeError(f"runSession ended with error {code}")
        return [_mnn_array(MNN, tensor) for tensor in outputs]

    return call


def _mnn_array(library: Any, tensor: Any) -> Array:
    """The tensor in the order that arrays have."""
    shape, kind = tensor.getShape(), tensor.getDataType()
    host = library.Tensor(shape, kind, library.Tensor_DimensionType_Caffe)
    tensor.copyToHostTensor(host)
    array: Array = host.getNumpyData().copy()
    return array


def _taken(name: str, array: Array, kind: Any) -> Any:
    """The type in which an engine takes an input, where that holds the model's numbers."""
    if kind is None:
        raise TypeError(f"it takes {name} in a type that its Python lacks")
    if array.dtype.kind in "iu" and not np.array_equal(array, array.astype(kind)):
        raise TypeError(f"it takes {name} as {np.dtype(kind)}, which does not hold its numbers")
    return kind


def mnn_direct(model: Model, threads: int) -> Call:
    return mnn(model, threads, winograd=False)


def mnn_module(model: Model, threads: int) -> Call:
    from ..backends.mnn import config, expr, nn

    runtime = nn.create_runtime_manager((config(threads),))
    names = list(model.inputs), list(model.outputs)
    with tempfile.TemporaryDirectory() as folder:
        file = _mnn_file(model.path, folder)
        module = nn.load_module_from_file(file, *names, runtime_manager=runtime)
    kinds = {expr.float: np.float32, expr.int: np.int32, expr.uint8: np.uint8}
    wanted = [one.dtype for one in module.get_info()["inputs"]]
    pairs = zip(model.inputs.items(), wanted, strict=True)
    taken = [_taken(*one, kinds.get(kind)) for one, kind in pairs]

    def call(inputs: Inputs) -> list[Array]:
        given = [
            expr.const(array.astype(numpy_kind, copy=False), array.shape, expr.NCHW, kind)
            for array, numpy_kind, kind in zip(inputs.values(), taken, wanted, strict=True)
        ]
        return [output.read().copy() for output in module.onForward(given)]

    return call


def tract(model: Model) -> Call:
    from ..backends.tract import tract as library

    read = library.onnx().load(model.path)
    names = [read.input_name(number) for number in range(read.input_count())]
    runnable = read.into_model().into_runnable()
    return lambda inputs: [
        output.to_numpy() for output in runnable.run([inputs[name] for name in names])
    ]


def tvm(model: Model) -> Call:
    from ..backends import tvm as file

    machine = file.load(file.from_onnx(file.onnx.load_from_string(model.content)))
    main, tensor = machine["main"], file.tvm.runtime.tensor
    single = len(model.outputs) == 1

    def call(inputs: Inputs) -> list[Array]:
        found = main(*map(tensor, inputs.values()))
        return [output.numpy() for output in ([found] if single else found)]

    return call


def _float64_of(read: Any) -> list[str]:
    """IREE reads float64 as float32 unless told otherwise, and then refuses some of float32."""
    import onnx

    ends = [one.type.tensor_type.elem_type for one in (*read.graph.input, *read.graph.output)]
    kinds = {*ends, *(one.data_type for one in read.graph.initializer)}
    is_needed = onnx.TensorProto.DOUBLE in kinds
    return ["--iree-input-demote-f64-to-f32=false"] if is_needed else []


def iree(model: Model, threads: int) -> Call:
    from ..backends import iree as file

    read = file.onnx.load(model.path)
    with tempfile.TemporaryDirectory() as folder:
        imported, newer = Path(folder) / "model.mlir", Path(folder) / "newer.onnx"
        options = _float64_of(read)
        try:
            main = file.load(model.path, imported, threads, *options)[MODEL]
        except Exception:
            if all(one.domain or one.version >= _IREE_OPSET for one in read.opset_import):
                raise
            file.onnx.save(file.onnx.version_converter.convert_version(read, _IREE_OPSET), newer)
            main = file.load(newer, imported, threads, *options)[MODEL]
    single = len(model.outputs) == 1
    ends = read.graph.output
    # Its integers have no sign: those of uint8 come as int8.
    kinds = [
        file.onnx.helper.tensor_dtype_to_np_dtype(end.type.tensor_type.elem_type) for end in ends
    ]

    def call(inputs: Inputs) -> list[Array]:
        found = main(*inputs.values())
        outputs = zip([found] if single else found, kinds, strict=True)
        return [np.array(output.to_host()).view(kind) for output, kind in outputs]

    return call


def litert(model: Model, threads: int) -> Call:
    from ..backends.litert import Interpreter

    interpreter = Interpreter(model_content=model.content, num_threads=threads)
    inputs = {one["name"]: one["index"] for one in interpreter.get_input_details()}
    outputs = [one["index"] for one in interpreter.get_output_details()]
    for name, array in model.inputs.items():
        interpreter.resize_tensor_input(inputs[name], array.shape)
    interpreter.allocate_tensors()

    def call(given: Inputs) -> list[Array]:
        for name, array in given.items():
            interpreter.set_tensor(inputs[name], array)
        interpreter.invoke()
        return [interpreter.get_tensor(index) for index in outputs]

    return call


def litert_compiled(model: Model, threads: int) -> Call:
    from ..backends.litert import CompiledModel, CpuOptions, Options

    options = Options(cpu_options=CpuOptions(num_threads=threads))
    compiled = CompiledModel.from_buffer(model.content, options=options)
    signature = compiled.get_signature_by_index(0)
    details = compiled.get_input_tensor_details(signature["key"])
    tensors = {details[name]["name"]: name for name in signature["inputs"]}
    for name, array in model.inputs.items():
        if array.shape:  # a scalar has none to set
            compiled.resize_input_tensor_by_name(signature["key"], tensors[name], array.shape)
    details = compiled.get_output_tensor_details(signature["key"])
    ends = {details[name]["name"]: details[name] for name in signature["outputs"]}
    given, found = compiled.create_input_buffers(0), compiled.create_output_buffers(0)
    buffers = dict(zip(tensors, given, strict=True))
    outputs = dict(zip(ends, found, strict=True))
    shapes = [
        (outputs[name], tuple(ends[name]["shape"]), ends[name]["dtype"]) for name in model.outputs
    ]

    def call(inputs: Inputs) -> list[Array]:
        for name, array in inputs.items():
            buffers[name].write(array)
        compiled.run_by_index(0, given, found)
        return [
            buffer.read(int(np.prod(shape)), kind).reshape(shape) for buffer, shape, kind in shapes
        ]

    return call


def tflite_micro(model: Model) -> Call:
    from ..backends.tflite_micro import runtime

    arena = max(_ARENA, 10 * model.path.stat().st_size)
    interpreter = runtime.Interpreter.from_bytes(model.content, arena_size=arena)

    def call(inputs: Inputs) -> list[Array]:
        for number, array in enumerate(inputs.values()):
            interpreter.set_input(array, number)
        interpreter.invoke()
        return [interpreter.get_output(number) for number in range(len(model.outputs))]

    return call


def executorch(model: Model, threads: int) -> Call:
    import torch

    from ..backends.executorch import Runtime, _unsafe_reset_threadpool

    _unsafe_reset_threadpool(threads)
    program = Runtime.get().load_program(model.path)
    method = program.load_method("forward")
    method.program = program  # as in the backend's file

    def call(inputs: Inputs) -> list[Array]:
        outputs = method.execute([torch.from_numpy(array) for array in inputs.values()])
        return [output.numpy() for output in outputs]

    return call


GIVEN = (".onnx", ".tflite")  # what --model takes; the others are converted from a framework's
#: By the file's suffix: the function of each backend and variant that reads such a file. Engines
#: that take little disk come first; with TFLite Micro alone nothing here reads the file's inputs.
#: For an engine in two of them a framework's model is converted to the first.
CALLERS: dict[str, dict[str, Callable[..., Call]]] = {
    ".xml": {"openvino": openvino, "openvino:tensors": openvino_tensors},
    ".pte": {"executorch": executorch},
    ".onnx": {
        "tract": tract,
        "mnn": mnn,
        "mnn:module": mnn_module,
        "mnn:direct": mnn_direct,
        "onnxruntime": onnxruntime,
        "onnxruntime:iobinding": onnxruntime_iobinding,
        "onnxruntime:extended": onnxruntime_extended,
        "opencv": opencv,
        "openvino": openvino,
        "openvino:tensors": openvino_tensors,
        "tvm": tvm,
        "iree": iree,
    },
    ".tflite": {
        "litert": litert,
        "litert:compiled": litert_compiled,
        "tflite-micro": tflite_micro,
        "openvino": openvino,
        "openvino:tensors": openvino_tensors,
    },
}
