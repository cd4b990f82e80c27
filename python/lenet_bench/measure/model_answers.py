"""The inputs of a model file, the answers that all engines are compared with, and who gave them.

The arbiter is ONNX's reference evaluator. Where it cannot run the model, or takes long, every
engine is asked before the run, and the answer that most of them agree with is the arbiter's.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from errno import ENOENT
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import LenetBenchError
from ..process import Child, Died
from ..registry import FLOAT32, find
from ..results import Other
from ..texts import printable
from .options import CompareOptions, Entry, OwnModel
from .pinning import Cores
from .reference_answers import STRETCHES, Known, ReferenceAnswers
from .start import Conditions, Failed, started

Array = NDArray[Any]
Answers = Sequence[Sequence[Array]]  # of each input, each output

REFERENCE = "ONNX's reference evaluator"
ENGINES = "most engines"
_READ_S = 120.0
_ANSWER_S = 15.0  # for all inputs
_ALLOWED = 1e-3  # relative L2 distance; a wrong operator is off by hundred times
_ALLOWED_QUANTIZED = 0.05  # a step of eight bits up or down


def of_model(
    options: CompareOptions,
    entries: Sequence[Entry],
    cores: Cores,
    until_s: float,
    tell: Callable[[str], None],
) -> ReferenceAnswers:
    """The inputs of a model file, and the answers of the arbiter, where any engine answers.

    Who is asked for answers has half of what is left of the budget, and each a quarter.
    """
    own = options.model
    assert own is not None
    sha256 = _sha256(own.file)
    with closing(Child("lenet_bench.models.reader:serve", printed="dropped")) as child:
        tell(f"reading {own.file.name}")
        read = _ask(child, own, min(_READ_S, until_s - monotonic()), **own.question())
        left_s = until_s - monotonic()
        until_s = monotonic() + left_s / 2
        try:
            tell(f"asking {REFERENCE} about {own.file.name}")
            reference = _ask(child, own, min(_ANSWER_S, left_s / 4), answer=True)["answers"]
        except LenetBenchError:
            reference = None
    if reference and any(np.isnan(one).any() for answer in reference for one in answer):
        raise LenetBenchError(f"{own.file.name}: its answers are NaN, so none can be judged")
    known = Known(read["inputs"], np.full(len(read["inputs"]), None))
    unjudged = ReferenceAnswers(
        weights_sha256=sha256,
        rotating=known,
        edges=known,
        timed=[known] * STRETCHES,
        network=f"{printable(own.file.name)[:100]} ({sha256[:8]})",
        model={"own": str(own.file), "path": read["path"], "outputs": read["outputs"]},
        difference=lambda found, expected: float(
            np.max([*map(_distance, found, expected)], initial=0.0)  # NaN stays
        ),
        allowance=(_ALLOWED_QUANTIZED if read["quantized"] else _ALLOWED) / FLOAT32,
        said="answers",
    )
    limited = replace(options, timeout_s=min(options.timeout_s, left_s / 4))
    asking = Conditions(limited, cores, unjudged, until_s)
    arbiter, answers = _arbitrated(reference, asking, entries, tell)
    if not answers and asking.left_s <= 0:
        raise LenetBenchError(
            f"{own.file.name}: no engine answered within half of the budget; give a larger --budget"
        )
    for number, answer in enumerate(answers):  # an array would be made of their arrays
        known.answers[number] = answer
    inputs = {printable(name)[:100]: _form(array) for name, array in read["inputs"][0].items()}
    return replace(
        unjudged,
        other=Other(unjudged.network, arbiter=arbiter, inputs=inputs),
        judge=f"those of {arbiter.partition(', ')[0]}",
    )


def _ask(child: Child, own: OwnModel, timeout_s: float, **question: Any) -> Any:
    try:
        answer = child.ask(question, timeout_s)
    except Died as death:
        raise LenetBenchError(f"{own.file.name}: it cannot be read: {death.sentence}") from None
    if refusal := answer.get("refused"):
        raise LenetBenchError(f"{own.file.name}: {refusal}")
    return answer


def _arbitrated(
    reference: Answers | None,
    conditions: Conditions,
    entries: Iterable[Entry],
    tell: Callable[[str], None],
) -> tuple[str, Answers]:
    """The arbiter and its answers; none where no engine answers.

    Engines are asked until one confirms the reference evaluator, which has errors of its own.
    """
    judged = conditions.reference
    found: dict[str, Answers] = {}
    allowed: dict[str, float] = {}
    for entry in entries:
        tell(f"asking {entry.name} about the model")
        try:
            with started(entry, conditions) as start:
                start.build()
                answers = start.ask("check", images=judged.rotating.images)["answers"]
        except Failed:
            continue  # the run says why
        allowed[entry.name] = judged.allowed(entry.tolerance)
        if reference and judged.difference(answers, reference) <= allowed[entry.name]:
            return REFERENCE, reference
        found[entry.name] = answers
    engines = {name: find(name)[0].name for name in found}  # variants are no other opinion
    agreeing = {
        name: {
            engines[other]
            for other in found
            if judged.difference(found[other], found[name]) <= max(allowed[other], allowed[name])
        }
        for name in found
    }
    best = max(found, key=lambda name: (len(agreeing[name]), -allowed[name]), default="")
    if not found or (reference and len(agreeing[best]) == 1):
        return REFERENCE, reference or []
    if reference:
        off = judged.difference(reference, found[best])
        return f"{ENGINES}, from which {REFERENCE} differs by {off:.2g}", found[best]
    if len(set(engines.values())) == 1:
        return f"{best}, the only engine that answers", found[best]
    if len(agreeing[best]) == 1:
        raise LenetBenchError(
            f"no two engines agree, so none can be believed: {', '.join(found)} all differ"
        )
    return ENGINES, found[best]


def _distance(found: Sequence[Array], expected: Sequence[Array] | None) -> float:
    """Of one input's outputs the farthest: relative L2 distance; infinity for another shape."""
    distances = [0.0]
    if expected is None or len(found) != len(expected):
        return float("inf")
    for one, other in zip(found, expected, strict=True):
        if one.size != other.size:
            return float("inf")
        a, b = one.ravel().astype(np.float64), other.ravel().astype(np.float64)
        with np.errstate(invalid="ignore"):
            off = np.where(a == b, 0.0, a - b)  # infinities are equal where both have them
        size = np.linalg.norm(b[np.isfinite(b)])
        distances.append(float(np.linalg.norm(off) / (size or 1.0)))
    return float(np.max(distances))


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
