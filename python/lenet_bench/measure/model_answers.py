"""The inputs of a model file, the answers that all engines are compared with, and who gave them.

The arbiter is the largest group of voices that agree. ONNX's reference evaluator is one voice, and
each engine that is installed here another, whether it is measured or not: it is asked before the
run, within a bound of time. Where two groups are equally large, either is right.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from errno import ENOENT
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import LenetBenchError
from ..models.callers import CALLERS
from ..process import Child, Died
from ..registry import FLOAT32, find, is_installed
from ..registry.backend import ON_GPU
from ..results import Other
from ..texts import listed, printable
from .options import CompareOptions, Entry, OwnModel
from .pinning import Cores
from .reference_answers import STRETCHES, Known, ReferenceAnswers
from .start import Conditions, Failed, started

Array = NDArray[Any]
Answers = Sequence[Sequence[Array]]  # of each input, each output

REFERENCE = "ONNX's reference evaluator"
# TFLite Micro's kernels are the reference kernels of LiteRT's sources: two of one mind.
_KIN = {"tflite-micro": "litert"}
_READ_S = 120.0
_ANSWER_S = 15.0  # for all inputs
_ALLOWED = 1e-3  # relative L2 distance; a wrong operator is off by hundred times
#: Of coarser numbers: float16, some layers deep; a step of eight bits up or down.
_ALLOWED_COARSE = {"float16": 0.02, "int8": 0.05}


@dataclass(frozen=True)
class _Voice:
    """Who answered: the evaluator, or an engine."""

    name: str
    answers: Answers
    allowed: float  # distance of answers that agree with these


@dataclass(frozen=True)
class _Verdict:
    """The answers that are right, as several where nothing decides between them."""

    arbiter: str  # for the head of the table
    judge: str  # who gave them
    right: Sequence[Answers]


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
    _check_readers(own, entries)
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
    known = Known(read["inputs"], np.full(len(read["inputs"]), None))
    unjudged = ReferenceAnswers(
        weights_sha256=sha256,
        rotating=known,
        edges=known,
        timed=[known] * STRETCHES,
        network=f"{printable(own.file.name)[:100]} ({sha256[:8]})",
        model={"own": str(own.file), "path": read["path"], "outputs": read["outputs"]},
        difference=_from_nearest,
        allowance=_ALLOWED / FLOAT32,
        least=_ALLOWED_COARSE.get(read["coarse"], 0.0),
        said="answers",
        hint=lambda name: _hint(read["open"]) if _reads(name, own) else "",
    )
    voices = [_Voice(REFERENCE, reference, unjudged.allowed(FLOAT32))] if reference else []
    until_s = min(until_s, monotonic() + options.timeout_s)
    late = _hear(voices, Conditions(options, cores, unjudged, until_s), entries, tell)
    if not voices and late:
        half = "half of the budget; give a larger --budget"
        within = half if options.budget_s else f"{options.timeout_s:.0f} s"
        raise LenetBenchError(f"{own.file.name}: no engine answered within {within}")
    verdict = _verdict(voices)
    judgeable = [answers for answers in verdict.right if not _has_nan(answers)]
    if verdict.right and not judgeable:
        raise LenetBenchError(f"{own.file.name}: its answers are NaN, so none can be judged")
    for number in range(len(known.answers) if judgeable else 0):
        known.answers[number] = [answers[number] for answers in judgeable]
    inputs = {printable(name)[:100]: _form(array) for name, array in read["inputs"][0].items()}
    return replace(
        unjudged,
        other=Other(unjudged.network, arbiter=verdict.arbiter[:200], inputs=inputs),
        judge=f"those of {verdict.judge}",
    )


def _check_readers(own: OwnModel, entries: Iterable[Entry]) -> None:
    """Raise LenetBenchError where none of the named backends reads such a file."""
    if not any(entry.factory or _reads(entry.name, own) for entry in entries):
        named = listed([entry.name for entry in entries])
        able = CALLERS[own.file.suffix]
        engines = listed(list(dict.fromkeys(find(name)[0].name for name in able)))
        raise LenetBenchError(f"no {own.file.suffix} file is read by {named}, but by {engines}")


def _reads(name: str, own: OwnModel) -> bool:
    return name.removesuffix(ON_GPU) in CALLERS[own.file.suffix]


def _hint(made_1: Mapping[str, str]) -> str:
    """After the sentence of an engine that fails: where the file has no size, and 1 was used."""
    if not made_1:
        return ""
    names = list(made_1)[:3]
    forms = ", ".join(f"{name} is {made_1[name]}" for name in names)
    return printable(
        f"; in the file {forms}, and 1 was used for each ?: try --shape {names[0]}=SIZES"
    )


def _ask(child: Child, own: OwnModel, timeout_s: float, **question: Any) -> Any:
    try:
        answer = child.ask(question, timeout_s)
    except Died as death:
        raise LenetBenchError(f"{own.file.name}: it cannot be read: {death.sentence}") from None
    if refusal := answer.get("refused"):
        raise LenetBenchError(f"{own.file.name}: {refusal}")
    return answer


def _hear(
    voices: list[_Voice],
    conditions: Conditions,
    entries: Sequence[Entry],
    tell: Callable[[str], None],
) -> list[str]:
    """Add an answer of each engine, and return the engines for which the time was too short.

    Each has a quarter of it. Ends where the evaluator's group can be neither outnumbered nor
    equalled any more.
    """
    ways = _ways(conditions.options, entries)
    quarter_s = conditions.left_s / 4
    late = []
    for left, (engine, entries_of_it) in zip(range(len(ways), 0, -1), ways.items(), strict=True):
        if _is_settled(voices, left):
            break
        for entry in entries_of_it:
            tell(f"asking {entry.name} about the model")
            until_s = min(conditions.until_s, monotonic() + quarter_s)
            try:
                with started(entry, replace(conditions, until_s=until_s)) as start:
                    start.build()
                    images = conditions.reference.rotating.images
                    answers = start.ask("check", images=images)["answers"]
            except Failed as failure:  # the run says why
                if failure.status == "timeout":
                    late.append(engine)
                if failure.status in ("timeout", "unavailable"):
                    break
                continue
            voices.append(_Voice(engine, answers, conditions.reference.allowed(entry.tolerance)))
            break
    return late


def _ways(options: CompareOptions, entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    """The ways to ask each engine: those that are measured first, then those on the CPU.

    Variants are one voice.
    """
    assert options.model
    able = CALLERS[options.model.file.suffix]
    named = {entry.name: entry for entry in entries if not entry.factory}
    installed = [name for name in able if name in named or is_installed(find(name)[0])]
    ways: dict[str, list[Entry]] = {}
    for name in dict.fromkeys((*installed, *named)):
        if _reads(name, options.model):
            engine = find(name)[0].name.removesuffix(ON_GPU)
            entry = named.get(name) or Entry.of_backend(
                name, options.threads, hide_output=options.hide_output
            )
            ways.setdefault(_KIN.get(engine, engine), []).append(entry)
    return dict(sorted(ways.items(), key=lambda way: all(one.name not in named for one in way[1])))


def _is_settled(voices: Sequence[_Voice], left: int) -> bool:
    """Whether the evaluator's group is larger than any other can become with so many more."""
    if not voices or voices[0].name != REFERENCE:
        return False
    agreeing = len(_group(voices[0], voices))
    return agreeing > len(voices) - agreeing + left


def _verdict(voices: Sequence[_Voice]) -> _Verdict:
    """The answers of the largest group; of each, where several are as large."""
    groups = {voice.name: _group(voice, voices) for voice in voices}
    if not voices:
        return _Verdict("none, since nothing answers", "nobody", [])

    def rank(voice: _Voice) -> tuple[int, bool, float]:
        return len(groups[voice.name]), voice.name == REFERENCE, -voice.allowed

    best, *others = sorted(voices, key=rank, reverse=True)
    rivals = [best]
    for voice in others:
        alone = all(voice.name not in groups[rival.name] for rival in rivals)
        if alone and len(groups[voice.name]) == len(groups[best.name]):
            rivals.append(voice)
    right = [rival.answers for rival in rivals]
    named = [listed(groups[rival.name]) for rival in rivals]
    if len(rivals) > 2 and len(groups[best.name]) == 1:
        raise LenetBenchError(
            f"no two of {listed([one.name for one in rivals])} agree, so none can be believed"
        )
    if len(rivals) > 1:
        off = max(_difference(rival.answers, best.answers) for rival in rivals)
        judge = ", or ".join(named)
        return _Verdict(
            f"{judge}, which differ by {off:.2g}: who is right is unknown", judge, right
        )
    if best.name == REFERENCE:
        return _Verdict(
            REFERENCE + ("" if others else " alone: nothing else answers"), REFERENCE, right
        )
    if not others:
        return _Verdict(f"{best.name}, the only engine that answers", best.name, right)
    reference = next((voice for voice in others if voice.name == REFERENCE), None)
    if reference and REFERENCE not in groups[best.name]:
        off = _difference(reference.answers, best.answers)
        against = listed([one for one in groups[REFERENCE] if one not in groups[best.name]])
        differ = "differ" if " and " in against else "differs"
        return _Verdict(f"{named[0]}, from which {against} {differ} by {off:.2g}", named[0], right)
    return _Verdict(f"{named[0]}, which agree", named[0], right)


def _group(voice: _Voice, voices: Iterable[_Voice]) -> list[str]:
    """Who agrees with it, itself included."""
    return [
        other.name
        for other in voices
        if _difference(other.answers, voice.answers) <= max(other.allowed, voice.allowed)
    ]


def _has_nan(answers: Answers) -> bool:
    return any(np.isnan(one).any() for answer in answers for one in answer)


def _from_nearest(found: Answers, expected: Sequence[Sequence[Sequence[Array]] | None]) -> float:
    """The distance from those of the right answers that are nearest: of each input, all of them."""
    if any(right is None for right in expected):
        return inf
    each = zip(*(right for right in expected if right), strict=True)
    return min((_difference(found, right) for right in each), default=0.0)


def _difference(found: Answers, expected: Answers) -> float:
    """Of all inputs the farthest; NaN stays."""
    return float(np.max([*map(_distance, found, expected)], initial=0.0))


def _distance(found: Sequence[Array], expected: Sequence[Array] | None) -> float:
    """Of one input's outputs the farthest: relative L2 distance; infinity for another shape."""
    distances = [0.0]
    if expected is None or len(found) != len(expected):
        return float("inf")
    for one, other in zip(found, expected, strict=True):
        if one.size != other.size:
            return float("inf")
        if "b" in (one.dtype.kind, other.dtype.kind):  # an engine may have numbers in their place
            one, other = one != 0, other != 0
        a, b = one.ravel().astype(np.float64), other.ravel().astype(np.float64)
        with np.errstate(invalid="ignore"):
            # Infinities and NaN are equal where both have them.
            off = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, a - b)
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
