"""One image on two threads: `fused` against itself on one, and against others on two.

    python bench/two_threads.py [--rounds 40] [--first] [--json results/FILE.json]

A round is a burst of calls of each, in shuffled order, with a pause before each: the threads of
other libraries spin for a while after a call, and would take a core from the next burst. Two
threads need two cores that nothing else uses. Where other programs run, `--first` puts this one
before them all for its few seconds (real time priority, which takes root), and the best rounds are
given besides the middle one.
"""

import argparse
import json
import os
import platform
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lenet_bench.measure.environment import read_processor
from msgspec import to_builtins

ONE, TWO = "fused on 1", "fused on 2"
WARM_UP, TIMED = 20, 100  # calls of a burst
OTHERS = ("onednn", "openblas", "onnxruntime")
PAUSE_S = 0.2
WARM_S = 0.03  # the system moves a helper that woke on its caller's core within this time
QUANTILES = (0, 0.01, 0.05, 0.25, 0.5)


def main() -> None:
    """Measure, print, and write the raw figures if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--first", action="store_true", help="before all other programs")
    parser.add_argument("--json", type=Path, help="write all of it to this file")
    options = parser.parse_args()
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "2"
    from lenet_bench import load

    backends = {f"{name} on 2": load(name, threads=2) for name in OTHERS}
    if options.first:  # before the threads of `fused` start, which inherit it
        go_first()
    for name in ("fused", "fused:int16"):
        backends |= {f"{name} on {n}": load(name, threads=n) for n in (1, 2)}
    bursts = {name: infer_burst(backend.infer) for name, backend in backends.items()}
    rounds = [
        {name: after_a_pause(bursts[name]) for name in random.sample(list(bursts), len(bursts))}
        for _ in range(options.rounds)
    ]
    seconds = {name: [r[name] for r in rounds] for name in bursts}
    result = {
        "machine": to_builtins(read_processor()),
        "system": platform.platform(),
        "before_all_others": options.first,
        "backends": {name: backend.describe() for name, backend in backends.items()},
        "seconds": seconds,
        "summary": summary(seconds),
    }
    print(f"{result['machine']['model']}: of the rounds, from the best to the median round")
    for name, values in result["summary"].items():
        print(f"  {name:24} " + "  ".join(f"{value:8.2f}" for value in values.values()))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


def go_first() -> None:
    """Run before all other programs from here on, and what is started with us; it takes root."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


def infer_burst(infer: Callable[[Any], Any]) -> Callable[[], list[float]]:
    """Calls of one backend, each timed, with images that rotate."""
    import numpy as np

    images = np.random.default_rng(0).random((16, 28, 28), dtype=np.float32)

    def burst() -> list[float]:
        seconds = []
        for i in range(WARM_UP + TIMED):
            image = images[i % len(images)]
            start = time.perf_counter_ns()
            infer(image)
            seconds.append((time.perf_counter_ns() - start) * 1e-9)
        return seconds

    return burst


def after_a_pause(burst: Callable[[], list[float]]) -> float:
    """The median call of a burst, once the threads of the one before have gone to sleep."""
    time.sleep(PAUSE_S)
    ready = time.perf_counter() + WARM_S
    while time.perf_counter() < ready:
        burst()
    return statistics.median(burst()[WARM_UP:])


def summary(seconds: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    """Microseconds by quantile of the rounds, and the speeds of each pair's same quantiles."""
    figures = {f"{name}, us": quantiles([1e6 * s for s in of]) for name, of in seconds.items()}
    pairs = [(ONE, TWO), ("fused:int16 on 1", "fused:int16 on 2")]
    pairs += [(f"{name} on 2", TWO) for name in OTHERS]
    for slower, faster in pairs:
        above, below = quantiles(seconds[slower]), quantiles(seconds[faster])
        figures[f"{slower} / {faster}"] = {at: above[at] / below[at] for at in above}
    return figures


def quantiles(values: list[float]) -> dict[str, Any]:
    """By the share of rounds that were as fast."""
    ordered = sorted(values)
    return {f"{100 * share:g} %": ordered[int(share * (len(ordered) - 1))] for share in QUANTILES}


if __name__ == "__main__":
    main()
