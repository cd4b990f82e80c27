"""Why `fused` has two modes: is it the weights' place in memory, or the core?

    python bench/two_modes.py [--isa avx2] [--starts 12] [--rounds 40] [--json results/FILE.json]

In each start (a process) the weights lie in memory of three kinds, in two copies each: in the pages
that the backend chooses, in small pages as the system gives them, and in huge pages. Each copy is
read by turns (as the backend does) and always forwards. A round is a burst of each, in shuffled
order. Before and after a burst, a loop that only stores into the first-level cache is timed: it has
no weights, so its own two modes are the core's, for instance where another machine's thread runs on
the same core. If a copy keeps a time of its own whatever the stores say, it is the place in memory.
"""

import argparse
import ctypes
import json
import random
import statistics
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from serial_limit import ISAS, compiled, machine

KINDS = ("chosen", "small", "huge")
COPIES = 2
ORDERS = {"by turns": 1, "forwards": 0}
WARM_UP, TIMED = 10, 50  # images of a burst
FAST, SLOW = 1.2, 1.6  # times what the stores take at best

Burst = tuple[float, float]  # microseconds of the middle image, and of the stores around it
Start = dict[str, list[Burst]]


def main() -> None:
    """Start the processes, gather, print, and write all of it if asked to."""
    options = arguments()
    if options.one_start:
        print(json.dumps(one_start(options.isa, options.rounds)))
        return
    command = [sys.executable, __file__, "--one-start", "--isa", options.isa]
    command += ["--rounds", str(options.rounds)]
    starts: list[Start] = [
        json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
        for _ in range(options.starts)
    ]
    result = {
        "machine": machine(),
        "isa": options.isa,
        "images_a_burst": TIMED,
        "summary": summary(starts),
        "starts": starts,
    }
    report(result)
    if options.json:
        options.json.write_text(json.dumps(result) + "\n")


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--isa", choices=ISAS, default=widest())
    parser.add_argument("--starts", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--json", type=Path, help="write all of it to this file")
    parser.add_argument("--one-start", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def widest() -> str:
    """The instruction set that the backend takes here."""
    from lenet_bench import load

    return str(load("fused").describe()["isa"])


def one_start(isa: str, rounds: int) -> Start:
    """All bursts of this process."""
    library = compiled("two_modes.cpp", isa)
    library.weights_in.restype = ctypes.c_void_p
    library.seconds_to_store.restype = ctypes.c_double
    copies = {
        f"{kind} {copy}": ctypes.c_void_p(library.weights_in(kind.encode()))
        for copy in range(1, COPIES + 1)
        for kind in KINDS
    }
    seconds = (ctypes.c_double * (WARM_UP + TIMED))()

    def stores() -> float:
        return 1e6 * statistics.median(library.seconds_to_store() for _ in range(9))

    def burst(copy: str, order: str) -> Burst:
        before = stores()
        library.seconds_for_images(copies[copy], ORDERS[order], len(seconds), seconds)
        image = 1e6 * statistics.median(list(seconds)[WARM_UP:])
        return round(image, 2), round(max(before, stores()), 2)

    bursts = [(copy, order) for order in ORDERS for copy in copies]
    timed: Start = {", ".join(name): [] for name in bursts}
    for _ in range(rounds):
        for name in random.sample(bursts, len(bursts)):
            timed[", ".join(name)].append(burst(*name))
    return timed


def summary(starts: list[Start]) -> dict[str, Any]:
    """Microseconds an image with fast and with slow stores: of all bursts, and of each start's."""
    best = min(stores for start in starts for of in start.values() for _, stores in of)

    def images(bursts: list[Burst], fast: bool) -> list[float]:
        return [us for us, s in bursts if (s < FAST * best if fast else s > SLOW * best)]

    result: dict[str, Any] = {"stores_us_at_best": best}
    together = [
        {"all": [burst for of in start.values() for burst in of]} | start for start in starts
    ]
    for name in together[0]:
        result[name] = {}
        for mode, fast in (("fast stores", True), ("slow stores", False)):
            by_start = [images(start[name], fast) for start in together]
            every = [us for of in by_start for us in of]
            result[name][mode] = {
                "bursts": len(every),
                "median_us": statistics.median(every) if every else None,
                "median_us_of_each_start": [statistics.median(of) for of in by_start if of],
                "bursts_by_us": Counter(f"{us:.0f}" for us in sorted(every)),
            }
    return result


def report(result: dict[str, Any]) -> None:
    """By copy and order: the middle, the starts' middles, and how many bursts took how long."""
    print(f"{result['machine']['processor']}, {result['isa']}: microseconds an image")
    for name, modes in result["summary"].items():
        if name == "stores_us_at_best":
            continue
        for mode, of in modes.items():
            if of["bursts"]:
                starts = sorted(of["median_us_of_each_start"])
                print(
                    f"{name:18} {mode}: {of['median_us']:5.1f} in {of['bursts']} bursts; "
                    f"starts {starts[0]:.1f} to {starts[-1]:.1f}; "
                    + " ".join(f"{us}:{count}" for us, count in of["bursts_by_us"].items())
                )


if __name__ == "__main__":
    main()
