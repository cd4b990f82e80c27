"""How often intervals of `compare` hold the truth, with starts that scatter as measured ones do.

    python bench/coverage.py RESULT [--runs 1000] [--json results/coverage/NAME.json]

A backend's measured starts give the distribution (their quantiles, and straight lines between)
that starts are drawn from; its median is the truth. The two-humped cases make a share of the drawn
starts slower. Ratios are to the result's baseline, whose starts are drawn in the same way.
"""

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from lenet_bench.results import read_result, start_medians_us
from lenet_bench.results.statistics import (
    CONFIDENCE,
    Floats,
    median_interval,
    ratio_interval,
)

STARTS = (6, 10, 15)  # of a simulated run
FEWEST = 10  # measured starts that show a distribution
APART = 1.14  # as far as the two modes of `fused` were
GRID = (np.arange(1000) + 0.5) / 1000  # of quantiles, to take a median from
#: Slow starts in six: of the backend, and of the baseline.
CASES = {
    "as measured": (0, 0),
    "a third of the starts slow": (2, 0),
    "half of the starts slow": (3, 0),
    "half of the starts slow, the baseline's too": (3, 3),
}

Held = Callable[[int], bool]


@dataclass(frozen=True)
class Starts:
    """Where starts come from."""

    measured: Floats
    slow: int  # of six

    def draw(self, random: np.random.Generator, count: int) -> Floats:
        """So many of them."""
        fast: Floats = np.quantile(self.measured, random.random(count))
        return fast * np.where(random.random(count) < self.slow / 6, APART, 1.0)

    @property
    def median(self) -> float:
        """The true one; of two humps with nothing between, the middle between them."""
        fast = np.quantile(self.measured, GRID)
        six = [fast] * (6 - self.slow) + [fast * APART] * self.slow
        return float(np.median(np.concatenate(six)))


def main() -> None:
    """Simulate, print, and write all of it if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result", type=Path)
    parser.add_argument("--runs", type=int, default=1000, help="of each backend and case")
    parser.add_argument("--json", type=Path, help="write all of it to this file")
    asked = parser.parse_args()
    found = simulated(asked.result, asked.runs)
    for one in found["cases"]:
        print(f"{one['case']}, {one['of']}, {one['starts']} starts: {one['share']:.1%}")
    if asked.json:
        asked.json.parent.mkdir(parents=True, exist_ok=True)
        asked.json.write_text(json.dumps(found, indent=1) + "\n")


def simulated(path: Path, runs: int) -> dict[str, Any]:
    """Each case's share of intervals that hold the truth."""
    return {
        "kind": "coverage",
        "schema": 1,
        "result": path.name,
        "promised": CONFIDENCE,
        "apart": APART,
        "runs": runs,
        "cases": list(cases(path, runs)),
    }


def cases(path: Path, runs: int) -> Iterator[dict[str, Any]]:
    """Of each case and count of starts: the median's intervals, then the ratio's."""
    result = read_result(path)
    measured = {
        row.name: np.array(list(start_medians_us(row.blocks).values()))
        for row in result.backends
        if len(row.blocks) >= FEWEST
    }
    for case, (slow, slow_base) in CASES.items():
        starts = {name: Starts(values, slow) for name, values in measured.items()}
        base = Starts(measured[result.baseline or ""], slow_base)
        for count in STARTS:
            medians = {name: held_median(one, count) for name, one in starts.items()}
            ratios = {
                name: held_ratio(one, base, count)
                for name, one in starts.items()
                if name != result.baseline
            }
            for of, every in (("median", medians), ("ratio", ratios)):
                shares = {
                    name: share(held, range(place * runs, (place + 1) * runs))
                    for place, (name, held) in enumerate(every.items())
                }
                mean = sum(shares.values()) / len(shares)
                yield {"case": case, "of": of, "starts": count, "share": mean, "backends": shares}


def share(held: Held, seeds: range) -> float:
    """Of runs with these seeds."""
    return sum(map(held, seeds)) / len(seeds)


def held_median(starts: Starts, count: int) -> Held:
    """Whether the interval of a run with that seed holds the true median."""
    truth = starts.median

    def held(seed: int) -> bool:
        found = median_interval(starts.draw(np.random.default_rng((seed, 1)), count), seed)
        return found is not None and found.low <= truth <= found.high

    return held


def held_ratio(starts: Starts, base: Starts, count: int) -> Held:
    """The same of the ratio of two."""
    truth = starts.median / base.median

    def held(seed: int) -> bool:
        random = np.random.default_rng((seed, 1))  # not the stream of the interval
        pair = [dict(enumerate(one.draw(random, count).tolist())) for one in (starts, base)]
        found = ratio_interval(*pair, seed)
        return found is not None and found.low <= truth <= found.high

    return held


if __name__ == "__main__":
    main()
