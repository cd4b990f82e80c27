"""All CPU backends under the conditions that people run them in, a result file each.

    python bench/conditions.py [BACKEND...] [--rounds 15] [--folder results/conditions]

Where it was interrupted, the same command goes on. `python bench/readme.py` draws the table of
docs/conditions.md from the files.
"""

import argparse
import sys
from pathlib import Path

from lenet_bench.cli import run
from lenet_bench.cli.output import INTERRUPTED

FOLDER = Path(__file__).parents[1] / "results/conditions"
#: By the name of its file: what a reader calls it, and the options of `compare`.
CONDITIONS = {
    "one-thread": ("one thread, one core", ("--threads", "1")),
    "two-threads": ("two threads, two cores", ("--threads", "2")),
    "idle": ("20 ms idle between", ("--interval", "20ms")),
    "cold": ("cold caches", ("--cold",)),
}


def main() -> int:
    """One comparison after the other; the worst of their exit codes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("backends", nargs="*", metavar="BACKEND", help="[all that run on a CPU]")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    asked = parser.parse_args()
    which = asked.backends or ["--device", "cpu"]
    worst = 0
    for name, (title, options) in CONDITIONS.items():
        print(f"{title}:", flush=True)
        file = asked.folder / f"{name}.jsonl"
        code = run(["compare", *which, *options, "--rounds", str(asked.rounds), "-o", str(file)])
        if code == INTERRUPTED:
            return code
        worst = max(worst, code)
    return worst


if __name__ == "__main__":
    sys.exit(main())
