"""The order of a round: shuffled, and in a long one the baseline comes back.

The state of a machine drifts within a minute or two. Where a round takes longer, a backend is
compared with the baseline's starts just before and after its own.
"""

import random
from collections.abc import Iterator, Sequence
from math import ceil

from ..registry import without_threads
from ..results.read import DEFAULT_BASELINE
from .options import CompareOptions, Entry

#: A round of more backends is long.
_LONG = 24
#: So many blocks are between two of the baseline's.
_BETWEEN = 6


def shuffled(names: Sequence[str], seed: int) -> Iterator[list[str]]:
    """The endless orders of rounds: the same for the same names and seed."""
    generator = random.Random(seed)
    while True:
        order = list(names)
        generator.shuffle(order)
        yield order


def baseline_of(options: CompareOptions, entries: Sequence[Entry]) -> str | None:
    """The backend that ratios will be to; None where only the run can tell."""
    wanted = options.baseline or DEFAULT_BASELINE
    return next((one.name for one in entries if without_threads(one.name) == wanted), None)


def again_in(options: CompareOptions, baseline: str | None, count: int) -> list[str]:
    """The names of the baseline's further starts in a round of so many backends."""
    if baseline is None or options.breakdown or count <= _LONG:
        return []
    return [f"{baseline} #{number + 2}" for number in range(ceil((count - 1) / _BETWEEN))]


def with_baseline(names: Sequence[str], baseline: str | None, again: Sequence[str]) -> list[str]:
    """The order with the baseline first, every six blocks and last, as far as it is long."""
    others = [name for name in names if name != baseline]
    if baseline is None or baseline not in names or not again or len(others) <= _BETWEEN:
        return list(names)
    ends = range(_BETWEEN, len(others) + _BETWEEN, _BETWEEN)
    order = [baseline]
    for end, name in zip(ends, again, strict=False):
        order += [*others[end - _BETWEEN : end], name]
    return order + others[_BETWEEN * len(again) :]
