"""What LoadGen takes of a query of one rung: from blocks that lay `compare`'s way beside LoadGen's.

A fast call is slower under LoadGen than when calls follow each other, and LoadGen's clock sees more
than the call. An empty rung shows the latter only, so both are measured on the rung itself.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..measure.statistics import Interval, median_interval

_WIDEST = 0.1  # of the median that is expected; on a quiet machine it is 1 to 3 %


@dataclass(frozen=True)
class Block:
    """Medians of one process, one right after the other."""

    compare_us: float  # a turn of calls, as `compare` times them
    around_us: float  # LoadGen's latency of a query that is answered before the rung is called
    call_us: float  # that call, by `compare`'s clock: between two queries, not in one

    @property
    def query_us(self) -> float:
        """What LoadGen's median should be with the call within the query."""
        return self.around_us + self.call_us

    @property
    def overhead_us(self) -> float:
        """And what of it `compare` does not see."""
        return self.query_us - self.compare_us


@dataclass(frozen=True)
class Overhead:
    """What the blocks say: medians, and 95 % intervals over the blocks."""

    compare_us: float
    overhead_us: float
    overhead_low_us: float
    overhead_high_us: float
    around_us: float  # of the overhead, what LoadGen's clock sees before and after the call

    @classmethod
    def of(cls, blocks: Sequence[Block]) -> "Overhead":
        """Their summary; without enough blocks for an interval, from the least to the most."""
        found = [block.overhead_us for block in blocks]
        known = median_interval(found, seed=0) or Interval(min(found), max(found))
        return cls(
            compare_us=_median(blocks, lambda block: block.compare_us),
            overhead_us=float(np.median(found)),
            overhead_low_us=known.low,
            overhead_high_us=known.high,
            around_us=_median(blocks, lambda block: block.around_us),
        )

    @property
    def slower_us(self) -> float:
        """The rest: a call that finds the caches and branch predictors used by LoadGen."""
        return self.overhead_us - self.around_us

    @property
    def expected_us(self) -> float:
        """LoadGen's median, if it is `compare`'s and the overhead."""
        return self.compare_us + self.overhead_us

    def explains(self, p50_us: float, margin: float) -> bool | None:
        """Whether LoadGen's median is `compare`'s and the overhead, to within the margin.

        None where it is within an interval so wide that almost any median would be.
        """
        low = self.compare_us + self.overhead_low_us
        high = self.compare_us + self.overhead_high_us
        if not low * (1 - margin) <= p50_us <= high * (1 + margin):
            return False
        return True if high - low <= _WIDEST * self.expected_us else None


def _median(blocks: Sequence[Block], of: Callable[[Block], float]) -> float:
    return float(np.median([of(block) for block in blocks]))
