"""Can the verdicts of `compare` be trusted here? Identical backends, planted slowdowns and cheats.

    python bench/self_test.py [BACKEND] [--starts N] > FILE.json        some minutes

One comparison has six entries that are the same backend, nine that are made slower (three each by
2, 5 and 10 %), and three that cheat. It is divided into comparisons of a pair, each of as many
starts as the README's result has. Each point is printed to stderr, the JSON to stdout.
"""

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from math import sqrt
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from lenet_bench import CompareOptions, load
from lenet_bench.measure.comparison import compare
from lenet_bench.measure.options import Entry
from lenet_bench.results import Result, start_medians_us
from lenet_bench.results.statistics import CONFIDENCE, Interval, judge, ratio_interval
from lenet_bench.show.sentences import conditions
from lenet_bench.units import percent
from lenet_bench.units import time as time_of
from lenet_bench.weights import Weights
from msgspec import to_builtins

BACKEND, SLOWDOWN = "LENET_BENCH_SELF_TEST_BACKEND", "LENET_BENCH_SELF_TEST_SLOWDOWN"
STARTS = 15  # of each backend in the README's result
PAIRS = 3
COMPARISONS = 7  # of each pair: one wrong verdict among 21 is less than 5 %
RIGHT = 0.95  # of the verdicts
LARGEST_FLOOR = 0.10  # of a call
SAME = tuple(f"same {number + 1}" for number in range(2 * PAIRS))
SLOWER = {by: tuple(f"{by:.0%} slower {n + 1}" for n in range(PAIRS)) for by in (0.02, 0.05, 0.10)}


class Planted:
    """The backend that the environment names, with something done to its answers."""

    def __init__(self, weights: Weights, *, threads: int) -> None:
        self._backend = load(os.environ[BACKEND], threads=threads, weights=weights)
        self._slowdown = float(os.environ[SLOWDOWN])
        self._known: dict[bytes, Any] = {}
        self._asked = Counter[bytes]()

    def infer(self, images: Any) -> Any:
        """Answer, then wait for SLOWDOWN of what it took. Even a wait of zero costs 1.7 us, so a
        backend and its slower twin both wait, and in a loop, since sleeping would be too coarse.
        """
        began = time.perf_counter_ns()
        answer = self._backend.infer(images)
        end = began + int((time.perf_counter_ns() - began) * (1 + self._slowdown))
        while time.perf_counter_ns() < end:
            pass
        return answer

    def describe(self) -> dict[str, str]:
        return {**self._backend.describe(), "planted": type(self).__name__}


class Remembering(Planted):
    """Returns the answer that it gave before."""

    def infer(self, images: Any) -> Any:
        key = images.tobytes()
        if key not in self._known:
            self._known[key] = self._backend.infer(images)
        return np.array(self._known[key])


class Wrong(Planted):
    """Gives probabilities with an error in the fourth digit."""

    def infer(self, images: Any) -> Any:
        return self._backend.infer(images) * np.float32(0.999)


class WrongLater(Wrong):
    """Answers an image correctly only as often as it is checked before the timing."""

    def infer(self, images: Any) -> Any:
        self._asked[images.tobytes()] += 1
        wrong = self._asked[images.tobytes()] > 2
        return super().infer(images) if wrong else self._backend.infer(images)


CHEATS = {
    "remembers answers": Remembering,
    "answers wrongly": Wrong,
    "answers wrongly when timed": WrongLater,
}


def entry(name: str, backend: str, factory: type[Planted] = Planted, by: float = 0.0) -> Entry:
    honest = Entry.of_backend(backend, threads=1)
    return replace(
        honest,
        name=name,
        factory=f"{Path(__file__).stem}:{factory.__name__}",
        path=(str(Path(__file__).parent),),
        variables={**honest.variables, BACKEND: backend, SLOWDOWN: str(by)},
    )


def entries(backend: str) -> Iterator[Entry]:
    yield from (entry(name, backend) for name in SAME)
    for by, names in SLOWER.items():
        yield from (entry(name, backend, by=by) for name in names)
    yield from (entry(name, backend, cheat) for name, cheat in CHEATS.items())


@dataclass(frozen=True)
class Point:
    """One thing that the harness must be able to do, and whether it did it."""

    name: str
    verdict: str  # passed, failed or too noisy
    says: str


def points(result: Result, starts: int = STARTS) -> Iterator[Point]:
    margin = result.rules.margin
    identical = intervals(result, SAME[::2], SAME[1::2], starts)
    said = Counter(judge(one, margin) for one in identical)
    wrong = said["faster"] + said["slower"]
    yield judged("identical backends", "called the same", said["same"], wrong, len(identical))
    held = sum(one.low <= 1 <= one.high for one in identical)
    share = share_interval(held, len(identical))
    yield Point(
        "intervals hold the truth",
        "passed" if share[1] >= CONFIDENCE else "failed",
        f"{held} of {len(identical)} hold the true ratio, 1 (a share of {percent(*share)})",
    )
    for by, names in SLOWER.items():
        slowed = intervals(result, names, SAME[::2], starts)
        found = sum(one.low > 1 for one in slowed)
        said = Counter(judge(one, margin) for one in slowed)
        wrong = said["faster"] + (said["same"] if by > margin else 0)
        demanded = found if by > margin else len(slowed)  # one within the margin may be missed
        name = f"a slowdown of {by:.0%}"
        yield judged(name, "found", found, wrong, len(slowed), demanded=demanded)
    for name in CHEATS:
        row = result.backend(name)
        caught = row.status == "wrong"
        says = f"caught: {row.reason}" if caught else f"not caught: its status is {row.status}"
        yield Point(f"a backend that {name}", "passed" if caught else "failed", says)
    floor, call = (row.summary if row else None for row in (result.floor, result.backend(SAME[0])))
    assert floor is not None
    assert call is not None
    assert floor.p50_us is not None
    assert call.p50_us is not None
    small = floor.p50_us <= LARGEST_FLOOR * call.p50_us
    says = f"an empty backend takes {time_of(floor.p50_us)} of a call of {time_of(call.p50_us)}"
    yield Point("the floor", "passed" if small else "failed", says)


def judged(
    name: str, what: str, right: int, wrong: int, count: int, demanded: int | None = None
) -> Point:
    """A verdict on so many comparisons, with the least share that they show."""
    low, _ = share_interval(right, count)
    says = f"{what} in {right} of {count} comparisons, so in at least {percent(low, places=0)} of "
    says += f"all (at {percent(CONFIDENCE, places=0)} confidence); wrong in {wrong}"
    if wrong > (1 - RIGHT) * count:
        return Point(name, "failed", says)
    enough = (right if demanded is None else demanded) >= RIGHT * count > 0
    return Point(name, "passed" if enough else "too noisy", says)


def intervals(
    result: Result, ones: Sequence[str], others: Sequence[str], starts: int
) -> list[Interval]:
    """Of all comparisons of so many starts; no two have a start in common."""
    found: list[Interval] = []
    for one, other in zip(ones, others, strict=True):
        left, right = (start_medians_us(result.backend(name).blocks) for name in (one, other))
        rounds = sorted(left.keys() & right.keys())
        for end in range(starts, len(rounds) + 1, starts):
            some = rounds[end - starts : end]
            new, old = ({n: medians[n] for n in some} for medians in (left, right))
            found += filter(None, [ratio_interval(new, old, seed=len(found))])
    return found


def share_interval(hits: int, of: int) -> tuple[float, float]:
    """Wilson's interval of the share, at CONFIDENCE; by hand, since a user may have no SciPy."""
    if not of:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    middle = (hits + z * z / 2) / (of + z * z)
    half = z / (of + z * z) * sqrt(hits * (of - hits) / of + z * z / 4)
    return max(0.0, middle - half), min(1.0, middle + half)


def main(*arguments: str) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("backend", nargs="?", default="numpy")
    parser.add_argument("--starts", type=int, default=STARTS, help="of each comparison")
    options = parser.parse_args(arguments)
    planted = tuple(entries(options.backend))
    result = compare(CompareOptions(planted, SAME[0], rounds=COMPARISONS * options.starts))
    found = list(points(result, options.starts))
    for point in found:
        print(f"{point.name}: {point.verdict}: {point.says}", file=sys.stderr)
    content = {
        "started": result.started,
        "conditions": conditions(result),
        "machine": to_builtins(result.machine),
        "points": [asdict(point) for point in found],
        "warnings": result.warnings,
    }
    print(json.dumps(content, indent=1))
    return int(any(point.verdict != "passed" for point in found))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
