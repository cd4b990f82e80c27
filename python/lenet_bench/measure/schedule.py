"""Who runs when and until when: shuffled rounds, a turn's length, and the rules that end a run."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ..results import Ended
from .statistics import FEWEST_STARTS

_T = TypeVar("_T")

RESTARTED_S = 1.0  # a rung that takes longer to start is slow: it is not always started anew

_LONGEST_TURN_S = 0.06
_SHORTEST_TURN_S = 0.012
_WARM_SHARE = 1 / 6  # of a turn: caches refill within some calls, AVX-512's clocks within 1 ms
# Starts of numpy differ by 1.03 %, the rounds of a start by 0.39 %: so rather more starts. One
# round each where a start takes as long as three turns or less (30 % less time for the same
# interval where it takes 0.1 s), else two, so that a third of the time at least goes to timing.
_ROUNDS_A_START = 2
_TURNS_OF_A_QUICK_START = 3
_STARTS_TO_FIT = 8  # a short budget shortens the turns rather than the number of starts
CALLS_AFTER_GAPS = 10  # of a turn of calls with idle gaps

_USUAL_RESTARTS = 2  # of slow rungs, where no budget says how many there is time for
_RESTARTS_SHARE = 0.4  # of the budget, for those at most

BATCH_ROUNDS = 5
_BATCHES_SHARE = 1 / 3  # of the budget


@dataclass(frozen=True)
class StopRule:
    """The run ends when the first of these is reached; None never is."""

    budget_s: float | None = None  # the rounds' wall time, restarts included, the first start not
    precision: float | None = None  # 0.02: every median's interval within 2 % of it
    rounds: int | None = None

    def reached(self, elapsed_s: float, rounds: int, starts: int, widest: float) -> Ended | None:
        """Which rule ends the run now; `widest` is the worst interval, half of it, relative.

        A budget may be overrun, up to three times, where it would leave no verdict: on a busy
        machine the starts take longer than foreseen.
        """
        if self.rounds is not None and rounds >= self.rounds:
            return "rounds"
        if self.precision is not None and widest <= self.precision:
            return "precision"
        if self.budget_s is not None and rounds:
            budget_s = self.budget_s * (1 if starts >= FEWEST_STARTS else 3)
            if elapsed_s * (1 + 0.5 / rounds) >= budget_s:  # half of another round would be over
                return "budget"
        return None

    def progress(self, elapsed_s: float, rounds: int) -> float | None:
        """The share of the way to the end; None where only precision ends the run."""
        shares = [elapsed_s / self.budget_s] if self.budget_s else []
        shares += [rounds / self.rounds] if self.rounds else []
        return max(shares, default=None)


@dataclass(frozen=True)
class Pace:
    """How long a rung re-warms and is timed in a round, and how often the workers start anew."""

    warm_s: float
    timed_s: float
    rounds_a_start: int


def choose_pace(budget_s: float | None, rounds: int | None, rungs: int, start_s: float) -> Pace:
    """The usual pace, or a quicker one where the budget or the rounds would not hold enough starts.

    `start_s` is what one start of all the workers takes that are quick to start, 0 without any.
    """
    whole, rounds_a_start = _LONGEST_TURN_S, _ROUNDS_A_START
    if 0 < start_s <= _TURNS_OF_A_QUICK_START * rungs * whole:
        rounds_a_start = 1
    if rounds is not None:
        rounds_a_start = min(rounds_a_start, max(1, rounds // _STARTS_TO_FIT))
    if budget_s is not None:
        a_start_s = budget_s / _STARTS_TO_FIT - start_s  # left for the turns of each start
        if a_start_s < rungs * rounds_a_start * whole:
            rounds_a_start = 1
            whole = min(whole, max(a_start_s / rungs, _SHORTEST_TURN_S))
    return Pace(whole * _WARM_SHARE, whole * (1 - _WARM_SHARE), rounds_a_start)


def choose_restarts(budget_s: float | None, start_s: float) -> int:
    """How often slow rungs are started anew: often enough for intervals, if there is time.

    `start_s` is what one start of all of them takes.
    """
    if budget_s is None or not start_s:
        return _USUAL_RESTARTS
    return min(FEWEST_STARTS - 1, int(budget_s * _RESTARTS_SHARE / start_s))


def restart_is_due(done: int, wanted: int, progress: float | None) -> bool:
    """Whether it is time for another of a slow rung's restarts, evenly spread over the run."""
    return done < wanted and (progress is None or progress >= (done + 1) / (wanted + 1))


def with_gaps(pace: Pace, interval_s: float | None) -> Pace:
    """The pace for calls with idle time before each: no warm-up, and long enough for some.

    Such turns take long, so the workers start anew in each round.
    """
    if interval_s is None:
        return pace
    timed_s = max(pace.timed_s, CALLS_AFTER_GAPS * interval_s)
    return Pace(warm_s=0.0, timed_s=timed_s, rounds_a_start=1)


def share_budget(budget_s: float | None, sizes: int) -> tuple[float | None, float | None]:
    """What of the budget the single calls have, and what the batches."""
    if budget_s is None or not sizes:
        return budget_s, None
    return budget_s * (1 - _BATCHES_SHARE), budget_s * _BATCHES_SHARE


def batch_pace(budget_s: float | None, turns: int) -> Pace:
    """How long a rung is timed with one size of batch, where there are so many turns in a round."""
    whole = _LONGEST_TURN_S
    if budget_s is not None:
        whole = min(whole, max(budget_s / (BATCH_ROUNDS * turns), _SHORTEST_TURN_S))
    return Pace(whole * _WARM_SHARE, whole * (1 - _WARM_SHARE), rounds_a_start=BATCH_ROUNDS)


def shuffled(turns: Sequence[_T], seed: int) -> Iterator[list[_T]]:
    """The order of each round, for ever: the same for the same turns and seed."""
    generator = random.Random(seed)
    while True:
        order = list(turns)
        generator.shuffle(order)
        yield order
