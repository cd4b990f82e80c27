"""How long `import lenet_bench` and `lenet-bench infer` take, against importing NumPy and Pillow.

    python bench/process_time.py [--backend fused] [--runs 40] [IMAGE]

Whole processes, from start to exit. They take turns, so that drift and noise fall on all alike. The
goal: at most 1.6 times as long.
"""

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

LENET_BENCH = (sys.executable, "-m", "lenet_bench")
SAMPLE = Path(__file__).parents[1] / "images" / "digit-7.png"
GOAL = 1.6


def main() -> int:
    """Measure, print a table, and fail where the goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("image", nargs="?", default=SAMPLE)
    parser.add_argument("--backend", default="fused")
    parser.add_argument("--runs", type=int, default=40)
    options = parser.parse_args()
    infer = [*LENET_BENCH, "infer", options.image, "--backend", options.backend, "--json"]
    programs = {
        "import numpy, PIL.Image": [sys.executable, "-c", "import numpy, PIL.Image"],
        "import lenet_bench": [sys.executable, "-c", "import lenet_bench"],
        f"infer --backend {options.backend}": list(map(str, infer)),
    }
    seconds = interleaved(programs, options.runs)
    floor, *_ = seconds.values()
    print(
        f"{options.runs} runs each, taking turns, in milliseconds; ratio: the median of the turns'"
    )
    print(f"{'':<26}{'min':>9}{'median':>9}{'ratio':>9}")
    worst = 0.0
    for name, ours in seconds.items():
        ratio = statistics.median(b / a for a, b in zip(floor, ours, strict=True))
        least, middle = 1e3 * min(ours), 1e3 * statistics.median(ours)
        print(f"{name:<26}{least:>9.1f}{middle:>9.1f}{ratio:>9.2f}")
        worst = max(worst, ratio)
    return int(worst > GOAL)


def interleaved(programs: dict[str, list[str]], runs: int) -> dict[str, list[float]]:
    """Each program's seconds, run by run; a first run of each warms the file cache."""
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    for run in range(-1, runs):
        for name, command in programs.items():
            start = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            if run >= 0:
                seconds[name].append(time.perf_counter() - start)
    return seconds


if __name__ == "__main__":
    sys.exit(main())
