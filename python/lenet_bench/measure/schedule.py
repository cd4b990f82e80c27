"""Who runs when and until when: shuffled rounds, a turn's length, and the rules that end a run."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..results import Ended

_LONGEST_TURN_S = 0.06
_SHORTEST_TURN_S = 0.012
_WARM_SHARE = 1 / 6  # of a turn: caches refill within some calls, AVX-512's clocks within 1 ms
_ROUNDS_A_START = 2  # starts differ more than rounds do, so rather more starts
_STARTS_TO_FIT = 8  # a short budget shortens the turns rather than the number of starts


@dataclass(frozen=True)
class StopRule:
    """The run ends when the first of these is reached; None never is."""

    budget_s: float | None = None  # the rounds' wall time, restarts included, the first start not
    precision: float | None = None  # 0.02: every median's interval within 2 % of it
    rounds: int | None = None

    def reached(self, elapsed_s: float, rounds: int, widest: float) -> Ended | None:
        """Which rule ends the run now, after so many rounds; `widest` is of the worst interval."""
        if self.rounds is not None and rounds >= self.rounds:
            return "rounds"
        if self.precision is not None and widest <= self.precision:
            return "precision"
        if self.budget_s is not None and rounds and elapsed_s * (1 + 0.5 / rounds) >= self.budget_s:
            return "budget"  # half of another round would be over
        return None


@dataclass(frozen=True)
class TurnLength:
    """How long a rung re-warms and is timed in each round."""

    warm_s: float
    timed_s: float


def turn_length(budget_s: float | None, rungs: int, start_s: float) -> TurnLength:
    """The usual turn, or a shorter one where the budget would not hold enough starts.

    `start_s` is what one start of all the workers takes.
    """
    whole = _LONGEST_TURN_S
    if budget_s is not None:
        left_s = budget_s - _STARTS_TO_FIT * start_s
        fitting = left_s / (_STARTS_TO_FIT * _ROUNDS_A_START * max(rungs, 1))
        whole = min(whole, max(fitting, _SHORTEST_TURN_S))
    return TurnLength(warm_s=whole * _WARM_SHARE, timed_s=whole * (1 - _WARM_SHARE))


def rounds_a_start(rounds: int | None) -> int:
    """After how many rounds the workers start anew: sooner where only few rounds are asked for."""
    if rounds is None:
        return _ROUNDS_A_START
    return min(_ROUNDS_A_START, max(1, rounds // _STARTS_TO_FIT))


def shuffled_rounds(names: Sequence[str], seed: int) -> Iterator[list[str]]:
    """The order of each round, for ever: the same for the same names and seed."""
    generator = random.Random(seed)
    while True:
        order = list(names)
        generator.shuffle(order)
        yield order
