"""What `fused`'s two times follow, and what that does to intervals.

    python bench/shared_cache.py [SECONDS] > results/studies/shared-cache.json     four minutes

First, in one process: short slices of calls with known loops between them. Of the slices beside
which the loop in the first-level cache is quick: how long the loops take beside quick calls and
beside slow ones. Second, `compare` of six entries that are the same: how wide the intervals of
their ratios are by that loop alone, and by both.
"""

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, perf_counter_ns
from typing import Any

import numpy as np
from lenet_bench import CompareOptions, load
from lenet_bench.measure.calls import known_loops_ns
from lenet_bench.measure.comparison import compare
from lenet_bench.measure.environment import read_machine
from lenet_bench.results import as_result, read_log, start_medians_us
from lenet_bench.results.statistics import paired_ratio
from msgspec import structs, to_builtins
from self_test import entry, same

BACKEND, ENTRIES, ROUNDS = "fused", 6, 20
SLICE_NS = 1_000_000
QUICK, SLOW = 1.04, 1.13  # times the quickest call: between them neither
WITHIN = 1.05  # times the quickest loop of the first-level cache
SHARES = (5, 25, 50, 75, 95)


def in_one_process(seconds: float) -> Mapping[str, Any]:
    """Both loops' times beside quick calls and beside slow ones, as shares of their quickest."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    infer = load(BACKEND).infer
    images = np.random.default_rng(1).random((10, 28, 28), np.float32)
    rows, end = [], perf_counter() + seconds
    before = known_loops_ns(near=False)
    while perf_counter() < end:
        calls: list[int] = []
        stop = perf_counter_ns() + SLICE_NS
        while perf_counter_ns() < stop:
            began = perf_counter_ns()
            infer(images[len(calls) % 10])
            calls.append(perf_counter_ns() - began)
        after = known_loops_ns(near=False)
        rows.append((np.median(calls), *map(max, before, after)))
        before = after
    every = np.array(rows) / np.percentile(rows, 5, axis=0)
    calls_of, near, far = every[every[:, 1] <= WITHIN].T
    kinds = {"quick": calls_of <= QUICK, "slow": calls_of >= SLOW}
    return {
        "call_us": float(np.percentile(rows, 5, axis=0)[0]) / 1000,
        "loops_us": (np.percentile(rows, 5, axis=0)[1:] / 1000).tolist(),
        "percentiles": SHARES,
        "beside": {
            kind: {
                "slices": int(own.sum()),
                "call": np.percentile(calls_of[own], SHARES).tolist(),
                "first-level cache": np.percentile(near[own], SHARES).tolist(),
                "as many bytes as LeNet's weights": np.percentile(far[own], SHARES).tolist(),
            }
            for kind, own in kinds.items()
            if own.any()
        },
    }


def of_starts(folder: Path) -> Mapping[str, Any]:
    """How wide 90 % intervals are, as the share by which they reach beyond the ratio."""
    output = folder / "same.jsonl"
    every = tuple(entry(same(number), BACKEND) for number in range(ENTRIES))
    compare(CompareOptions(every, same(0), rounds=ROUNDS, output=output))
    log = read_log(output)
    near = tuple(
        structs.replace(one, slices=tuple(slice_[:2] for slice_ in one.slices))
        for one in log.blocks
    )
    found = {}
    for rule, result in {
        "first-level cache": as_result(replace(log, blocks=near)),
        "both": as_result(log),
    }.items():
        starts = [start_medians_us(result.backend(same(n)).blocks) for n in range(ENTRIES)]
        ratios = [paired_ratio(one, other) for one, other in combinations(starts, 2)]
        widths = [(one.of_same.high - one.of_same.low) / 2 for one in ratios if one.of_same]
        found[rule] = {
            "pairs": len(ratios),
            "starts": [len(one) for one in starts],
            "half_width": {
                "median": float(np.median(widths)),
                "least": min(widths),
                "most": max(widths),
            },
            "quiet_share": result.disturbance.quiet_share,
        }
    return found


def main() -> None:
    seconds = float(sys.argv[1]) if sys.argv[1:] else 60.0
    with TemporaryDirectory() as folder:
        study = {
            "machine": to_builtins(read_machine()),
            "one process": in_one_process(seconds),
            "starts": of_starts(Path(folder)),
        }
    print(json.dumps(study, indent=1))


if __name__ == "__main__":
    main()
