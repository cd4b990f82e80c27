"""Whose answers to a model are right: the largest group of voices that agree.

ONNX's reference evaluator is one voice, and each engine that is installed here another, whether it
is measured or not: it is asked before the run, within a bound of time. Where two groups are equally
large, either is right.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite, sqrt
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import LenetBenchError
from ..registry import FLOAT32, find, is_installed, tolerance
from ..registry.backend import ON_GPU
from ..texts import listed
from .subject import Judge, Run, Subject

Array = NDArray[Any]
Answers = Sequence[Sequence[Array]]  # of each input, each output

REFERENCE = "ONNX's reference evaluator"
# TFLite Micro's kernels are the reference kernels of LiteRT's sources: two of one mind.
_KIN = {"tflite-micro": "litert"}
#: Smaller answers are judged as if they were as large: sigmoids near 0 are right to 5e-7.
_SMALL = 1e-3
_AMPLIFIED = 10  # times as far as the last bits of the weights move answers, rounding may
_LONGEST = 200  # characters for the head of the table


@dataclass(frozen=True)
class _Voice:
    """Who answered: the evaluator, or an engine."""

    name: str
    answers: Answers
    allowed: float  # distance of answers that agree with these
    asked: str = ""  # the engine's backend or variant


@dataclass(frozen=True)
class Verdict:
    """The answers that are right, as several where nothing decides between them."""

    arbiter: str  # for the head of the table
    judge: str  # who gave them
    right: Sequence[Answers]
    least: float = 0.0  # distance from them that is allowed to all

    def of_each(self, inputs: int) -> Array:
        """The right answers to each input; None where nothing answered."""
        found = np.full(inputs, None)
        for number, answers in enumerate(zip(*self.right, strict=True)):
            found[number] = answers
        return found


def verdict(
    subject: Subject,
    inputs: Sequence[Any],
    judge: Judge,
    reference: Answers | None,
    nudged: Subject | None,
    run: Run,
) -> Verdict:
    """Hear all voices, for half of what is left of the budget.

    `reference` is the evaluator's answers, and `nudged` the same model whose weights differ in
    their last bits.
    """
    longer, until_s = "--timeout", monotonic() + run.timeout_s
    half_s = (run.until_s + monotonic()) / 2
    if half_s < until_s:
        longer, until_s = "--budget", half_s
    run = replace(run, until_s=until_s)
    voices = [_Voice(REFERENCE, reference, judge.allowed(FLOAT32))] if reference else []
    late, is_refused = _hear(voices, subject, inputs, judge, run)
    if late and not (voices or is_refused):
        had = listed([f"{engine} had {seconds:.0f} s" for engine, seconds in late.items()])
        raise LenetBenchError(
            f"{subject.file_name}: no engine answered: {had}; give a larger {longer}"
        )
    found = _verdict(voices, some_late=bool(late))
    judgeable = [answers for answers in found.right if not _has_nan(answers)]
    if found.right and not judgeable:
        raise LenetBenchError(f"{subject.file_name}: its answers are NaN, so none can be judged")
    moved = _moved(found, voices, nudged, inputs, run) if nudged else 0.0
    rounding, arbiter = _AMPLIFIED * moved, found.arbiter
    if rounding > judge.allowed(FLOAT32):
        said = f"; the last bits of the weights move these by {moved:.2g}"
        arbiter = arbiter[: _LONGEST - len(said)] + said
    least = max(judge.least, rounding, *_allowed_by(found, voices))
    return replace(found, arbiter=arbiter[:_LONGEST], right=judgeable, least=least)


def _moved(
    found: Verdict, voices: Iterable[_Voice], nudged: Subject, inputs: Sequence[Any], run: Run
) -> float:
    """How far the right answers move with the last bits of the weights; 0 where nobody can say.

    An engine that is right is asked again, with the nudged weights.
    """
    for voice in voices:
        off = min((_difference(voice.answers, right) for right in found.right), default=inf)
        if voice.asked and off <= voice.allowed:
            run.tell(f"asking {voice.name} how far rounding moves its answers")
            asked = run.ask(nudged, voice.asked, inputs, run.until_s)
            moved = _difference(asked.answers, voice.answers) if asked.status == "ok" else inf
            return moved if isfinite(moved) else 0.0
    return 0.0


def _allowed_by(found: Verdict, voices: Iterable[_Voice]) -> list[float]:
    """The distances that the voices allow whose answers are right."""
    return [one.allowed for one in voices if any(one.answers is right for right in found.right)]


def _hear(
    voices: list[_Voice], subject: Subject, inputs: Sequence[Any], judge: Judge, run: Run
) -> tuple[dict[str, float], bool]:
    """Add an answer of each engine; return the engines for which their seconds were too short.

    Also whether one that is measured refused the model, whose row says why. Each has a quarter of
    the time. Ends where the evaluator's group can be neither outnumbered nor equalled any more.
    """
    ways = _ways(subject, run)
    quarter_s = (run.until_s - monotonic()) / 4
    late, is_refused = dict[str, float](), False
    for left, (engine, names) in zip(range(len(ways), 0, -1), ways.items(), strict=True):
        if _is_settled(voices, left):
            break
        for name in names:
            run.tell(f"asking {name} about the model")
            seconds = min(run.until_s - monotonic(), quarter_s)
            asked = run.ask(subject, name, inputs, monotonic() + seconds)
            if asked.status == "ok":
                allowed = judge.allowed(tolerance(name))
                voices.append(_Voice(_engine(name), asked.answers, allowed, name))
            if asked.status == "timeout":
                late[engine] = max(0.0, seconds)
            if asked.status in ("ok", "timeout", "unavailable"):
                break
            is_refused |= name in run.backends
    return late, is_refused


def _ways(subject: Subject, run: Run) -> dict[str, list[str]]:
    """The ways to ask each engine: those that are measured first, then those on the CPU.

    Variants are one voice.
    """
    able = [name for name in subject.backends("cpu") if is_installed(find(name)[0].for_a_file)]
    named = [name for name in run.backends if name in subject.backends(None)]
    ways: dict[str, list[str]] = {}
    for name in dict.fromkeys((*named, *able)):
        engine = _engine(name)
        ways.setdefault(_KIN.get(engine, engine), []).append(name)
    return ways


def _engine(name: str) -> str:
    return find(name)[0].name.removesuffix(ON_GPU)


def _is_settled(voices: Sequence[_Voice], left: int) -> bool:
    """Whether the evaluator's group is larger than any other can become with so many more."""
    if not voices or voices[0].name != REFERENCE:
        return False
    agreeing = len(_group(voices[0], voices))
    return agreeing > len(voices) - agreeing + left


def _verdict(voices: Sequence[_Voice], *, some_late: bool = False) -> Verdict:
    """The answers of the largest group; of each, where several are as large."""
    if not voices:
        return Verdict("none, since nothing answers", "nobody", [])
    groups = {voice.name: _group(voice, voices) for voice in voices}
    winners = _winners(voices, groups)
    judge = ", or ".join(listed(groups[winner.name]) for winner in winners)
    if len(winners) == 1 and winners[0].name == REFERENCE:
        judge = REFERENCE
    said = _sentence(winners, voices, groups, "answered in time" if some_late else "answers")
    return Verdict(f"{judge}{said}", judge, [winner.answers for winner in winners])


def _winners(voices: Sequence[_Voice], groups: Mapping[str, list[str]]) -> list[_Voice]:
    """A voice of each largest group."""

    def rank(voice: _Voice) -> tuple[int, bool, float]:
        return len(groups[voice.name]), voice.name == REFERENCE, -voice.allowed

    best, *others = sorted(voices, key=rank, reverse=True)
    winners = [best]
    for voice in others:
        apart = all(voice.name not in groups[winner.name] for winner in winners)
        if apart and len(groups[voice.name]) == len(groups[best.name]):
            winners.append(voice)
    if len(winners) > 2 and len(groups[best.name]) == 1:
        names = listed([winner.name for winner in winners])
        raise LenetBenchError(f"no two of {names} agree, so none can be believed")
    return winners


def _sentence(
    winners: Sequence[_Voice],
    voices: Sequence[_Voice],
    groups: Mapping[str, list[str]],
    answer: str,
) -> str:
    """What is said of the judge in the head of the table, after its name."""
    best = winners[0]
    agreeing = groups[best.name]
    if len(winners) > 1:
        off = max(_difference(winner.answers, best.answers) for winner in winners)
        return f", which differ by {off:.2g}: who is right is unknown"
    if len(voices) == 1:
        return (
            f" alone: nothing else {answer}"
            if best.name == REFERENCE
            else f", the only engine that {answer}"
        )
    reference = next((voice for voice in voices if voice.name == REFERENCE), None)
    if reference and REFERENCE not in agreeing:
        off = _difference(reference.answers, best.answers)
        against = listed([name for name in groups[REFERENCE] if name not in agreeing])
        differ = "differ" if " and " in against else "differs"
        return f", from which {against} {differ} by {off:.2g}"
    return "" if best.name == REFERENCE else ", which agree"


def _group(voice: _Voice, voices: Iterable[_Voice]) -> list[str]:
    """Who agrees with it, itself included."""
    return [
        other.name
        for other in voices
        if _difference(other.answers, voice.answers) <= max(other.allowed, voice.allowed)
    ]


def _has_nan(answers: Answers) -> bool:
    return any(np.isnan(one).any() for answer in answers for one in answer)


def from_nearest(found: Answers, expected: Sequence[Sequence[Sequence[Array]] | None]) -> float:
    """The distance from those of the right answers that are nearest: of each input, all of them."""
    if any(right is None for right in expected):
        return inf
    each = zip(*(right for right in expected if right), strict=True)
    return min((_difference(found, right) for right in each), default=0.0)


def _difference(found: Answers, expected: Answers) -> float:
    """Of all inputs the farthest; NaN stays."""
    return float(np.max([*map(distance, found, expected)], initial=0.0))


def distance(found: Sequence[Array], expected: Sequence[Array] | None) -> float:
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
        size = float(np.linalg.norm(b[np.isfinite(b)]))
        size = max(size, _SMALL * sqrt(b.size)) if size else 1.0
        distances.append(float(np.linalg.norm(off) / size))
    return float(np.max(distances))
