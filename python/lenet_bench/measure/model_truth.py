"""The inputs of a model file, the answers that all engines are compared with, and who gave them.

The arbiter is ONNX's reference evaluator. Where it cannot run the model, or takes long, every
engine is asked before the run, and the answer that most of them agree with is the arbiter's.
"""

import hashlib
from collections.abc import Iterable, Sequence
from errno import ENOENT
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import LenetBenchError
from ..process import Child, Died
from ..registry import find
from ..results import Other
from ..texts import printable
from .options import CompareOptions, Entry, OwnModel
from .pinning import Cores, thread_variables
from .truth import STRETCHES, Known, Truth, as_much_more

Array = NDArray[Any]
Answers = Sequence[Sequence[Array]]  # of each input, each output

REFERENCE = "ONNX's reference evaluator"
ENGINES = "most engines"
_READ_S = 120.0
_ANSWER_S = 15.0  # for all inputs
_ALLOWED = 1e-3  # relative L2 distance; a wrong operator is off by hundred times
_ALLOWED_QUANTIZED = 0.05  # a step of eight bits up or down


class ModelTruth(Truth):
    """What a run with a model of the user's own is judged by."""

    said = "answers"

    def __init__(self, options: CompareOptions, entries: Sequence[Entry], cores: Cores) -> None:
        own = options.model
        assert own is not None
        self.sha256 = _sha256(own.file)
        self.network = f"{printable(own.file.name)[:100]} ({self.sha256[:8]})"
        child = Child("lenet_bench.networks.reader:serve", printed="dropped")
        try:
            read = self._ask(child, own, _READ_S, **own.question())
            self.model = {"own": str(own.file), "path": read["path"], "outputs": read["outputs"]}
            self._allowed = _ALLOWED_QUANTIZED if read["quantized"] else _ALLOWED
            self.inputs = {
                printable(name)[:100]: _form(array) for name, array in read["inputs"][0].items()
            }
            self._know(read["inputs"], [])
            try:
                reference = self._ask(child, own, _ANSWER_S, answer=True)["answers"]
            except LenetBenchError:
                reference = None
            if reference and any(np.isnan(one).any() for answer in reference for one in answer):
                raise LenetBenchError(
                    f"{own.file.name}: its answers are NaN, so none can be judged"
                )
            answers = self._agreed(reference, options, entries, cores)
        finally:
            child.close()
        self._know(read["inputs"], answers)
        self.judge = f"those of {self.arbiter.partition(', ')[0]}"
        self.other = Other(self.network, arbiter=self.arbiter, inputs=self.inputs)

    def difference(self, found: Any, expected: Any) -> float:
        return float(np.max([*map(_distance, found, expected)], initial=0.0))  # NaN stays

    def allowed(self, tolerance: float) -> float:
        return as_much_more(self._allowed, tolerance)

    def _know(self, inputs: Any, answers: Answers) -> None:
        expected = np.full(len(inputs), None)  # an array would be made of their arrays
        for number, answer in enumerate(answers):
            expected[number] = answer
        self.rotating = self.edges = known = Known(inputs, expected)
        self.timed, self.new = [known] * STRETCHES, []

    def _ask(self, child: Child, own: OwnModel, timeout_s: float, **question: Any) -> Any:
        try:
            answer = child.ask(question, timeout_s)
        except Died as death:
            why = f"{own.file.name}: it cannot be read: {death.sentence}"
            raise LenetBenchError(why) from None
        if refusal := answer.get("refused"):
            raise LenetBenchError(f"{own.file.name}: {refusal}")
        return answer

    def _agreed(
        self,
        reference: list[list[Array]] | None,
        options: CompareOptions,
        entries: Iterable[Entry],
        cores: Cores,
    ) -> list[list[Array]]:
        """The arbiter's answers; none where no engine answers.

        Engines are asked until one confirms the reference evaluator, which has errors of its own.
        """
        from .start import Conditions, Failed, Start

        conditions = Conditions(
            cores=cores,
            variables=thread_variables(options.threads),
            threads=options.threads,
            weights="",
            timeout_s=options.timeout_s,
            truth=self,
            network=self.network,
        )
        self.arbiter = REFERENCE
        found: dict[str, Any] = {}
        allowed: dict[str, float] = {}
        for entry in entries:
            start = None
            try:
                start = Start(entry, conditions)
                start.build()
                answers = start.ask("check", images=self.rotating.images)["answers"]
            except Failed:
                continue  # the run says why
            finally:
                if start:
                    start.child.close()
            limit = self.allowed(entry.tolerance)
            if reference and self.difference(answers, reference) <= limit:
                return reference
            found[entry.name], allowed[entry.name] = answers, limit
        engines = {name: find(name)[0].name for name in found}  # variants are no other opinion
        agreeing = {
            name: {
                engines[other]
                for other in found
                if self.difference(found[other], answers) <= max(allowed[other], allowed[name])
            }
            for name, answers in found.items()
        }
        best = max(found, key=lambda name: (len(agreeing[name]), -allowed[name]), default="")
        if reference and (not found or len(agreeing[best]) == 1):
            return reference
        if reference:
            off = self.difference(reference, found[best])
            self.arbiter = f"{ENGINES}, from which {REFERENCE} differs by {off:.2g}"
        elif len({*engines.values()}) > 1:
            self.arbiter = ENGINES
        elif found:
            self.arbiter = f"{best}, the only engine that answers"
        if len({*engines.values()}) > 1 and len(agreeing[best]) == 1:
            apart = ", ".join(
                f"{name} by {self.difference(answers, found[best]):.2g}"
                for name, answers in found.items()
                if name != best
            )
            raise LenetBenchError(
                f"no two engines agree, so none can be believed: from {best} differ {apart}"
            )
        return found[best] if found else []


def _distance(found: Sequence[Array], expected: Sequence[Array] | None) -> float:
    """Of one input's outputs the farthest: relative L2 distance; infinity for another shape."""
    apart = [0.0]
    if expected is None or len(found) != len(expected):
        return float("inf")
    for one, other in zip(found, expected, strict=True):
        if one.size != other.size:
            return float("inf")
        a, b = one.ravel().astype(np.float64), other.ravel().astype(np.float64)
        with np.errstate(invalid="ignore"):
            off = np.where(a == b, 0.0, a - b)  # infinities are equal where both have them
        size = np.linalg.norm(b[np.isfinite(b)])
        apart.append(float(np.linalg.norm(off) / (size or 1.0)))
    return float(np.max(apart))


def _form(array: Array) -> str:
    return f"{array.dtype} {'x'.join(map(str, array.shape)) or 'scalar'}"


def _sha256(file: Path) -> str:
    digest = hashlib.sha256()
    try:
        if not file.is_file():  # a pipe would never end
            raise FileNotFoundError(ENOENT, "no such file")
        with file.open("rb") as stream:
            while part := stream.read(1 << 20):
                digest.update(part)
    except OSError as error:
        raise LenetBenchError(f"{file} cannot be read: {error.strerror}") from None
    return digest.hexdigest()
