"""Can the verdicts of `compare` be trusted here? Identical backends, planted slowdowns and cheats.

    python bench/self_test.py FOLDER [--starts N]        for 40 starts, twenty minutes to an hour
    python bench/self_test.py FOLDER --until-decided     how soon two backends are: ten minutes

A comparison for each of four backends has entries that are that backend, and entries that are made
3 % slower; one has three that cheat, too. No two identical pairs share an entry, nor do two that
are slower. FOLDER gets a result of each backend, which is continued where it is there, and
points.json. Each point is printed to stderr. With --until-decided it gets decided.json instead: two
that are equal, and one that is 5 % slower, are compared again and again by `--until decided`.
"""

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from math import sqrt
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from lenet_bench import CompareOptions, load
from lenet_bench.measure.comparison import compare
from lenet_bench.measure.environment import read_machine
from lenet_bench.measure.options import Entry
from lenet_bench.results import BackendResult, Log, Result, as_result, read_log, read_result
from lenet_bench.results.read import settled, unsummarised
from lenet_bench.results.statistics import CONFIDENCE, Ratio, judge, ratio_of
from lenet_bench.show.sentences import conditions
from lenet_bench.units import percent
from lenet_bench.units import time as time_of
from lenet_bench.weights import Weights
from msgspec import to_builtins

BACKEND, SLOWDOWN = "LENET_BENCH_SELF_TEST_BACKEND", "LENET_BENCH_SELF_TEST_SLOWDOWN"
STARTS = 40
#: Pairs of each backend; one wrong verdict among 20 is 5 %. A start of Keras takes ten others'.
PAIRS = {"numpy": 6, "fused": 7, "litert": 6, "keras": 1}
CHEATED = "numpy"
BY = 0.03  # slower
#: Both of a pair wait, in a loop, since sleeping would be too coarse. To begin takes up to 2 us.
LEAST_WAIT_NS = 3000
RIGHT = 0.95  # of the verdicts
LARGEST_FLOOR = 0.10  # of a call
#: Also judged by so many starts each, in as many parts as there are.
FEWER = (6, 10, 15, 20)
#: `--until decided`: which backends, how often, how much slower, what is said within how many s.
QUICK, TRIES = ("fused", "litert"), 6
DECIDED = (("identical backends", 0.0, "same", 60), ("a slowdown of 5%", 0.05, "slower", 30))


class Planted:
    """The backend that the environment names, with something done to its answers."""

    def __init__(self, weights: Weights, *, threads: int) -> None:
        self._backend = load(os.environ[BACKEND], threads=threads, weights=weights)
        self._slowdown = float(os.environ[SLOWDOWN])
        self._known: dict[bytes, Any] = {}
        self._asked = Counter[bytes]()

    def infer(self, images: Any) -> Any:
        """Answer, then wait until the time it took and LEAST_WAIT_NS is longer by the slowdown."""
        began = time.perf_counter_ns()
        answer = self._backend.infer(images)
        took_ns = time.perf_counter_ns() - began + LEAST_WAIT_NS
        end = began + int(took_ns * (1 + self._slowdown))
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


def same(number: int) -> str:
    return f"same {number + 1}"


def slower(number: int) -> str:
    return f"{BY:.0%} slower {number + 1}"


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
    yield from (entry(same(number), backend) for number in range(2 * PAIRS[backend]))
    yield from (entry(slower(number), backend, by=BY) for number in range(PAIRS[backend]))
    if backend == CHEATED:
        yield from (entry(name, backend, cheat) for name, cheat in CHEATS.items())


@dataclass(frozen=True)
class Point:
    """One thing that the harness must be able to do, and whether it did it."""

    name: str
    verdict: str  # passed, failed or too noisy
    says: str


def points(
    logs: Mapping[str, Log], results: Mapping[str, Result], starts: int = STARTS
) -> Iterator[Point]:
    found = counts(logs, starts)
    count, held = found["comparisons"], found["hold the truth"]
    yield judged("identical backends", "called the same", found["same"], found["wrong"], count)
    share = share_interval(held, count)
    yield Point(
        "intervals hold the truth",
        "passed" if share[1] >= CONFIDENCE else "failed",
        f"{held} of {count} hold the true ratio, 1 (a share of {percent(*share)})",
    )
    slowed, wrong = found["slowdowns"], found["slowdowns missed"]
    yield judged(f"a slowdown of {BY:.0%}", "found", found["found"], wrong, slowed)
    for name in CHEATS:
        row = results[CHEATED].backend(name)
        caught = row.status == "wrong"
        says = f"caught: {row.reason}" if caught else f"not caught: its status is {row.status}"
        yield Point(f"a backend that {name}", "passed" if caught else "failed", says)
    floors = {name: shares(result) for name, result in results.items()}
    name = max(floors, key=lambda name: floors[name][0] / floors[name][1])
    floor_us, call_us = floors[name]
    small = floor_us <= LARGEST_FLOOR * call_us
    says = f"an empty backend takes {time_of(floor_us)} of a call of {time_of(call_us)}, {name}'s"
    yield Point("the floor", "passed" if small else "failed", says)


def by_starts(logs: Mapping[str, Log], starts: int) -> Iterator[dict[str, int]]:
    """What fewer starts would have said."""
    for fewer in (*(one for one in FEWER if one < starts), starts):
        yield {"starts": fewer, **counts(logs, fewer)}


def counts(logs: Mapping[str, Log], starts: int) -> dict[str, int]:
    """Of comparisons of so many starts: verdicts, and intervals that hold the truth."""
    margin = logs[CHEATED].header.rules.margin
    identical, slowed = (list(all_ratios(logs, starts, slow=slow)) for slow in (False, True))
    said, of_slowed = (Counter(judge(one, margin) for one in some) for some in (identical, slowed))
    return {
        "comparisons": len(identical),
        "same": said["same"],
        "wrong": said["faster"] + said["slower"],
        "hold the truth": sum(holds(one, 1.0) for one in identical),
        "slowdowns": len(slowed),
        "found": sum(map(is_found, slowed)),
        "slowdowns missed": of_slowed["faster"] + of_slowed["same"],
        "called slower": of_slowed["slower"],
    }


def holds(ratio: Ratio, truth: float) -> bool:
    return ratio.interval is not None and ratio.interval.low <= truth <= ratio.interval.high


def is_found(ratio: Ratio) -> bool:
    return ratio.interval is not None and ratio.interval.low > 1


def shares(result: Result) -> tuple[float, float]:
    """An empty call and the backend's, us."""
    floor, call = (row.p50_us if row else None for row in (result.floor, result.backend(same(0))))
    assert floor is not None
    assert call is not None
    return floor, call


def judged(name: str, what: str, right: int, wrong: int, count: int) -> Point:
    """A verdict on so many comparisons, with the least share that they show."""
    low, _ = share_interval(right, count)
    says = f"{what} in {right} of {count} comparisons, so in at least {percent(low, places=0)} of "
    says += f"all (at {percent(CONFIDENCE, places=0)} confidence); wrong in {wrong}"
    if wrong > (1 - RIGHT) * count:
        return Point(name, "failed", says)
    return Point(name, "passed" if right >= RIGHT * count > 0 else "too noisy", says)


def all_ratios(logs: Mapping[str, Log], starts: int, *, slow: bool) -> Iterator[Ratio]:
    """Of each pair, for each part of the run that has so many rounds, or for all of a shorter one.

    An identical pair is two entries that are the same; a slowed one has the first of these.
    """
    for backend, log in logs.items():
        every = 1 + max(block.round for block in log.blocks)
        rounds = min(starts, every)
        for end in range(rounds, every + 1, rounds):
            found = rows_of(log, end - rounds, end)
            for number in range(PAIRS[backend]):
                new = slower(number) if slow else same(2 * number + 1)
                yield ratio_of(found[new], found[same(2 * number)])


def rows_of(log: Log, first: int, end: int) -> dict[str, BackendResult]:
    """The entries by name, had the run been of these rounds only."""
    blocks = [block for block in log.blocks if first <= block.round < end]
    rows, _ = unsummarised(replace(log, blocks=settled(blocks, log.header.floor)))
    return {row.name: row for row in rows}


def share_interval(hits: int, of: int) -> tuple[float, float]:
    """Wilson's interval of the share, at CONFIDENCE; by hand, since a user may have no SciPy."""
    if not of:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    middle = (hits + z * z / 2) / (of + z * z)
    half = z / (of + z * z) * sqrt(hits * (of - hits) / of + z * z / 4)
    return max(0.0, middle - half), min(1.0, middle + half)


def measured(backend: str, folder: Path, starts: int) -> Log:
    """The backend's comparison, or what the folder has of it in the form for git."""
    kept = folder / f"{backend}.jsonl.gz"
    if kept.exists():
        return read_log(kept)
    print(f"{backend} ...", file=sys.stderr)
    output = folder / f"{backend}.jsonl"
    wanted = CompareOptions(tuple(entries(backend)), same(0), rounds=starts, output=output)
    if compare(wanted).ended == "interrupted":
        sys.exit(130)
    return read_log(output)


def decisions(folder: Path) -> Iterator[dict[str, Any]]:
    """Each comparison until it is decided, or for twice the time that it should take."""
    for number, backend, (point, by, verdict, within_s) in product(range(TRIES), QUICK, DECIDED):
        one, other = entry("one", backend), entry("other", backend, by=by)
        output = folder / f"{backend}-{verdict}-{number + 1}.jsonl"
        result = read_result(output) if output.exists() else None
        if result is None or result.ended == "interrupted":
            pair, budget_s = (one, other), 2.0 * within_s
            result = compare(
                CompareOptions(pair, one.name, budget_s=budget_s, until_decided=True, output=output)
            )
        if result.ended == "interrupted":
            sys.exit(130)
        row = result.backend(other.name)
        said = row.summary.verdict if row.summary else row.status
        yield {
            "point": point,
            "backend": backend,
            "expected": verdict,
            "within_s": within_s,
            "said": said,
            "took_s": round(result.elapsed_s, 1),
            "starts": len(row.blocks),
            "quiet_share": result.disturbance.quiet_share,
        }


def decided_points(every: Sequence[Mapping[str, Any]]) -> Iterator[Point]:
    """Whether each kind was decided rightly in time."""
    for name, _, verdict, within_s in DECIDED:
        own = [one for one in every if one["point"] == name]
        soon = [one for one in own if one["said"] == verdict and one["took_s"] <= within_s]
        wrong = sum(one["said"] not in (verdict, "ambiguous") for one in own)
        yield judged(name, f'called "{verdict}" within {within_s} s', len(soon), wrong, len(own))


def main(*arguments: str) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--starts", type=int, default=STARTS, help="of each entry")
    parser.add_argument("--until-decided", action="store_true", help="how soon two are decided")
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.until_decided:
        every = list(decisions(options.folder))
        found = list(decided_points(every))
        machine = to_builtins(read_machine())
        return written(options.folder / "decided.json", found, {"machine": machine, "runs": every})
    logs = {name: measured(name, options.folder, options.starts) for name in PAIRS}
    results = {name: as_result(log) for name, log in logs.items()}
    found = list(points(logs, results, options.starts))
    content = {
        "started": min(result.started for result in results.values()),
        "took_s": round(sum(result.elapsed_s for result in results.values())),
        "conditions": {name: conditions(result) for name, result in results.items()},
        "machine": to_builtins(results[CHEATED].machine),
        "by starts": list(by_starts(logs, options.starts)),
        "warnings": {name: result.warnings for name, result in results.items()},
    }
    return written(options.folder / "points.json", found, content)


def written(path: Path, found: Sequence[Point], content: Mapping[str, Any]) -> int:
    """Print the points and write them, with what they are from; 1 where one did not pass."""
    for point in found:
        print(f"{point.name}: {point.verdict}: {point.says}", file=sys.stderr)
    every = {**content, "points": [asdict(point) for point in found]}
    path.write_text(f"{json.dumps(every, indent=1)}\n")
    return int(any(point.verdict != "passed" for point in found))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
