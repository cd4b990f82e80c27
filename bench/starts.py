"""What belongs to a start, and what to the moment?

    python bench/starts.py FOLDER [--rounds 30]        fifteen minutes

One comparison has each backend four times in the same shuffled rounds: with random and fixed
addresses (`setarch -R`), on small and huge pages (glibc's GLIBC_TUNABLES). Then processes of each
backend are kept and timed again and again, in shuffled turns. What of the times' variance is
between the processes belongs to the start. FOLDER gets the comparison, which is continued where it
is there, and starts.json.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from lenet_bench import CompareOptions, load
from lenet_bench.measure.calls import time_calls
from lenet_bench.measure.comparison import compare
from lenet_bench.measure.options import Entry
from lenet_bench.measure.pinning import choose_cores
from lenet_bench.results import Result, start_medians_us
from lenet_bench.results.statistics import paired_ratio, spread
from lenet_bench.show.sentences import conditions
from lenet_bench.undisturbed import quickest, undisturbed_calls
from lenet_bench.weights import Weights
from msgspec import to_builtins
from scipy import stats

BACKENDS = ("fused", "onednn", "litert", "numpy")
BACKEND = "LENET_BENCH_STARTS_BACKEND"
ADDRESSES, PAGES = ("random", "fixed"), ("small", "huge")
WAYS = tuple(product(ADDRESSES, PAGES))
RESAMPLES = 2000
PROCESSES, TURNS = 12, 25
WARM_S, TIMED_S, PATIENCE = 0.02, 0.05, 4
FEWEST = 20  # calls for a median
QUIET = 25  # percentile of the known loops' times: that on a quiet machine


def made(weights: Weights, *, threads: int) -> object:
    """The backend that the environment names."""
    return load(os.environ[BACKEND], threads=threads, weights=weights)


def named(backend: str, way: tuple[str, str]) -> str:
    addresses, pages = way
    return f"{backend}, {addresses} addresses, {pages} pages"


def entries(fixed: Path) -> Iterator[Entry]:
    """Each backend in each way; `fixed` is a Python whose addresses are fixed."""
    for backend, way in product(BACKENDS, WAYS):
        plain = Entry.of_backend(backend, threads=1)
        tuned = {BACKEND: backend, "GLIBC_TUNABLES": f"glibc.malloc.hugetlb={PAGES.index(way[1])}"}
        yield replace(
            plain,
            name=named(backend, way),
            factory=f"{Path(__file__).stem}:{made.__name__}",
            path=(str(Path(__file__).parent),),
            python=str(fixed) if way[0] == "fixed" else plain.python,
            variables={**plain.variables, **tuned},
        )


def with_fixed_addresses(folder: Path) -> Path:
    """A program that starts this Python with fixed addresses."""
    program = folder / "python-fixed"
    program.write_text(f'#!/bin/sh\nexec setarch -R {sys.executable} "$@"\n')
    program.chmod(0o755)
    return program


def rows(result: Result) -> Iterator[Mapping[str, object]]:
    """Of each backend and way: the spread of its starts, and both to random ones on small pages."""
    random = np.random.default_rng(1)
    for backend in BACKENDS:
        medians = {
            way: start_medians_us(result.backend(named(backend, way)).blocks) for way in WAYS
        }
        for way, starts in medians.items():
            us = np.array(list(starts.values()))
            resampled = [spread(random.choice(us, len(us))) for _ in range(RESAMPLES)]
            ratio = paired_ratio(starts, medians[WAYS[0]])
            yield {
                "backend": backend,
                "addresses": way[0],
                "pages": way[1],
                "starts": len(us),
                "median_us": float(np.median(us)),
                "spread": spread(us),
                "spread_low_high": np.quantile(resampled, (0.025, 0.975)).tolist(),
                "ratio": ratio.value,
                "ratio_low_high": ratio.bounds,
                "us": us.tolist(),
            }


def serve(parent: Connection, backend: str, core: tuple[int, ...]) -> None:
    """In a kept process: time some calls whenever asked, until the parent hangs up."""
    if core:
        os.sched_setaffinity(0, core)
    infer = load(backend, threads=1).infer
    images = list(np.random.default_rng(1).random((32, 28, 28), np.float32))
    parent.send(None)
    while parent.recv():
        time_calls(infer, images, WARM_S, FEWEST)
        calls = time_calls(infer, images, TIMED_S, FEWEST, patience=PATIENCE)
        parent.send((calls.samples_ns, calls.slices))


def turns() -> dict[str, dict[tuple[int, int], Any]]:
    """Of each backend: the calls and their slices by process and turn."""
    core = choose_cores(1).worker
    spawn, random = get_context("spawn"), np.random.default_rng(2)
    kept = list(product(BACKENDS, range(PROCESSES)))
    pipes, children = {}, []
    for key in kept:
        pipes[key], other = spawn.Pipe()
        children.append(spawn.Process(target=serve, args=(other, key[0], core), daemon=True))
        children[-1].start()
        pipes[key].recv()
    found: dict[str, dict[tuple[int, int], Any]] = {backend: {} for backend in BACKENDS}
    for turn in range(TURNS):
        print(f"turn {turn + 1} of {TURNS}", file=sys.stderr)
        for number in random.permutation(len(kept)):
            backend, process = kept[number]
            pipes[kept[number]].send(True)
            found[backend][process, turn] = pipes[kept[number]].recv()
    for pipe in pipes.values():
        pipe.send(False)
    for child in children:
        child.join()
    return found


def shares(found: Mapping[str, Mapping[tuple[int, int], Any]]) -> Iterator[Mapping[str, object]]:
    """Of each backend: how its times scatter, and what of their variance is of the process."""
    for backend, timed in found.items():
        each = zip(
            *(quickest(ns for _, *ns in slices) for _, slices in timed.values()), strict=True
        )
        usual = [float(np.percentile(times, QUIET)) for times in each]
        for loops in (1, 2):
            us = np.full((PROCESSES, TURNS), np.nan)
            for place, (samples, slices) in timed.items():
                if calls := undisturbed_calls(samples, slices, usual[:loops], FEWEST):
                    us[place] = median(calls) / 1000
            share, low_high = of_process(us)
            yield {
                "backend": backend,
                "loops": loops,
                "times": int(np.isfinite(us).sum()),
                "median_us": float(np.nanmedian(us)),
                "deviation": float(np.nanstd(np.log(us))),
                "of_process": share,
                "of_process_low_high": low_high,
                "us": [[None if np.isnan(one) else one for one in row] for row in us.tolist()],
            }


def of_process(us: Any) -> tuple[float, tuple[float, float]]:
    """What of the logarithms' variance is between rows, and its 95 % interval by F."""
    logs = [row[np.isfinite(row)] for row in np.log(us)]
    logs = [row for row in logs if len(row) > 1]
    counts, means = np.array([len(row) for row in logs]), np.array([row.mean() for row in logs])
    total, above = counts.sum(), len(logs) - 1
    within = sum(float(((row - row.mean()) ** 2).sum()) for row in logs) / (total - len(logs))
    grand = (counts * means).sum() / total
    between = float((counts * (means - grand) ** 2).sum()) / above
    size = (total - (counts**2).sum() / total) / above

    def share(ratio: float) -> float:
        effect = max(0.0, (ratio - 1) / size)
        return float(effect / (effect + 1))

    low, high = stats.f.ppf((0.975, 0.025), above, total - len(logs))
    ratio = between / within
    return share(ratio), (share(ratio / low), share(ratio / high))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=30)
    asked = parser.parse_args()
    folder = asked.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    every = tuple(entries(with_fixed_addresses(folder)))
    output = folder / "starts.jsonl"
    result = compare(CompareOptions(every, every[0].name, rounds=asked.rounds, output=output))
    if result.ended == "interrupted":
        return 130
    content = {
        "started": result.started,
        "conditions": conditions(result),
        "machine": to_builtins(result.machine),
        "quiet_share": result.disturbance.quiet_share,
        "ways": WAYS,
        "rows": list(rows(result)),
        "processes": PROCESSES,
        "turns": TURNS,
        "kept": list(shares(turns())),
    }
    (folder / "starts.json").write_text(f"{json.dumps(content, indent=1)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
