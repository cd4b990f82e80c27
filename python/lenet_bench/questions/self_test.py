"""Can the harness be trusted? Identical backends, planted slowdowns and cheats, in one run.

The run is an ordinary comparison, and every verdict is computed from its result. It is divided into
comparisons of a pair of backends each, with as many starts as the published figures have.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil, log, sqrt
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from ..measure import planted
from ..measure.options import CompareOptions, Entry
from ..results import Block, Result, counting, start_medians_us
from ..results.statistics import CONFIDENCE, FEWEST_STARTS, Floats, Interval, judge, ratio_interval
from ..units import percent, time

USUAL_BACKEND = "numpy"  # it runs wherever this does
PUBLISHED_STARTS = 15  # of each backend in the README's result, which a test holds it to
LONGEST_SELF_TEST_S = 1200.0
QUICK_SELF_TEST_BUDGET_S = 25.0

_PAIRS = 3
_SAME = tuple(f"same {number + 1}" for number in range(2 * _PAIRS))
_SLOWDOWNS = (0.02, 0.05, 0.10)
_SLOWER = {by: tuple(f"{by:.0%} slower {n + 1}" for n in range(_PAIRS)) for by in _SLOWDOWNS}
_CHEATS = {
    "remembers answers": planted.Remembering,
    "answers wrongly": planted.Wrong,
    "answers wrongly when timed": planted.WrongLater,
}
_RIGHT = 0.95  # of the verdicts
_FEWEST_PAIRS = 20  # one wrong verdict among fewer would be more than 5 %
_MARGIN = 0.02  # two backends that differ by less are the same
_LARGEST_FLOOR = 0.10  # of a call


Said = Literal["passed", "failed", "too noisy"]


@dataclass(frozen=True)
class Point:
    """One thing that the harness must be able to do, and whether it did it."""

    name: str
    verdict: Said
    says: str  # with the figures
    figures: Mapping[str, float | int | str | None] = field(default_factory=dict)


def self_test_options(
    backend: str = USUAL_BACKEND,
    *,
    threads: int = 1,
    quick: bool = False,
    budget_s: float | None = None,
    starts: int = PUBLISHED_STARTS,
    **others: Any,
) -> CompareOptions:
    """The comparison to run: for this long, else until there is enough for a verdict."""
    whole = Entry.of_backend(backend, threads)

    def entry(name: str, factory: type[planted.Planted], slowdown: float = 0.0) -> Entry:
        own = {planted.BACKEND: backend, planted.SLOWDOWN: str(slowdown)}
        return Entry(
            name,
            factory=f"{planted.__name__}:{factory.__name__}",
            tolerance=whole.tolerance,
            python=whole.python,
            variables={**whole.variables, **own},
        )

    entries = [
        *(entry(name, planted.Slower) for name in _SAME),
        *(entry(name, planted.Slower, by) for by, names in _SLOWER.items() for name in names),
        *(entry(name, cheat) for name, cheat in _CHEATS.items()),
    ]
    options = CompareOptions(tuple(entries), _SAME[0], threads, margin=_MARGIN, **others)
    if budget_s or quick:
        return replace(options, budget_s=budget_s or QUICK_SELF_TEST_BUDGET_S, least_rounds=1)
    return replace(options, budget_s=LONGEST_SELF_TEST_S, enough=partial(enough, starts=starts))


def enough(blocks: Sequence[Block], starts: int = PUBLISHED_STARTS) -> float:
    """The share of the comparisons needed by `points` that the run has; 1 is all."""
    medians = {
        name: start_medians_us(counting([block for block in blocks if block.backend == name]))
        for name in _SAME
    }
    return min(map(len, _identical(medians))) / (starts * ceil(_FEWEST_PAIRS / _PAIRS))


def points(result: Result, *, quick: bool = False, starts: int = PUBLISHED_STARTS) -> list[Point]:
    """The verdicts of a run of `self_test_options`; a `quick` one has too few pairs for 95 %."""
    medians = {row.name: start_medians_us(row.blocks) for row in result.backends}
    identical = _identical(medians)
    if quick:
        starts = max(FEWEST_STARTS, min(starts, *map(len, identical)))
    judged = _Judged(_noise(identical), starts, result.rules.margin, quick)
    return [
        judged.point("identical backends", identical),
        _held(identical, starts, fewest=1 if quick else _FEWEST_PAIRS),
        *(
            judged.point(f"a slowdown of {by:.0%}", _pairs(medians, names, _SAME[::2]), by)
            for by, names in _SLOWER.items()
        ),
        *(_caught(result, name) for name in _CHEATS),
        _floor(result),
    ]


@dataclass(frozen=True)
class _Judged:
    """Verdicts from the starts of pairs of backends."""

    noise: float  # how far the starts' ratios of identical backends scatter
    starts: int  # of a comparison
    margin: float
    quick: bool

    def point(self, name: str, pairs: Sequence[Floats], by: float = 0.0) -> Point:
        """Whether identical backends are called the same, or a slowdown of `by` is found.

        It is found where the ratio's interval lies above 1. Below the margin it may be missed.
        """
        intervals = _intervals(pairs, self.starts)
        said = Counter(judge(interval, self.margin) for interval in intervals)
        count = len(intervals)
        if by:
            what, right = "found", sum(interval.low > 1 for interval in intervals)
            wrong = said["faster"] + (said["same"] if by > self.margin else 0)
            rest = f"called slower in {said['slower']}"
        else:
            what, right = "called same", said["same"]
            wrong = said["faster"] + said["slower"]
            rest = f"ambiguous in {said['ambiguous']}"
        low, high = share_interval(right, count)
        ratio = _ratio(pairs)
        figures = {
            "comparisons": count,
            "right": right,
            "wrong": wrong,
            "share_low": low,
            "share_high": high,
            "starts": self.starts,
            "noise": self.noise,
            "ratio": ratio,
        }
        says = (
            f"{what} in {right} of {count} comparisons of {self.starts} starts, so in at "
            f"least {_whole(low)} of all (at {_whole(CONFIDENCE)} confidence); {rest}, wrong in "
            f"{wrong}"
        )
        if not count:
            says = f"the run was too short for a comparison of {self.starts} starts"
        if ratio is not None:
            says += f"; ratio {ratio:.3f}"
        verdict = self._verdict(count if 0 < by <= self.margin else right, count, wrong)
        if verdict == "too noisy":
            says += (
                f"; the ratios of starts scatter by {percent(self.noise, places=1)}: close other "
                "programs, or give more --starts or a longer --budget"
            )
        if intervals and not by:
            reach = [max(abs(log(one.low)), abs(log(one.high))) for one in intervals]
            figures["resolution"] = resolution = float(np.quantile(reach, _RIGHT))
            says += (
                f"; {_whole(_RIGHT)} of their intervals lie within {percent(resolution, places=1)} "
                "of 1, so a difference of that size can be shown on this machine"
            )
        return Point(name, verdict, says, figures)

    def _verdict(self, right: int, count: int, wrong: int) -> Said:
        if wrong > (1 - _RIGHT) * count:
            return "failed"
        if self.quick:
            return "passed" if count and right >= count / 2 else "too noisy"
        enough = count >= _FEWEST_PAIRS and right >= _RIGHT * count
        return "passed" if enough else "too noisy"


def _whole(share: float) -> str:
    return percent(share, places=0)


def share_interval(hits: int, of: int) -> tuple[float, float]:
    """Wilson's interval of the share, at CONFIDENCE."""
    if not of:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    middle = (hits + z * z / 2) / (of + z * z)
    half = z / (of + z * z) * sqrt(hits * (of - hits) / of + z * z / 4)
    return max(0.0, middle - half), min(1.0, middle + half)


def _identical(medians: Mapping[str, Mapping[int, float]]) -> list[Floats]:
    """Pairs of identical backends; no two pairs share a process."""
    return _pairs(medians, _SAME[::2], _SAME[1::2])


def _pairs(
    medians: Mapping[str, Mapping[int, float]], ones: Sequence[str], others: Sequence[str]
) -> list[Floats]:
    """For each pair, both medians of each round that both ran in (n, 2)."""
    return [
        np.array(
            [(medians[one][n], medians[other][n]) for n in medians[one] if n in medians[other]]
        ).reshape(-1, 2)
        for one, other in zip(ones, others, strict=True)
    ]


def _intervals(pairs: Sequence[Floats], starts: int) -> list[Interval]:
    """The intervals of all comparisons of so many starts; no two have a start in common."""
    blocks = (
        pair[end - starts : end] for pair in pairs for end in range(starts, len(pair) + 1, starts)
    )
    found = []
    for seed, block in enumerate(blocks):
        one, other = (dict(enumerate(column.tolist())) for column in block.T)
        if interval := ratio_interval(one, other, seed):
            found.append(interval)
    return found


def _ratio(pairs: Sequence[Floats]) -> float | None:
    """The ratio of the medians."""
    every = np.concatenate(pairs)
    one, other = np.median(every, axis=0) if len(every) else (0.0, 0.0)
    return float(one / other) if other else None


def _noise(pairs: Sequence[Floats]) -> float:
    """The standard deviation, estimated from the quartiles: outliers do not count."""
    ratios = [pair[:, 0] / pair[:, 1] for pair in pairs if len(pair)]
    known = [np.log(ratio / np.median(ratio)) for ratio in ratios]
    low, high = np.percentile(np.concatenate(known), (25, 75)) if known else (0.0, 0.0)
    return float(high - low) / (2 * NormalDist().inv_cdf(0.75))


def _held(pairs: Sequence[Floats], starts: int, *, fewest: int) -> Point:
    """Whether intervals hold the true ratio, which is 1 for identical backends."""
    intervals = _intervals(pairs, starts)
    held = sum(interval.low <= 1 <= interval.high for interval in intervals)
    low, high = share_interval(held, len(intervals))
    says = (
        f"{held} of {len(intervals)} intervals over {starts} starts hold the true ratio, 1 "
        f"(share {percent(low, high, places=0)} at {_whole(CONFIDENCE)} confidence)"
    )
    verdict: Said = "passed"
    if high < CONFIDENCE:
        verdict = "failed"
    elif len(intervals) < fewest:
        verdict, says = "too noisy", f"{says}: too few intervals; give a longer --budget"
    figures = {"intervals": len(intervals), "held": held, "share_low": low, "share_high": high}
    return Point("intervals hold the truth", verdict, says, figures)


def _caught(result: Result, name: str) -> Point:
    row = result.row(name)
    caught = row.status == "wrong"
    says = f"caught: {row.reason}" if caught else f"not caught: its status is {row.status}"
    return Point(f"a backend that {name}", "passed" if caught else "failed", says)


def _floor(result: Result) -> Point:
    """The time that the harness adds to every call."""
    floor = result.floor.summary.p50_us if result.floor and result.floor.summary else None
    summary = result.row(_SAME[0]).summary
    call = summary.p50_us if summary else None
    if floor is None or call is None:
        return Point("the floor", "failed", "the empty backend or the backend was not measured")
    small = floor <= _LARGEST_FLOOR * call
    share = percent(floor / call, places=2)
    says = f"an empty backend takes {time(floor)}, {share} of a call of {time(call)}"
    figures = {"floor_us": floor, "call_us": call}
    return Point("the floor", "passed" if small else "failed", says, figures)
