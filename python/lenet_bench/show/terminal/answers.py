"""The answers of `infer`, what a call takes, and the verdicts of `verify` on each backend."""

from __future__ import annotations  # `infer` starts sooner without `verify`

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ... import units
from ...questions.infer import Answer, Answered, OpenBackend, Outcome
from ...texts import printable
from ...units import counted
from .screen import MARGIN, Screen, shorten
from .table import VERDICTS, Cell, Column, table

if TYPE_CHECKING:
    from ...questions.verify import Verification

_NOTABLE = 0.01  # a probability that is not dim
_WIDEST_BAR = 50  # of a probability


def in_full(screen: Screen, answered: Answered, *, show: bool) -> Iterator[str]:
    """The name and the digit, and the ten probabilities as bars beside what the network saw."""
    first = answered.answers[0]
    name, digit = printable(answered.image, keep=""), str(first.digit)
    yield f"{screen.paint(name, 'bold')}: {screen.paint(digit, 'bold green')}"
    yield ""
    picture = screen.picture(answered.seen) if show else []
    beside = len(answered.seen[0]) + 3 if show else 0
    columns = min(_WIDEST_BAR, screen.columns - beside - 16)
    bars = [_bar(screen, first, digit, columns) for digit in range(len(first.probabilities))]
    above = [""] * (max(0, len(picture) - len(bars)) // 2)
    for left, right in itertools.zip_longest(picture, above + bars, fillvalue=""):
        yield f"{MARGIN}{left}{'   ' if show else ''}{right}".rstrip()
    yield ""
    yield from _doubt(screen, first, MARGIN)
    yield from _dissent(screen, answered, MARGIN)


def in_short(screen: Screen, answered: Answered, images: Sequence[str]) -> Iterator[str]:
    """The name, the digit and its probability; more where the network is unsure."""
    width = min(max(map(len, images)), screen.columns // 3)
    name = shorten(printable(answered.image, keep=""), width)
    first = answered.answers[0]
    digit, certain = screen.paint(str(first.digit), "bold green"), first.probabilities.max()
    yield f"{MARGIN}{name:<{width}}  {digit} {100 * certain:7.2f} %"
    indent = MARGIN + " " * width + "  "
    yield from _doubt(screen, first, indent)
    yield from _dissent(screen, answered, indent)


def _doubt(screen: Screen, answer: Answer, indent: str) -> Iterator[str]:
    if answer.unsure:
        yield indent + screen.paint("unsure: is it one digit?", "yellow")


def _bar(screen: Screen, answer: Answer, digit: int, columns: int) -> str:
    """A digit, its bar and its probability in per cent."""
    probability = float(answer.probabilities[digit])
    drawn = screen.bar(probability, columns)
    if digit == answer.digit:
        styles = ("bold green", "green", "bold")
    else:
        quiet = "" if probability >= _NOTABLE else "dim"
        styles = (quiet, "cyan", quiet)
    blank = " " * (columns - len(drawn))
    texts = (str(digit), drawn, f"{100 * probability:6.2f} %")
    number, bar, per_cent = map(screen.paint, texts, styles)
    return f"{number}  {bar}{blank} {per_cent}"


def _dissent(screen: Screen, answered: Answered, indent: str) -> Iterator[str]:
    """Each backend that does not agree on this image."""
    for answer in answered.answers:
        if not answer.agrees:
            says = f"{answer.backend} says {answer.digit}, {100 * answer.probabilities.max():.2f} %"
            off = f"off by {answer.difference:.1g}" if answer.difference is not None else ""
            yield indent + screen.paint(f"✗ {says} ({off})", "red")


def times(
    screen: Screen, backends: Sequence[OpenBackend], outcomes: Sequence[Outcome]
) -> Iterator[str]:
    """The time of a call: a sentence for one backend, a table for several."""
    answers = [answer for outcome in outcomes for answer in getattr(outcome, "answers", ())]
    if not answers:
        return
    if len(backends) > 1:
        yield from _comparison(screen, backends, answers)
        return
    (opened,) = backends
    assert opened.timing is not None
    described = opened.backend.describe()
    who = f"{opened.name} ({described['isa']})" if "isa" in described else opened.name
    first, steady = units.time(opened.timing.first_us), units.time(opened.timing.steady_us)
    yield f"{MARGIN}{who}: first call {first}, then {screen.paint(steady, 'bold')} a call"


def _comparison(
    screen: Screen, backends: Sequence[OpenBackend], answers: Sequence[Answer]
) -> Iterator[str]:
    """The backends side by side: whether they agree, and their times."""
    own = [[answer for answer in answers if answer.backend == backend.name] for backend in backends]
    columns = [
        Column("backend", [backend.name for backend in backends], left=True, style="bold"),
        Column("answer", [_said(given) for given in own]),
        Column("difference", [_largest_difference(given) for given in own], leaves=2),
        Column("first call", [units.time(given[0].timing.first_us) for given in own], leaves=1),
        Column("steady", [units.time(given[0].timing.steady_us) for given in own], style="bold"),
    ]
    yield from table(screen, columns, MARGIN)


def _said(own: Sequence[Answer]) -> Cell:
    """The digit; of several images, on how many it agrees."""
    text = f"{own[0].digit} ({100 * own[0].probabilities.max():.2f} %)"
    if len(own) > 1:
        text = f"{sum(answer.agrees for answer in own)} of {len(own)} agree"
    return Cell(text, "" if all(answer.agrees for answer in own) else "red")


def _largest_difference(own: Sequence[Answer]) -> str:
    differences = [answer.difference for answer in own if answer.difference is not None]
    return f"{max(differences):.0e}" if differences else units.NONE


def verification(screen: Screen, results: Sequence[Verification]) -> Iterator[str]:
    """A line for each backend, then each image that a backend and the reference disagree on."""
    yield f"{counted(results[0].images, 'test image')} against the float64 reference"
    yield ""
    differences = [f"{row.max_difference:.1e}" for row in results]
    disagreements = [str(len(row.disagreements)) for row in results]
    far = ["" if row.passed else "red" for row in results]
    other = ["yellow" if row.disagreements else "" for row in results]
    columns = [
        Column("backend", [row.backend for row in results], left=True, style="bold"),
        Column("accuracy", [f"{100 * row.accuracy:.2f} %" for row in results]),
        Column("largest difference", list(map(Cell, differences, far))),
        Column("allowed", [f"{row.tolerance:.0e}" for row in results], style="dim", leaves=1),
        Column("disagreements", list(map(Cell, disagreements, other)), leaves=2),
        Column("", [VERDICTS[row.passed] for row in results], left=True),
    ]
    yield from table(screen, columns, MARGIN)
    for row in results:
        if images := row.disagreements:
            yield ""
            yield screen.paint(f"{row.backend} and the reference disagree on", "bold")
            columns = [
                Column("image", [str(image.index) for image in images]),
                Column("label", [str(image.label) for image in images]),
                Column("reference", [str(image.reference) for image in images]),
                Column(row.backend, [str(image.digit) for image in images]),
                Column("margin", [f"{image.margin:.1e}" for image in images]),
            ]
            yield from table(screen, columns, MARGIN)
