"""Answers for people: each image's digit and probabilities, and what a call takes."""

from __future__ import annotations  # the types of one command are not imported for another

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..terminal import Screen, Text, printable, shorten, table_width
from .facts import MARGIN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from ..inference import Answer, Answered, OpenRung, Outcome

_NOTABLE = 0.01  # a probability that a short answer shows
_MOST_DIGITS = 3  # of a short answer
_WIDEST_BAR = 50  # of a probability
_WIDEST_TIME = 30  # and of a time


@dataclass(frozen=True)
class AnswerPrinter:
    """Prints the answers of one call: each image as it comes, and at last what a call takes."""

    screen: Screen
    images: Sequence[str]
    show: bool  # whether to draw what the network saw

    def answer(self, answered: Answered) -> Iterator[str]:
        """One image: in full where it is the only one or is shown, else in short."""
        if self.show or len(self.images) == 1:
            return _answer_in_full(self.screen, answered, show=self.show)
        return _answer_in_short(self.screen, answered, self.images)

    def times(self, rungs: Sequence[OpenRung], outcomes: Sequence[Outcome]) -> Iterator[str]:
        """A sentence for one rung, a table of several."""
        answers = [one for outcome in outcomes for one in getattr(outcome, "answers", ())]
        if not answers:
            return
        if not self.show and len(self.images) > 1:
            yield ""
        if len(rungs) == 1:
            yield _timing(self.screen, rungs[0])
        else:
            yield from _comparison(self.screen, rungs, answers)


def _answer_in_full(screen: Screen, answered: Answered, *, show: bool) -> Iterator[str]:
    """The name and the digit, and the ten probabilities as bars beside what the network saw."""
    first = answered.answers[0]
    name, digit = printable(answered.image), str(first.digit)
    yield f"{screen.paint(name, 'bold')}: {screen.paint(digit, 'bold green')}"
    yield ""
    picture = screen.picture(answered.seen) if show else []
    beside = len(answered.seen[0]) + 3 if show else 0
    bars = _bars(screen, first.probabilities, beside)
    above = max(0, len(picture) - len(bars)) // 2
    bars = [""] * above + bars
    for left, right in itertools.zip_longest(picture, bars, fillvalue=""):
        yield f"{MARGIN}{left}{'   ' if show else ''}{right}".rstrip()
    yield ""
    yield from _dissent(screen, answered, MARGIN)


def _answer_in_short(screen: Screen, answered: Answered, images: Sequence[str]) -> Iterator[str]:
    """One line: the name and the digit; more where the network hesitates."""
    width = min(max(map(len, images)), screen.columns // 3)
    name = shorten(printable(answered.image), width, screen.choose("…", "..."))
    probabilities = answered.answers[0].probabilities
    columns = min(_WIDEST_BAR, screen.columns - width - 18)
    for rank, digit in enumerate(np.argsort(-probabilities, kind="stable")[:_MOST_DIGITS]):
        probability = float(probabilities[digit])
        if rank and probability < _NOTABLE:
            break
        bar = _bar(screen, int(digit), probability, columns, best=rank == 0)
        yield f"{MARGIN}{('' if rank else name).ljust(width)}  {bar}"
    yield from _dissent(screen, answered, MARGIN + " " * width + "  ")


def _bars(screen: Screen, probabilities: NDArray[np.float32], beside: int) -> list[str]:
    columns = min(_WIDEST_BAR, screen.columns - beside - 16)
    best = int(probabilities.argmax())
    return [
        _bar(screen, digit, float(probability), columns, best=digit == best)
        for digit, probability in enumerate(probabilities)
    ]


def _bar(screen: Screen, digit: int, probability: float, columns: int, *, best: bool) -> str:
    """A digit, its bar and its probability in per cent."""
    drawn = screen.bar(probability, columns)
    blank = " " * (columns - len(drawn))
    per_cent = f"{100 * probability:6.2f} %"
    if best:
        digit_style, bar_style, number_style = "bold green", "green", "bold"
    else:
        digit_style = number_style = "" if probability >= _NOTABLE else "dim"
        bar_style = "cyan"
    return (
        f"{screen.paint(str(digit), digit_style)}  {screen.paint(drawn, bar_style)}{blank}"
        f" {screen.paint(per_cent, number_style)}"
    )


def _dissent(screen: Screen, answered: Answered, indent: str) -> Iterator[str]:
    """Each rung that does not agree on this image."""
    for answer in answered.answers:
        if not answer.agrees:
            says = f"{answer.backend} says {answer.digit}, {100 * answer.probabilities.max():.2f} %"
            off = f"off by {answer.difference:.1g}" if answer.difference is not None else ""
            yield indent + screen.paint(f"{screen.choose('✗', 'x')} {says} ({off})", "red")


def _timing(screen: Screen, rung: OpenRung) -> str:
    assert rung.timing is not None
    first, steady = _time(screen, rung.timing.first_us), _time(screen, rung.timing.steady_us)
    return f"{MARGIN}{_who(rung)}: first call {first}, then {screen.paint(steady, 'bold')} a call"


def _comparison(
    screen: Screen, rungs: Sequence[OpenRung], answers: Sequence[Answer]
) -> Iterator[str]:
    """The rungs side by side: whether they agree, and their times."""
    titles = ("rung", "answer", "difference", "first call", "steady")
    of_rungs = [[answer for answer in answers if answer.backend == rung.name] for rung in rungs]
    rows = [[Text(t, "dim") for t in titles], *(_comparison_row(screen, own) for own in of_rungs)]
    left = screen.columns - len(MARGIN) - table_width(rows)
    if left < 0:  # only the names can give way
        room = left + max(len(rung.name) for rung in rungs)
        for row, rung in zip(rows[1:], rungs, strict=True):
            row[0] = Text(shorten(rung.name, room, screen.choose("…", "...")), "bold")
    times = [own[0].timing.steady_us for own in of_rungs]
    bars = ("", *screen.bars(times, max(0, min(_WIDEST_TIME, left - 2))))
    rows = [[*row, Text(bar, "cyan")] for row, bar in zip(rows, bars, strict=True)]
    yield from (MARGIN + line for line in screen.table(rows, "lrrrrl"))


def _comparison_row(screen: Screen, own: Sequence[Answer]) -> list[Text]:
    timing = own[0].timing
    agreeing = sum(answer.agrees for answer in own)
    if len(own) == 1:
        told = f"{own[0].digit} ({100 * own[0].probabilities.max():.2f} %)"
    else:
        told = f"{agreeing} of {len(own)} agree"
    differences = [answer.difference for answer in own if answer.difference is not None]
    return [
        Text(own[0].backend, "bold"),
        Text(told, "" if agreeing == len(own) else "red"),
        Text(f"{max(differences):.0e}" if differences else ""),
        Text(_time(screen, timing.first_us)),
        Text(_time(screen, timing.steady_us), "bold"),
    ]


def _who(rung: OpenRung) -> str:
    """The rung and what it runs on: fused (AVX-512)."""
    described = rung.backend.describe()
    return f"{rung.name} ({described['isa']})" if "isa" in described else rung.name


def _time(screen: Screen, microseconds: float) -> str:
    if microseconds < 1000:
        return f"{microseconds:.1f} {screen.choose('µs', 'us')}"
    if microseconds < 1e6:
        return f"{microseconds / 1000:.2f} ms"
    return f"{microseconds / 1e6:.2f} s"
