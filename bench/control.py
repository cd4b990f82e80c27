"""Is a builder's network as fast as code by hand? LeNet both ways on each API, in one run.

python bench/control.py [BACKEND]... [--rounds N] -o FILE.jsonl     measure, and print the table
python bench/control.py -o FILE.jsonl --rounds 0                    print the table again
"""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from compared import compared
from lenet_bench import CompareOptions
from lenet_bench.measure.comparison import compare
from lenet_bench.measure.options import Entry
from lenet_bench.network import LENET
from lenet_bench.networks import network
from lenet_bench.registry import find
from lenet_bench.registry.building import is_installed
from lenet_bench.results import Result, read_result
from lenet_bench.show import markdown
from lenet_bench.subjects.network import able, place
from lenet_bench.weights import Weights

BACKEND = "LENET_BENCH_CONTROL"  # the variable that names it, in the process that is timed
BUILT = ", built"


def built(weights: Weights, *, threads: int) -> Any:
    """LeNet by the builder, on the backend's own function and behind the same check of images.

    A builder in C++ checks their size, not their values: a tenth of a microsecond less.
    """
    return place(os.environ[BACKEND], network(LENET), weights, threads)


def entries(backends: Sequence[str]) -> Iterator[Entry]:
    """Each backend by hand, and built."""
    for name in backends:
        by_hand = Entry.of_backend(name, threads=1)
        yield by_hand
        yield replace(
            by_hand,
            name=f"{by_hand.name}{BUILT}",
            factory="control:built",
            path=(str(Path(__file__).parent),),
            variables={**by_hand.variables, BACKEND: by_hand.name},
        )


def rows(result: Result) -> Iterator[tuple[str, ...]]:
    """Of each backend its name, both times, the ratio, its interval and the verdict."""
    for row in result.backends:
        if not row.name.endswith(BUILT) or not row.blocks:
            continue
        by_hand = result.backend(row.name.removesuffix(BUILT))
        cells, verdict = compared(by_hand, row, result)
        yield by_hand.name, *cells, verdict


def table(result: Result) -> Iterator[str]:
    """A row of Markdown for each backend: "same" within the margin, else the factor."""
    titles = ("backend", "by hand", "built", "ratio", "95 % interval", "verdict")
    yield from markdown.table(titles, rows(result), (titles[0], titles[-1]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("backends", nargs="*")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("-o", "--output", type=Path, required=True)
    asked = parser.parse_args()
    if asked.rounds:
        names = asked.backends or [name for name in able() if is_installed(find(name)[0])]
        chosen = tuple(entries(names))
        compare(CompareOptions(backends=chosen, rounds=asked.rounds, output=asked.output))
    print("\n".join(table(read_result(asked.output))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
