"""A model of the user's in a framework: on that framework's calls, and converted for engines.

The framework reads it in a process of its own, and gives the right answers there, in float64 where
it can. Each conversion is a process, too; what it makes is kept in the user's cache.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cache
from inspect import getfile
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, perf_counter
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..cache import find as kept
from ..cache import keep, prune
from ..errors import LenetBenchError, Unavailable, Unsupported, first_line
from ..installed import installed_version
from ..models.callers import CALLERS, MODEL, Model
from ..models.reader import Read, Sizes, arrays_of, with_inputs
from ..networks.memory import limit_memory
from ..process import Child, Died, Parent
from ..registry import (
    FLOAT32,
    Backend,
    Device,
    Network,
    check_needs,
    find,
    is_installed,
    why_absent,
    without_version,
)
from ..registry.adapter import Adapter
from ..registry.backend import ON_GPU
from ..registry.building import build
from ..registry.environments import interpreter, variables
from ..registry.environments import of as environment_of
from ..registry.rows import BACKENDS
from ..units import counted
from ..weights import Weights
from .arbiter import Answers, distance, from_nearest
from .model import ALLOWED, READ_S, OwnModel, place, sha256_of, unsupported
from .network import file_with
from .subject import Known, Prepared, Run, received, sent

Array = NDArray[Any]
Inputs = Mapping[str, Array]

_CONVERT_S = 300.0
_MOST_KEPT = 4 << 30  # bytes of converted models in the cache
_ROUNDED = 10  # times float32's own error may a backend be off
_CALLED = {".xml": "OpenVINO's form", ".pte": "ExecuTorch", ".onnx": "ONNX", ".tflite": "TFLite"}
_FILES = {".xml": (".xml", ".bin")}  # what a conversion writes, where that is not one file
_CONVERTED_BY = {".pte": ("executorch",)}  # where it is not by the process that reads the model


class Placing(NamedTuple):
    """What takes LeNet's place in a variant: what is loaded, and an input of it."""

    variant: str
    first: Inputs
    load: Callable[[], Any]


@dataclass(frozen=True)
class FrameworkModel(OwnModel):
    """A model that one framework reads. What it does with it, each format says in its own file."""

    #: Its form for each kind of engine: files, inputs, outputs and places, or why there is none.
    converted: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    framework: ClassVar[str]  # its name in sentences
    modules: ClassVar[tuple[str, ...]]  # the files in backends/ whose functions call it
    read_by: ClassVar[tuple[str, ...]]  # backends whose framework reads and converts it
    lacks: ClassVar[tuple[str, ...]] = ()
    is_block: ClassVar[bool] = True
    packages: ClassVar[tuple[str, ...]]  # whose versions decide what a conversion makes
    formats: ClassVar[tuple[str, ...]] = (".xml", ".onnx", ".tflite")

    # In a process that has the framework:

    def load(self) -> Any:
        """The model."""
        raise NotImplementedError

    def names(self, model: Any, count: int) -> list[str]:
        """Of so many first inputs."""
        raise NotImplementedError

    def examples(self, model: Any) -> Inputs:  # noqa: ARG002
        """Inputs that it comes with."""
        return {}

    def given(self, model: Any) -> Inputs:
        """Inputs that are not made: real ones, and its own of which no other shape is asked."""
        asked = {*self.shapes, *self.ranges}
        own = {name: one for name, one in self.examples(model).items() if name not in asked}
        return {**own, **arrays_of(self.data)}

    def read(self, model: Any, shapes: Sizes) -> Read:
        """Its inputs, and what else is known of it."""
        raise NotImplementedError

    def exact(self, model: Any, inputs: Inputs, *, double: bool) -> list[Array]:
        """Its answers to an input in the plainest call, computed in float64 or as it is."""
        raise NotImplementedError

    def otherwise(self, model: Any) -> str | None:
        """From here on `exact` goes another way; names it, and is None where there is none."""

    def convert(self, model: Any, inputs: Inputs, target: Path) -> None:
        """Write it in the format of the target's suffix, for inputs of these shapes."""
        raise NotImplementedError

    def in_place(self, placing: Placing) -> dict[str, Any]:
        """What takes the place of names in the file of a backend that calls what is loaded."""
        raise NotImplementedError

    # In the parent:

    @property
    def own(self) -> list[str]:
        """The variants that call it as it is."""
        rows = [row for row in BACKENDS if row.module in self.modules]
        every = [(row, find(name)[1], name) for row in rows for name in row.names()]
        return [name for row, variant, name in every if self.calls(row, variant)]

    def calls(self, row: Backend, variant: str) -> bool:
        """Whether the function of this variant takes any model."""
        return variant not in row.reduced and variant != "cpp"

    def is_own(self, name: str) -> bool:
        """Whether this variant calls it as it is, here or on a GPU."""
        return without_version(name).removesuffix(ON_GPU) in self.own

    @property
    def readers(self) -> list[str]:
        engines = (name for kind in self.formats for name in CALLERS[kind])
        return list(dict.fromkeys((*self.own, *engines)))

    def taken_apart(self, device: Device | None) -> list[str]:
        return [name for name in self.backends(device) if self.is_own(name)]

    def prepared(self, run: Run) -> Prepared:
        """Inputs that are made for it, the framework's answers, and what engines need of it."""
        sha256 = self.checksum()
        self.check_readers(run)
        with closing(self.reader()) as child:
            run.tell(f"reading {self.path.name} with {self.framework}")
            read = self.ask(child, READ_S, self.question(), run.until_s)
            run.tell(f"computing the right answers of {self.path.name}")
            right = self.ask(child, run.timeout_s, {"answer": True}, run.until_s)
        inputs = read["inputs"]
        subject = replace(self, sha256=sha256, outputs=tuple(read["outputs"]), made_1=read["open"])
        subject = replace(subject, converted=subject._conversions(run, inputs[0]))
        judge, arbiter = self.judge(read["coarse"]), right["by"]
        least = _ROUNDED * right["rounding"]
        if least > judge.allowed(FLOAT32):
            arbiter += f"; its own precision moves these by {right['rounding']:.2g}"
        whose = f"those of {right['by']}"
        judge = replace(judge, least=max(judge.least, least), whose=whose)
        answers = np.full(len(inputs), None)
        for number, each in enumerate(zip(*right["answers"], strict=True)):
            answers[number] = each
        known = self.prepared_as(
            subject,
            Known(inputs, answers),
            judge,
            arbiter,
            parameters=read["parameters"],
            signature=read.get("signature"),
            below=read.get("below"),
        )
        return replace(known, costs=subject._costs(run))

    def checksum(self) -> str:
        return sha256_of(self.path)

    def reader(self) -> Child:
        return self._child("serve_reading", self._reader())

    def question(self) -> Any:
        return sent(self)

    def _reader(self, kind: str = "") -> Backend:
        """The first of the backends that read it, or convert it to this, that is installed."""
        readers = _CONVERTED_BY.get(kind, self.read_by)
        able = [name for name in readers if is_installed(find(name)[0])]
        if not able:
            needs = why_absent(readers[0])
            raise LenetBenchError(f"{self.path.name} is read by {self.framework}, but {needs}")
        return find(able[0])[0]

    def _child(self, function: str, row: Backend) -> Child:
        return Child(
            f"{__name__}:{function}",
            printed="dropped",
            python=interpreter(row),
            variables=variables(row, 1),
        )

    def suffix_for(self, name: str) -> str:
        engine = without_version(name).removesuffix(ON_GPU)
        kinds = (kind for kind in self.formats if engine in CALLERS[kind])
        return "" if self.is_own(name) else next(kinds, "")

    def _conversions(self, run: Run, inputs: Inputs) -> dict[str, dict[str, Any]]:
        """What the engines that are measured need, each made once."""
        made: dict[str, dict[str, Any]] = {}
        for name in run.backends:
            kind = self.suffix_for(name)
            if kind and kind not in made and is_installed(find(name)[0].for_a_file):
                run.tell(f"converting {self.path.name} to {_CALLED[kind]}")
                made[kind] = self._converted(kind, run, inputs)
        return made

    def _converted(self, kind: str, run: Run, inputs: Inputs) -> dict[str, Any]:
        """The files, from the cache or made; or the sentence why there are none."""
        row, suffixes = self._reader(kind), _FILES.get(kind, (kind,))
        environment = environment_of(row.environment)
        pins = environment.pins if environment else ""
        packages = *self.packages, "openvino", "executorch"
        versions = [f"{one} {installed_version(one)}" for one in packages]
        forms = [f"{name} {array.dtype} {array.shape}" for name, array in inputs.items()]
        code = sorted({getfile(one) for one in type(self).__mro__[:-1]})
        sources = [Path(file).read_text() for file in code]
        key = "\0".join([self.sha256, kind, *sources, *versions, pins, *forms])
        stem = re.sub(r"\W", "_", self.path.stem)[:60]
        name = f"{stem}-{hashlib.sha256(key.encode()).hexdigest()[:16]}"
        about, *files = (kept("converted", name, one) for one in (".json", *suffixes))
        if about and all(files):
            return {**json.loads(about.read_bytes()), "files": [*map(str, files)]}
        seconds = max(0.0, min(_CONVERT_S, run.until_s - monotonic()))
        try:
            with (
                TemporaryDirectory() as folder,
                closing(self._child("serve_conversion", row)) as child,
            ):
                target = Path(folder) / f"model{kind}"
                known = child.answer((sent(self), str(target), inputs), seconds)
                parts = [target.with_suffix(one).read_bytes() for one in suffixes]
                known["bytes"] = sum(map(len, parts))
                prune("converted", _MOST_KEPT)
                keep("converted", name, json.dumps(known).encode(), ".json")
                files = [keep("converted", name, *one) for one in zip(parts, suffixes, strict=True)]
        except Died as death:
            return {"refused": f"its conversion to {_CALLED[kind]} failed: {death.sentence}"}
        except LenetBenchError as error:
            return {"refused": str(error), "missing": isinstance(error, Unavailable)}
        return {**known, "files": [*map(str, files)]}

    def _costs(self, run: Run) -> dict[str, dict[str, float]]:
        """Of the backends that are measured: what the conversion for them took."""
        found = {name: self._route(name) for name in run.backends}
        return {
            name: {"conversion_s": made["seconds"], "file_mib": made["bytes"] / 2**20}
            for name, made in found.items()
            if made and "files" in made
        }

    def _route(self, name: str) -> Mapping[str, Any] | None:
        """The conversion that this backend reads; None for a call of the framework's own."""
        return self.converted.get(self.suffix_for(name))

    def as_taken(self, name: str, inputs: Any) -> Any:
        route = self._route(name)
        if route is None or "files" not in route:
            return inputs
        return [
            {given: one[own].astype(kind, copy=False) for own, given, kind in route["inputs"]}
            for one in inputs
        ]

    # In the process of a backend:

    def build(self, name: str, threads: int, weights: Weights, first: Any) -> Network:  # noqa: ARG002
        if self.is_own(name):
            return self._called(name, threads, first)
        route = self._route(name)
        if route is None:
            if absent := why_absent(name, self.kind):
                raise Unavailable(absent)
            raise Unsupported(f"{name} takes no {self.kind}")
        if "files" not in route:
            raise (Unavailable if route.get("missing") else Unsupported)(route["refused"])
        path, *beside = map(Path, route["files"])
        ends = tuple(route["outputs"]), tuple(route["places"])
        model = Model(path, path, first, *ends, *beside)
        return place(name, model, threads)

    def together(self, inputs: Sequence[Inputs]) -> Inputs:
        """Along the first dimension, which is a batch of 1 in each."""
        if any(array.shape[:1] != (1,) for array in inputs[0].values()):
            raise Unsupported("its inputs have no first dimension of 1 that could be a batch")
        return {name: np.concatenate([one[name] for one in inputs]) for name in inputs[0]}

    def apart(self, answer: Sequence[Array], size: int) -> Sequence[Sequence[Array]]:
        """Raise Unsupported where an output has another first dimension."""
        if any(len(output) != size for output in answer):
            raise Unsupported("its outputs have no first dimension of the batch's size")
        return [[output[n : n + 1] for output in answer] for n in range(size)]

    def _called(self, name: str, threads: int, first: Inputs) -> Network:
        """On a variant whose function calls any model of the framework."""
        row, variant = find(name)
        check_needs(row, variant)
        limit_memory()

        def adapted(row: Backend, variant: str, weights: Weights, threads: int) -> Called:  # noqa: ARG001
            return self.called(row, variant, threads, first, self.load)

        return build(row, variant, Weights({}), threads, adapted)

    def called(
        self,
        row: Backend,
        variant: str,
        threads: int,
        first: Inputs,
        load: Callable[[], Any],
        others: Mapping[str, Any] = MappingProxyType({}),
    ) -> "Called":
        """What is loaded on the backend's function, also in place of other names of its file."""
        try:
            placed = file_with(row, {**self.in_place(Placing(variant, first, load)), **others})
            return Called(row, variant, Weights({}), threads, **placed)
        except Exception as error:
            raise unsupported(row, error) from error


class Whole:
    """Inputs in the place of images: whoever gives these a further axis gets them as they are.

    One is an array, several are a dictionary.
    """

    def __init__(self, inputs: Inputs) -> None:
        self._whole = inputs if len(inputs) > 1 else next(iter(inputs.values()))

    def __getitem__(self, _: Any) -> Any:
        return self._whole


def as_called(row: Backend, inputs: Inputs) -> Any:
    """As the functions of the backend's file take them."""
    whole = Whole(inputs)
    return whole[0] if row.module == "jax" else whole


class Called(Adapter):
    """The adapter of a framework's variant, which calls a model with all of its inputs."""

    def infer(self, images: Any) -> Any:
        """The outputs in the model's order: one input is an array, several are a dictionary."""
        with self._lock:
            try:
                outputs = self.answer(as_called(self._row, images))
            except Exception as error:  # what is compiled when it is called first
                raise unsupported(self._row, error) from error
        return as_list(outputs)

    def _own_description(self) -> dict[str, str]:
        return {}


def in_float64(inputs: Inputs) -> Inputs:
    """The same, floats in float64."""
    return {
        name: one.astype(np.float64) if one.dtype.kind == "f" else one
        for name, one in inputs.items()
    }


def as_list(outputs: Any) -> list[Any]:
    """The outputs of a model with one or several, in order; named ones in the alphabet's."""
    if isinstance(outputs, Mapping):
        return [part for name in sorted(outputs, key=str) for part in as_list(outputs[name])]
    if isinstance(outputs, (list, tuple)):
        return [part for one in outputs for part in as_list(one)]
    return [outputs]


def serve_reading(parent: Parent) -> None:
    """Read the model that the parent names; then say the right answers to its inputs."""
    limit_memory()
    subject = received(parent.hear())
    assert isinstance(subject, FrameworkModel)
    model = cache(subject.load)

    def read() -> dict[str, Any]:
        loaded = model()
        return with_inputs(
            lambda shapes: subject.read(loaded, shapes),
            subject.shapes,
            subject.ranges,
            subject.given(loaded),
        )

    known = cache(read)
    parent.answer(known)
    parent.hear()
    parent.answer(lambda: _right(subject, model(), known()["inputs"]))


def _right(subject: FrameworkModel, model: Any, inputs: Sequence[Inputs]) -> dict[str, Any]:
    """The answers in float64, and how far the model's own are from them."""
    own = [subject.exact(model, one, double=False) for one in inputs]
    if distance(subject.exact(model, inputs[0], double=False), own[0]) > ALLOWED:
        raise LenetBenchError(
            "it answers the same input differently each time (a dropout left on?), so no answer "
            "can be judged"
        )
    right, by, double = own, f"{subject.framework} in its own precision", False
    try:
        right = [subject.exact(model, one, double=True) for one in inputs]
        by, double = f"{subject.framework} in float64", True
    except Exception:
        pass
    if not _are_finite(right):
        raise LenetBenchError("its answers are not finite, so none can be judged")
    ways = [right]
    if way := subject.otherwise(model):
        other = [subject.exact(model, one, double=double) for one in inputs]
        off = max(map(distance, other, right))
        if off > ALLOWED and _are_finite(other):
            ways.append(other)
            by += f", or {way}, which differs by {off:.2g}: both are right"
    rounding = from_nearest(own, [*zip(*ways, strict=True)])
    return {"answers": ways, "by": by, "rounding": rounding}


def _are_finite(answers: Answers) -> bool:
    return all(np.isfinite(output).all() for answer in answers for output in answer)


def serve_conversion(parent: Parent) -> None:
    """Convert the model that the parent names."""
    limit_memory()
    message, file, inputs = parent.hear()
    subject, target = received(message), Path(file)
    assert isinstance(subject, FrameworkModel)

    def converted() -> dict[str, Any]:
        model = subject.load()
        began = perf_counter()
        try:
            subject.convert(model, inputs, target)
        except LenetBenchError:
            raise
        except ImportError as error:
            extra = "keras" if error.name == "tensorflow" else "convert"
            raise Unavailable(
                f"its conversion to {_CALLED[target.suffix]} needs {error.name}; fix it with: "
                f"pip install 'lenet-bench[{extra}]'"
            ) from None
        except Exception as error:
            said = f"its conversion to {_CALLED[target.suffix]} failed: {first_line(error)}"
            raise Unsupported(said) from None
        seconds = perf_counter() - began
        return {**_ends(target, inputs, subject.outputs), "seconds": seconds}

    parent.answer(converted)


def to_openvino(model: Any, inputs: Inputs, target: Path) -> None:
    """By OpenVINO itself, which rounds weights to float16 unless told otherwise."""
    import openvino

    shapes = {name: array.shape for name, array in inputs.items()}
    try:
        converted = openvino.convert_model(model, input=shapes or None)
    except Exception as error:  # its first lines are places in its sources
        raise RuntimeError(str(error).rpartition("Summary:\n-- ")[2]) from None
    openvino.save_model(converted, target, compress_to_fp16=False)


def _ends(file: Path, inputs: Inputs, outputs: Sequence[str]) -> dict[str, Any]:
    """The inputs and outputs of a converted model by the file's names, in the file's order.

    With each input come the model's own name for it and its type; `places` are those of the
    model's outputs, of which it has the given names.
    """
    names = list(inputs)
    if file.suffix == ".pte":  # which has none, and the model's order
        ends = [(name, name, array.dtype.str) for name, array in inputs.items()]
        return {"inputs": ends, "outputs": [*outputs], "places": []}
    if file.suffix == ".xml":
        return _ends_of_openvino(file, names, outputs)
    if file.suffix == ".onnx":
        import onnx

        model = onnx.load(file)  # with its external data
        graph = model.graph
        graph.name = MODEL
        onnx.save(model, file)
        constants = {one.name for one in graph.initializer}
        given = [one for one in graph.input if one.name not in constants]
        kind = onnx.helper.tensor_dtype_to_np_dtype
        ends = [(one.name, one.name, kind(one.type.tensor_type.elem_type).str) for one in given]
        outputs = [one.name for one in graph.output]
        return {"inputs": _by_own_names(ends, names), "outputs": outputs, "places": []}
    from ai_edge_litert.interpreter import Interpreter

    read = Interpreter(model_path=str(file))
    details = {one["name"]: np.dtype(one["dtype"]).str for one in read.get_input_details()}
    outputs = [one["name"] for one in read.get_output_details()]
    if not read.get_signature_list():
        ends = [(name, name, kind) for name, kind in details.items()]
        return {"inputs": _by_own_names(ends, names), "outputs": outputs, "places": []}
    runner = read.get_signature_runner()
    found = {one["name"]: name for name, one in runner.get_input_details().items()}
    named = runner.get_output_details().items()
    answered = sorted(named, key=lambda one: (re.sub(r"\d", "", one[0]), _numbers(one[0])))
    given = [(found[name], name, kind) for name, kind in details.items()]
    return {
        "inputs": _by_own_names(given, names),
        "outputs": outputs,
        "places": [outputs.index(one["name"]) for _, one in answered],
    }


def _ends_of_openvino(file: Path, names: list[str], outputs: Sequence[str]) -> dict[str, Any]:
    """The same; each end has several names there, or none."""
    from openvino import Core

    read = Core().read_model(file)
    given = [(one.any_name, one.element_type.to_dtype().str) for one in read.inputs]
    ends = [(name, name, kind) for name, kind in given]
    found = [one.names for one in read.outputs]
    places = [number for name in outputs for number, own in enumerate(found) if name in own]
    return {
        "inputs": _by_own_names(ends, names),
        "outputs": [*outputs],
        "places": places if len(places) == len(outputs) else [],
    }


def _by_own_names(
    ends: Sequence[tuple[str, str, str]], names: Sequence[str]
) -> list[tuple[str, str, str]]:
    """The inputs with the model's own names: the same ones, else args_0, args_1 in its order."""
    if len(ends) != len(names):
        found = ", ".join(known for known, *_ in ends)
        raise LenetBenchError(
            f"its converter made a file with {counted(len(ends), 'input')} ({found}), where the "
            f"model has {len(names)}"
        )
    own = {name: name for name in names}
    if own.keys() != {known for known, *_ in ends}:
        in_order = sorted((known for known, *_ in ends), key=_numbers)
        own = dict(zip(in_order, names, strict=True))
    return [(own[known], name, kind) for known, name, kind in ends]


def _numbers(name: str) -> list[int]:
    """Those in a name: output_10 comes after output_9."""
    return [int(number) for number in re.findall(r"\d+", name)]
