"""The backends of a result under the other conditions that people run them in, a result file each.

    python bench/conditions.py results/cpu/FILE.jsonl.gz [--rounds 15] [--folder results/conditions]
    python bench/conditions.py results/cpu/FILE.jsonl.gz --only as-installed one-thread --rounds 6

Of each backend the variant that is the fastest in FILE in float32, of those that give their first
answer within thirty seconds, is measured; as installed, and with the remedies for that, only a few.
The conditions take turns, a few rounds each, so the machine's drift is in all of them. Where it was
interrupted, the same command goes on. `python bench/readme.py` draws the tables of
docs/conditions.md from the files.
"""

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from lenet_bench.cli import run
from lenet_bench.cli.output import INTERRUPTED
from lenet_bench.registry import precision, usable_cores
from lenet_bench.results import BackendResult, read_result
from lenet_bench.show.sentences import backend_of, timed

STARTS_WITHIN_S = 30
ROUNDS_A_TURN = 3
FOLDER = Path(__file__).parents[1] / "results/conditions"
_BESIDE = ("--interval", "20ms", "--beside", "1")
_INSTALLED = (*_BESIDE, "--threads", "default")
#: As most people call them, from C++ to Keras' predict; and one of each kind.
_USUAL = (
    "fused",
    "onednn",
    "litert",
    "onnxruntime",
    "openvino:tensors",
    "torch",
    "tensorflow:function",
    "keras:predict_on_batch",
    "keras",
)
_FEW = ("onednn", "litert", "onnxruntime", "torch", "keras:predict_on_batch")


class Condition(NamedTuple):
    """What a reader calls it, the options of `compare`, and the backends, where they are few."""

    title: str
    options: tuple[str, ...]
    backends: tuple[str, ...] = ()


#: What the others are compared with.
PLAIN = "back-to-back"
#: By the name of its file.
CONDITIONS = {
    PLAIN: Condition("back to back, one core", ()),
    "two-threads": Condition("two threads, two cores", ("--threads", "2")),
    "idle": Condition("a call every 20 ms", ("--interval", "20ms")),
    "cold": Condition("cold caches", ("--cold",)),
    "as-installed": Condition("as installed", _INSTALLED, _USUAL),
    "one-thread": Condition(
        "one thread", (*_BESIDE, "--threads", "1", "--cores", str(usable_cores())), _FEW
    ),
    "one-core": Condition("pinned to one core", (*_INSTALLED, "--cores", "1"), _FEW),
    "kept-warm": Condition("kept warm for 1 ms", (*_INSTALLED, "--keep-warm", "1ms"), _FEW),
}


def fastest(file: Path) -> list[str]:
    """Of each backend the variant in float32 with the lowest median that starts soon."""
    rows = timed(read_result(file))
    soon = (row for row in rows if (row.cold_start_s or 0) < STARTS_WITHIN_S)
    return list(fastest_of(soon).values())


def fastest_of(rows: Iterable[BackendResult]) -> dict[str, str]:
    """By backend the first variant in float32, which is the fastest of rows in order of time."""
    found: dict[str, str] = {}
    for row in rows:
        if precision(row.name) == "float32":
            found.setdefault(backend_of(row.name), row.name)
    return found


def main() -> int:
    """The comparisons in turns; the worst of their exit codes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="what `lenet-bench compare -o` wrote")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--only", nargs="+", choices=CONDITIONS, default=list(CONDITIONS))
    asked = parser.parse_args()
    which = fastest(asked.file)
    worst = 0
    for rounds in (*range(ROUNDS_A_TURN, asked.rounds, ROUNDS_A_TURN), asked.rounds):
        for name in asked.only:
            title, options, backends = CONDITIONS[name]
            print(f"{title}, up to round {rounds}:", flush=True)
            words = [*(backends or which), *options, "--rounds", str(rounds)]
            code = run(["compare", *words, "-o", str(asked.folder / f"{name}.jsonl")])
            if code == INTERRUPTED:
                return code
            worst = max(worst, code)
    return worst


if __name__ == "__main__":
    sys.exit(main())
