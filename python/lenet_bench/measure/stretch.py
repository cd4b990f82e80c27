"""A stretch of timed calls, and whether its times agree with the clock of another process.

A backend can change what its own process measures and reports. It cannot change how long the
parent waits for the answer. That is never shorter than the calls, and on a busy machine it can be
much longer: then the kernel says how long the two processes waited for a core, which counts for
neither. What remains is wide enough that only times of another size contradict it. One stretch
whose calls explain 85 % of the wait is enough.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from .. import units
from ..network import IMAGE
from ..subjects.subject import Known
from ..undisturbed import are_quick, quickest
from .calls import time_calls
from .messages import Timed
from .watch import Delays

# The harness's own time at most: of an empty call, so many times; for each stretch; as a share of
# the wait. On an AMD EPYC they are 0.4 us a call, 0.7 ms, and 2 % (the reference loop).
_CALLS, _STRETCH_NS, _SHARE = 2.5, 500_000, 0.15
_EMPTY_TURNS, _EMPTY_S = 5, 0.001
# Of the wait for a core, from which a machine is disturbed; and the share that is allowed there.
_DELAYED, _SHARE_DISTURBED = 0.05, 0.4
_SLOWER, _AT_LEAST_US = 1.5, 1.0


@dataclass(frozen=True)
class Stretch:
    """Calls with some images: the process's answer, and how long the parent waited for it."""

    answer: Timed
    known: Known
    waited_ns: int
    delays: Delays  # of both processes, within the wait

    @property
    def median_us(self) -> float:
        return float(np.median(self.answer.samples_ns)) / 1000

    @property
    def timed_ns(self) -> int:
        return int(self.answer.samples_ns.sum())

    @property
    def is_disturbed(self) -> bool:
        """Whether it waited for a core, or few of its calls were in quiet slices."""
        if self.delays.waited_ns > _DELAYED * self.waited_ns:
            return True
        slices = self.answer.slices
        least = quickest(loops for _, *loops in slices)
        quiet = sum(calls for calls, *loops in slices if are_quick(loops, least))
        return bool(2 * quiet < sum(calls for calls, *_ in slices))

    @property
    def needed_ns(self) -> int:
        """The part of the wait in which nothing waited for a core."""
        return self.waited_ns - min(self.delays.waited_ns, self.waited_ns)

    @property
    def claimed_ns(self) -> float:
        """The timed calls without what their waits for a core were at most.

        Those are in no more calls than the process lost its core, and in the longest ones.
        """
        longest = np.sort(self.answer.samples_ns)[::-1][: self.delays.times]
        excess_ns = float((longest - np.median(self.answer.samples_ns)).clip(0).sum())
        return self.timed_ns - min(excess_ns, self.delays.waited_ns)

    def is_explained(self, own_ns: float) -> bool:
        """Whether timed calls + own time >= the wait; `own_ns` is that of an empty call."""
        share = _SHARE_DISTURBED if self.is_disturbed else _SHARE
        return self.claimed_ns + self._allowed_ns(own_ns) >= (1 - share) * self.needed_ns

    def agrees(self, calls_us: float, own_ns: float) -> bool:
        """Whether its times are those of the wait, and as fast as these.

        A call that waits for a core is slow, so the time that it needed counts there.
        """
        needed_us = (self.needed_ns - self._allowed_ns(own_ns)) / self._count / 1000
        return self.is_explained(own_ns) and not slower(min(self.median_us, needed_us), calls_us)

    @property
    def _count(self) -> int:
        return len(self.answer.samples_ns)

    def _allowed_ns(self, own_ns: float) -> float:
        return _STRETCH_NS + _CALLS * own_ns * self._count


def own_call_ns() -> float:
    """What the harness needs for an empty call beside the timed part, on this machine."""
    inputs = [np.zeros(IMAGE, np.float32)]
    found = []
    for _ in range(_EMPTY_TURNS):  # the least: the machine may be disturbed
        calls = time_calls(lambda _: None, inputs, _EMPTY_S, fewest=100)
        found.append((calls.wall_ns - sum(calls.samples_ns)) / calls.made)
    return min(found)


def slower(us: float, than_us: float) -> bool:
    """Whether `us` exceeds `than_us` by more than noise can when it happens repeatedly."""
    return us >= than_us * _SLOWER + _AT_LEAST_US


def joined(stretches: Sequence[Stretch]) -> dict[str, Any]:
    """What a block says of its stretches."""
    answers = [stretch.answer for stretch in stretches]
    sums = ("made", "wall_ns", "cpu_ns", "preempted", "waited")
    return {
        "samples_ns": tuple(chain.from_iterable(one.samples_ns.tolist() for one in answers)),
        "slices": tuple(chain.from_iterable(one.slices for one in answers)),
        **{name: sum(getattr(one, name) for one in answers) for name in sums},
    }


def disagreement(stretches: Sequence[Stretch], own_ns: float = 0.0) -> str:
    """How the backend's times contradict the parent's clock, or each other."""
    fastest_us = min(one.median_us for one in stretches)
    explained = (one.median_us for one in stretches if one.is_explained(own_ns))
    explained_us = min(explained, default=0.0)
    if explained_us > fastest_us:
        return (
            f"it changed its times: a call took {units.time(fastest_us)}, but "
            f"{units.time(explained_us)} where lenet-bench's own clock agrees"
        )
    best = max(stretches, key=lambda one: one.timed_ns / one.waited_ns)
    calls = units.counted(len(best.answer.samples_ns), "call")
    return (
        f"it changed its times: {calls} took {units.time(best.timed_ns / 1000)} by its own clock, "
        f"while lenet-bench waited {units.time(best.waited_ns / 1000)} for them"
    )
