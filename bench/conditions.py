"""The backends of a result under the other conditions that people run them in, a result file each.

    python bench/conditions.py results/cpu/FILE.jsonl.gz [--rounds 15] [--folder results/conditions]

Of each backend the variant that is the fastest in FILE in float32, of those that give their first
answer within thirty seconds, is measured. Where it was interrupted, the same command goes on.
`python bench/readme.py` draws the table of docs/conditions.md from the files.
"""

import argparse
import sys
from pathlib import Path

from lenet_bench.cli import run
from lenet_bench.cli.output import INTERRUPTED
from lenet_bench.registry import precision
from lenet_bench.results import read_result
from lenet_bench.show.sentences import backend_of, timed

STARTS_WITHIN_S = 30
FOLDER = Path(__file__).parents[1] / "results/conditions"
#: By the name of its file: what a reader calls it, and the options of `compare`.
CONDITIONS = {
    "two-threads": ("two threads, two cores", ("--threads", "2")),
    "idle": ("20 ms idle between", ("--interval", "20ms")),
    "cold": ("cold caches", ("--cold",)),
}


def fastest(file: Path) -> list[str]:
    """Of each backend the variant in float32 with the lowest median that starts soon."""
    found: dict[str, str] = {}
    for row in timed(read_result(file)):
        if precision(row.name) == "float32" and (row.cold_start_s or 0) < STARTS_WITHIN_S:
            found.setdefault(backend_of(row.name), row.name)
    return list(found.values())


def main() -> int:
    """One comparison after the other; the worst of their exit codes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="what `lenet-bench compare -o` wrote")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    asked = parser.parse_args()
    which = fastest(asked.file)
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
