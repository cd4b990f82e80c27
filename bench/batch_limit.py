"""Images a second of `fused` and of others in batches, against what this core can do at most.

    python bench/batch_limit.py [--isa avx2] [--batch 64,512] [--rounds 40] [--first] [--json FILE]

In a batch the weights are read once for many images, so the limit is the multiply-adds alone:
371,200 that Winograd leaves of the convolutions and 405,000 of the fully connected layers, at the
core's peak rate, which is measured in the same rounds. A round is a burst of each, in shuffled
order, of which the fastest call counts; ratios are taken round by round. `taskset -c 1` keeps all
of it, the backends' own threads too, on one core.
"""

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from serial_limit import (
    CONVOLUTION_MACS,
    ISAS,
    compiled,
    go_first,
    machine,
    multiply_burst,
    one_thread,
    ratio,
)

MACS = CONVOLUTION_MACS + 500 * 800 + 10 * 500
BACKENDS = ("fused", "fused:int16", "onnxruntime", "onednn", "openblas", "mnn", "jax")
IMAGES_A_BURST = 1024


def main() -> None:
    """Measure, print, and write the raw figures if asked to."""
    options = arguments()
    one_thread(options.isa)
    from lenet_bench import load

    backends = {name: load(name, threads=1) for name in BACKENDS}
    isa = backends["fused"].describe()["isa"]
    bursts: dict[str, Callable[[], list[float]]] = {
        f"{name} {size}": batch_burst(backend.infer, size)
        for name, backend in backends.items()
        for size in options.batch
    }
    bursts["limit"] = multiply_burst(compiled("serial_limit.cpp", isa), isa, MACS)
    if options.first:
        go_first()
    rounds = [
        {name: min(bursts[name]()) for name in random.sample(list(bursts), len(bursts))}
        for _ in range(options.rounds)
    ]
    result = {
        "machine": machine(),
        "before_all_others": options.first,
        "isa": isa,
        "backends": {name: backend.describe() for name, backend in backends.items()},
        "multiply_adds": MACS,
        "seconds_an_image": {name: [r[name] for r in rounds] for name in bursts},
    }
    result["summary"] = {str(size): summary(rounds, size) for size in options.batch}
    report(result)
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--isa", choices=ISAS, help="instruction set (the widest)")
    sizes = [64, 512]
    parser.add_argument(
        "--batch", type=lambda text: [int(n) for n in text.split(",")], default=sizes
    )
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument(
        "--first", action="store_true", help="before all other programs; takes root"
    )
    parser.add_argument("--json", type=Path, help="write all of it to this file")
    return parser.parse_args()


def batch_burst(infer: Callable[[Any], Any], size: int) -> Callable[[], list[float]]:
    """Seconds an image of calls with so many, after one that is not timed."""
    import numpy as np

    images = np.random.default_rng(0).random((size, 28, 28), dtype=np.float32)

    def burst() -> list[float]:
        infer(images)
        seconds = []
        for _ in range(max(2, IMAGES_A_BURST // size)):
            start = time.perf_counter_ns()
            infer(images)
            seconds.append((time.perf_counter_ns() - start) * 1e-9 / size)
        return seconds

    return burst


def summary(rounds: list[dict[str, float]], size: int) -> dict[str, Any]:
    """Images a second of the best and of the middle round, and the ratios taken round by round."""
    of = {name: [r[f"{name} {size}"] for r in rounds] for name in BACKENDS}
    limits = [r["limit"] for r in rounds]
    peers = {name: values for name, values in of.items() if not name.startswith("fused")}
    fastest = min(peers, key=lambda name: statistics.median(peers[name]))
    rates = {
        name: {"best": 1 / min(values), "median": 1 / statistics.median(values)}
        for name, values in (of | {"limit": limits}).items()
    }
    return {
        "images_per_s": rates,
        "fused / limit": ratio(of["fused"], limits),
        "fused / limit, of the best rounds": min(of["fused"]) / min(limits),
        "fastest peer": fastest,
        "fastest peer / fused": ratio(of[fastest], of["fused"]),
        "fastest peer / fused, of the best rounds": min(of[fastest]) / min(of["fused"]),
    }


def report(result: dict[str, Any]) -> None:
    """Images a second by size, then the ratios of times."""
    print(
        f"{result['machine']['processor']}, {result['isa']}: images a second, best and median round"
    )
    for size, summed in result["summary"].items():
        for name, rates in summed["images_per_s"].items():
            print(f"  {size:>4} {name:12} {rates['best']:9.0f} {rates['median']:9.0f}")
        for name, value in summed.items():
            if name != "images_per_s":
                print(f"  {size:>4} {name}: {value if isinstance(value, str) else f'{value:.2f}'}")


if __name__ == "__main__":
    main()
