"""A stretch of timed calls, and whether its times agree with the clock of another process.

A backend can change what its own process measures and reports. It cannot change how long the
parent waits for the answer. That is never shorter than the calls, and on a busy machine it can be
much longer. So the longest share of the wait that a stretch explains is the one that counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import units
from ..network import IMAGE
from .calls import time_calls
from .reference_answers import Known

# The harness's own time at most: of an empty call, so many times; for each stretch; as a share of
# the wait. On an AMD EPYC they are 0.4 us a call, 0.7 ms, and 2 % (the reference loop).
_CALLS, _STRETCH_NS, _SHARE = 2.5, 500_000, 0.15
_EMPTY_TURNS, _EMPTY_S = 5, 0.001
_SLOWER, _AT_LEAST_US = 1.5, 1.0


@dataclass(frozen=True)
class Stretch:
    """Calls with some images: the process's answer, and how long the parent waited for it."""

    answer: dict[str, Any]
    images: Known
    waited_ns: int

    @property
    def median_us(self) -> float:
        return float(np.median(self.answer["samples_ns"])) / 1000

    @property
    def timed_ns(self) -> int:
        return int(self.answer["samples_ns"].sum())

    def is_explained(self, own_ns: float) -> bool:
        """Whether timed calls + own time >= the wait; `own_ns` is that of an empty call."""
        allowed_ns = _STRETCH_NS + _CALLS * own_ns * len(self.answer["samples_ns"])
        return self.timed_ns + allowed_ns >= (1 - _SHARE) * self.waited_ns

    def agrees(self, calls_us: float, own_ns: float) -> bool:
        """Whether its times are those of the wait, and as fast as these."""
        return self.is_explained(own_ns) and not slower(self.median_us, calls_us)


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


def joined(answers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The answers of a block's stretches as one."""
    sums = ("made", "wall_ns", "cpu_ns", "preempted", "waited")
    return {
        "samples_ns": np.concatenate([answer["samples_ns"] for answer in answers]),
        "slices": [one for answer in answers for one in answer["slices"]],
        **{name: sum(answer[name] for answer in answers) for name in sums},
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
    calls = units.counted(len(best.answer["samples_ns"]), "call")
    return (
        f"it changed its times: {calls} took {units.time(best.timed_ns / 1000)} by its own clock, "
        f"while lenet-bench waited {units.time(best.waited_ns / 1000)} for them"
    )
