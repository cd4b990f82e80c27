"""From raw samples to a value a round and a value a start, which all that is said builds on."""

from collections.abc import Sequence

import numpy as np

from ..results import RungResult, Turn
from .statistics import FEWEST_STARTS, Floats, by_start, ratios


def medians_us(turns: Sequence[Turn]) -> dict[int, float]:
    """Each round's median call."""
    return {turn.round: float(np.median(turn.samples_ns)) / 1000 for turn in turns}


def times_by_start(turns: Sequence[Turn], rounds_a_start: int) -> Floats:
    """Each start's median call, in microseconds."""
    return by_start(medians_us(turns), _starts(turns, rounds_a_start))


def ratios_by_start(rung: RungResult, base: RungResult, rounds_a_start: int) -> Floats:
    """The rung's ratio to another, taken round by round, in each start.

    Where the two were not started equally often, in each start of the one that has fewer.
    """
    both = [_starts(one.turns, rounds_a_start) for one in (rung, base)]
    fewer = min(both, key=lambda starts: len(set(starts.values())))
    return by_start(ratios(medians_us(rung.turns), medians_us(base.turns)), fewer)


def _starts(turns: Sequence[Turn], rounds_a_start: int) -> dict[int, int]:
    """Which start each round belongs to.

    A rung that is slow to start may have fewer of them than an interval needs. It is then taken
    to have been started as often as the others, and a warning says that it was not.
    """
    found = {turn.round: turn.start for turn in turns if turn.start is not None}
    if len(found) == len(turns) and len(set(found.values())) >= FEWEST_STARTS:
        return found
    return {turn.round: turn.round // rounds_a_start for turn in turns}
