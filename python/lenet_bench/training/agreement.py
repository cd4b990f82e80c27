"""Whether frameworks that begin alike learn alike: their first losses, step by step.

Float32 sums in another order differ in their last bits, and each step hands the difference on,
larger by a factor that grows with the rate. Training is chaotic, so two correct frameworks part
sooner or later. So the first steps are compared, at the rate that a cycle begins with, apart from
the run itself. docs/training.md shows what was measured.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

STEPS = 100
TOLERANCE = 0.002


@dataclass(frozen=True)
class Agreement:
    """The largest difference between the losses of two frameworks at the same step."""

    frameworks: tuple[str, ...]
    steps: int  # that were compared, from the first
    tolerance: float
    difference: float
    step: int  # where it was found, from 1
    lowest: str  # the frameworks that differ most there
    highest: str
    so_far: tuple[float, ...]  # the largest difference up to each step

    @property
    def holds(self) -> bool:
        """Whether all stay within the tolerance."""
        return self.difference <= self.tolerance


def agreement(losses: Mapping[str, Sequence[float]]) -> Agreement | None:
    """Compare the losses of all frameworks that have any; None where that is only one."""
    losses = {framework: values for framework, values in losses.items() if values}
    if len(losses) < 2:
        return None
    steps = [dict(zip(losses, step, strict=True)) for step in zip(*losses.values(), strict=False)]
    worst = max(steps, key=_spread)
    return Agreement(
        frameworks=tuple(losses),
        steps=len(steps),
        tolerance=TOLERANCE,
        difference=_spread(worst),
        step=1 + steps.index(worst),
        lowest=min(worst, key=worst.__getitem__),
        highest=max(worst, key=worst.__getitem__),
        so_far=tuple(accumulate(map(_spread, steps), max)),
    )


def _spread(step: Mapping[str, float]) -> float:
    return max(step.values()) - min(step.values())
