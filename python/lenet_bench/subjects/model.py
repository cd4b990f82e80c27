"""A model file of the user's own, on the engines that read it.

An answer is a list of outputs, each of any type and shape.
"""

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from errno import ENOENT
from importlib import import_module
from math import inf
from pathlib import Path
from shlex import quote
from subprocess import CalledProcessError
from textwrap import shorten
from time import monotonic
from types import SimpleNamespace
from typing import Any, ClassVar

from numpy.typing import NDArray

from ..errors import LenetBenchError, Unavailable, Unsupported, without_places
from ..models.callers import CALLERS, Model
from ..models.programs import program
from ..networks.memory import limit_memory
from ..process import Child, Died
from ..registry import (
    FLOAT32,
    Backend,
    Device,
    Network,
    check_needs,
    find,
    names,
    without_version,
)
from ..registry.adapter import Adapter
from ..registry.backend import ON_GPU
from ..registry.building import build, check_modules, fix
from ..texts import listed, printable
from ..weights import Weights
from .subject import STRETCHES, Judge, Known, Prepared, Run, Subject

_LARGEST_FILE = 1 << 31  # bytes: a protocol buffer's limit
_LAST = 3  # lines of a program that failed; above them is its banner
_LONGEST = 300  # characters of an engine's sentence
#: In sentences of TFLite Micro and MNN, which print the reason.
_NO_REASON = ("TFLM failed", "Interpreter invocation failed", "runSession ended")
READ_S = 120.0
_ANSWER_S = 15.0  # for all inputs
ALLOWED = 1e-3  # relative L2 distance; a wrong operator is off by hundred times
#: Of coarser numbers: float16, some layers deep; a step of eight bits up or down.
_ALLOWED_COARSE = {"float16": 0.02, "int8": 0.05}


@dataclass(frozen=True)
class OwnModel(Subject):
    """A model of the user's own, and how its inputs are made, by name."""

    file: str
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    data: str = ""  # an .npz file of real inputs
    # Known when it has been read:
    sha256: str = ""
    outputs: tuple[str, ...] = ()
    made_1: Mapping[str, str] = field(default_factory=dict)  # shapes in which 1 took a ?'s place
    whole: tuple[str, ...] = ()  # inputs of whole numbers

    lacks: ClassVar[tuple[str, ...]] = ("--batch", "why")
    is_by_user: ClassVar[bool] = True

    @property
    def path(self) -> Path:
        return Path(self.file)

    @property
    def label(self) -> str:
        short = printable(self.path.name)[:100]
        return f"{short} ({self.sha256[:8]})" if self.sha256 else short

    @property
    def file_name(self) -> str:
        return self.path.name

    @property
    def floats(self) -> None:
        return None

    @property
    def kind(self) -> str:
        """What it is, in a sentence: .onnx file."""
        raise NotImplementedError

    @property
    def readers(self) -> list[str]:
        """The backends and variants that run it, those on a GPU left out."""
        raise NotImplementedError

    @property
    def format(self) -> str:
        """What it is, in models/programs.txt."""
        raise NotImplementedError

    def reader(self) -> Child:
        """The process that reads it."""
        raise NotImplementedError

    def question(self) -> Any:
        """What that process is asked first."""
        raise NotImplementedError

    def program(self, name: str, threads: int) -> str:
        """The lines that load it with this backend and make the timed call."""
        if not self.is_read_by(name):
            raise LenetBenchError(f"{name} takes no {self.kind}")
        with closing(self.reader()) as child:
            read = self.ask(child, READ_S, self.question())
        forms = {name: (one.dtype.name, one.shape) for name, one in read["inputs"][0].items()}
        suffix = self.suffix_for(name)
        found = program(name, self.format, self.file, forms, threads, suffix, read)
        if found is None:
            raise LenetBenchError(f"no program is written for {name}")
        return found

    def suffix_for(self, name: str) -> str:  # noqa: ARG002
        """Of the file that this backend reads, where it is converted first."""
        return ""

    def backends(self, device: Device | None) -> list[str]:
        return [one for one in names(device=device) if self.is_read_by(one)]

    def is_read_by(self, name: str) -> bool:
        return _engine(name) in self.readers

    def check_readers(self, run: Run) -> None:
        """Raise LenetBenchError where none of the named backends reads it."""
        if not any(map(self.is_read_by, run.backends)):
            engines = listed(list(dict.fromkeys(find(name)[0].name for name in self.readers)))
            raise LenetBenchError(
                f"no {self.kind} is read by {listed(run.backends)}, but by {engines}"
            )

    def judge(self, coarse: str) -> Judge:
        """Of its answers; `coarse` is the coarsest type that it computes in."""
        from . import arbiter

        least = _ALLOWED_COARSE.get(coarse, 0.0)
        return Judge(arbiter.from_nearest, ALLOWED / FLOAT32, least, said="answers")

    def prepared_as(
        self, subject: "OwnModel", known: Known, judge: Judge, arbiter: str, **more: Any
    ) -> Prepared:
        """A subject that was read, its inputs and right answers, and whose these are."""
        from ..results import Other

        inputs = known.inputs[0]
        whole = tuple(name for name, array in inputs.items() if array.dtype.kind in "iu")
        forms = {
            printable(name)[:100]: f"{_form(array)}{_chosen(subject.made_1.get(name, ''))}"
            for name, array in inputs.items()
        }
        return Prepared(
            replace(subject, whole=whole),
            subject.sha256,
            rotating=known,
            edges=known,
            timed=[known] * STRETCHES,
            judge=judge,
            other=Other(
                subject.label, arbiter=arbiter, inputs=forms, format=subject.format, **more
            ),
        )

    def ask(self, child: Child, timeout_s: float, question: Any, until_s: float = inf) -> Any:
        """What the process that reads it answers, before the budget ends."""
        left_s = max(0.0, until_s - monotonic())
        try:
            return child.answer(question, min(timeout_s, left_s))
        except Died as death:
            why = death.sentence
            if death.how == "late" and left_s < timeout_s:
                why = "the budget ended before it answered; give a larger --budget"
            raise LenetBenchError(f"{self.path.name}: it cannot be read: {why}") from None
        except LenetBenchError as error:
            raise LenetBenchError(f"{self.path.name}: {error}") from None

    def instead(self, asked: str) -> str:
        if asked == "--batch":
            return "; `--shape` gives a model's input another first size"
        return f"; to time it on each engine: lenet-bench compare --model {quote(self.file)}"

    def hint(self, name: str, sentence: str, printed: str) -> str:
        if not self.is_read_by(name):
            return ""
        may_be_places = self.whole and "bounds" in sentence  # in a table
        advice = self._other_numbers() if may_be_places else self._without_sizes()
        return _printed(sentence, printed) + advice

    def _other_numbers(self) -> str:
        asked = " ".join(f"--range {name}=A:B" for name in self.whole[:3])
        return printable(f"; for other whole numbers try {asked}")

    def _without_sizes(self) -> str:
        """Where the file has no size, and 1 was used."""
        if not self.made_1:
            return ""
        inputs = list(self.made_1)[:3]
        forms = ", ".join(f"{one} is {self.made_1[one]}" for one in inputs)
        return printable(
            f"; in the file {forms}, and 1 was used for each ?: try --shape {inputs[0]}=SIZES"
        )

    def takes_one_input(self, name: str) -> bool:  # noqa: ARG002
        return False


@dataclass(frozen=True)
class ModelFile(OwnModel):
    """A file that engines read as it is: .onnx or .tflite."""

    fixed: str = ""  # the file in which all shapes are fixed, when it has been read
    suffix: str = ""  # of what it is, where that is known from its content

    @property
    def kind(self) -> str:
        return f"{self.format} file"

    @property
    def format(self) -> str:
        return self.suffix or self.path.suffix

    @property
    def readers(self) -> list[str]:
        return list(CALLERS[self.format])

    def prepared(self, run: Run) -> Prepared:
        """Inputs that are made for it, and the answers of the arbiter, where any engine answers."""
        from . import arbiter

        sha256 = sha256_of(self.path)
        self.check_readers(run)
        with closing(self.reader()) as child:
            run.tell(f"reading {self.path.name}")
            read = self.ask(child, READ_S, self.question(), run.until_s)
            seconds = min(_ANSWER_S, (run.until_s - monotonic()) / 4)
            reference = None
            if self.format == ".onnx":
                run.tell(f"asking {arbiter.REFERENCE} about {self.path.name}")
                with suppress(LenetBenchError):
                    reference = self.ask(child, seconds, {"answer": True})
        if read.get("data"):
            sha256 = sha256_of_all(self.path.parent, (self.path.name, *read["data"]))
        subject = replace(
            self,
            sha256=sha256,
            fixed=read["path"],
            outputs=tuple(read["outputs"]),
            made_1=read["open"],
        )
        inputs, judge = read["inputs"], self.judge(read["coarse"])
        nudged = replace(subject, fixed=read["nudged"]) if read["nudged"] else None
        verdict = arbiter.verdict(subject, inputs, judge, reference, nudged, run)
        judge = replace(judge, least=verdict.least, whose=f"those of {verdict.judge}")
        known = Known(inputs, verdict.of_each(len(inputs)))
        return self.prepared_as(subject, known, judge, verdict.arbiter)

    def build(self, name: str, threads: int, weights: Weights, first: Any) -> Network:  # noqa: ARG002
        return place(name, Model(Path(self.fixed), self.path, first, self.outputs), threads)

    def reader(self) -> Child:
        return Child("lenet_bench.models.reader:serve", printed="dropped")

    def question(self) -> dict[str, Any]:
        fields = ("file", "shapes", "ranges", "data", "suffix")
        return {name: getattr(self, name) for name in fields}

    def check_readers(self, run: Run) -> None:
        """Also raise it where no engine is installed."""
        super().check_readers(run)
        named = list(filter(self.is_read_by, run.backends))
        if not any(map(_may_run, [*named, *self.backends("cpu")])):
            engines = listed(list(dict.fromkeys(find(name)[0].name for name in self.readers)))
            lightest = min(map(_engine, named), key=self.readers.index)
            raise LenetBenchError(
                f"no engine that reads {self.format} files is installed (the lightest first: "
                f"{engines}); {fix(find(lightest)[0].for_a_file)}"
            )


class OnModel(Adapter):
    """The adapter of an engine whose function takes a model's inputs by name."""

    def infer(self, images: Any) -> Any:
        """The model's outputs in its order, of its inputs by name."""
        with self._lock:
            try:
                found = list(self.answer(images))
            except Exception as error:
                raise unsupported(self._row, error) from error
        places = self._given["model"].places
        return [found[place] for place in places] if places else found


def place(name: str, model: Model, threads: int) -> Network:
    """Load the model with a backend's variant.

    Raises Unavailable where the backend cannot run here, and Unsupported, in the engine's own
    words, where it does not take this model.
    """
    row, variant = find(name)
    caller = CALLERS[model.path.suffix].get(_engine(name))
    if caller is None:
        raise Unsupported(f"{name} reads no {model.path.suffix} file here")
    check_needs(row, variant)
    limit_memory()

    def adapted(row: Backend, variant: str, weights: Weights, threads: int) -> OnModel:
        file = SimpleNamespace(**{variant or "build": caller})
        if row.moved:  # it has to prove its device
            file.describe = import_module(f"lenet_bench.backends.{row.module}").describe
        try:
            return OnModel(row, variant, weights, threads, file=file, given={"model": model})
        except Exception as error:
            raise unsupported(row, error) from error

    return build(row.for_a_file, variant, Weights({}), threads, adapted)


def _engine(name: str) -> str:
    """The name among the readers: without its version, and as on the CPU."""
    return without_version(name).removesuffix(ON_GPU)


def _may_run(name: str) -> bool:
    """Whether what its file imports is there, as far as that is known here."""
    try:
        check_modules(*find(name))
    except Unavailable:
        return False
    return True


def unsupported(row: Backend, error: Exception) -> Unsupported:
    """In the engine's own words, from the line on that names an error; of a program its last."""
    said = without_places(str(error).partition("\nStack backtrace")[0])
    if isinstance(error, CalledProcessError):
        said = (error.stderr or error.stdout or b"").decode(errors="replace") or said
    lines = [line.strip() for line in said.splitlines() if line.strip()] or [type(error).__name__]
    default = max(0, len(lines) - _LAST) if isinstance(error, CalledProcessError) else 0
    first = next((n for n, line in enumerate(lines) if "error:" in line.lower()), default)
    said = shorten(" ".join(lines[first:]).removesuffix("."), _LONGEST, placeholder=" ...")
    return Unsupported(f"{row.library} does not run it: {said}")


def _printed(sentence: str, printed: str) -> str:
    """What an engine printed last, where its sentence gives no reason."""
    if not any(one in sentence for one in _NO_REASON):
        return ""
    lines = dict.fromkeys(line.strip() for line in printed.splitlines() if line.strip())
    return printable(f"; it printed: {', '.join(list(lines)[-2:])}"[:_LONGEST])


def _form(array: NDArray[Any]) -> str:
    return f"{array.dtype} {'x'.join(map(str, array.shape)) or 'scalar'}"


def _chosen(in_file: str) -> str:
    """A note on sizes other than the first that the file leaves open."""
    is_open = "?" in in_file.partition("x")[2]
    return printable(f" ({in_file} in the file: --shape gives other sizes)") if is_open else ""


def sha256_of_all(folder: Path, names: Iterable[str]) -> str:
    """Of several files, with their names."""
    each = "".join(f"{name} {sha256_of(folder / name)}\n" for name in names)
    return hashlib.sha256(each.encode()).hexdigest()


def sha256_of(file: Path) -> str:
    """Of what may be a model file."""
    digest = hashlib.sha256()
    try:
        if not file.is_file():  # a pipe would never end
            raise FileNotFoundError(ENOENT, "no such file")
        if (size := file.stat().st_size) >= _LARGEST_FILE:
            has = f"it has {size / 1e9:.1f} GB, and a model file has less than 2"
            raise LenetBenchError(f"{file.name}: {has}")
        with file.open("rb") as stream:
            while part := stream.read(1 << 20):
                digest.update(part)
    except OSError as error:
        raise LenetBenchError(f"{file} cannot be read: {error.strerror}") from None
    return digest.hexdigest()
