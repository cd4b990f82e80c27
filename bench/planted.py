"""Planted causes: toys (tests/toy_backends.py) with a delay each, taken apart as `why` does.

    python bench/planted.py --rounds 8 --output results/planted/NAME.jsonl

`tests/test_why.py` reads the file and asks for each delay in its own part, and in no other.
"""

import argparse
import sys
from pathlib import Path

from lenet_bench import CompareOptions
from lenet_bench.questions.why import why
from lenet_bench.results import TakenApart

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from toy_backends import PLANTED, entry


def main() -> None:
    """Take them apart."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--output", type=Path, required=True)
    asked = parser.parse_args()
    entries = tuple(map(entry, PLANTED))
    found = why(CompareOptions(entries, rounds=asked.rounds, output=asked.output))
    print(*map(spelt, found), sep="\n")


def spelt(one: TakenApart) -> str:
    """A line: its parts in microseconds."""
    return f"{one.name}: " + ", ".join(f"{part.name} {part.us:.1f}" for part in one.parts)


if __name__ == "__main__":
    main()
