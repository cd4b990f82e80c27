"""A stretch of timed calls, and whether its times agree with the clock of another process.

A backend can change what its own process measures and reports. It cannot change how long the
parent waits for the answer. That is never shorter than the calls, and on a busy machine it can be
much longer. So the longest share of the wait that a stretch explains is the one that counts.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import units
from .reference_answers import Known

# The harness's own time at most: for each call, for each stretch, and as a share of the wait. On an
# AMD EPYC they are 0.4 us, 0.7 ms, and 2 % (the reference loop).
_CALL_NS, _STRETCH_NS, _SHARE = 1000, 500_000, 0.15
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

    def agrees(self, calls_us: float) -> bool:
        """Whether timed calls + own time >= the wait, and the calls are as fast as these."""
        own_ns = _STRETCH_NS + _CALL_NS * len(self.answer["samples_ns"])
        explained = self.timed_ns + own_ns >= (1 - _SHARE) * self.waited_ns
        return explained and not slower(self.median_us, calls_us)


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


def disagreement(stretches: Iterable[Stretch]) -> str:
    """What the parent's clock says of the stretch that agrees best."""
    best = max(stretches, key=lambda one: one.timed_ns / one.waited_ns)
    calls = units.counted(len(best.answer["samples_ns"]), "call")
    return (
        f"it changed its times: {calls} took {units.time(best.timed_ns / 1000)} by its own clock, "
        f"while lenet-bench waited {units.time(best.waited_ns / 1000)} for them"
    )
