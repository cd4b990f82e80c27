"""Draw the tables of the README and of docs/training.md anew from the result files they name.

python bench/readme.py             write them
python bench/readme.py --check     fail where one is not what its file gives
"""

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from lenet_bench.report.terminal import table
from lenet_bench.results import read_result
from lenet_bench.terminal import Screen
from lenet_bench.training.result import read_training
from lenet_bench.training.table import table as training_table

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", ROOT / "docs/training.md")
BLOCK = re.compile(r"(<!-- drawn from (?P<result>\S+) -->\n```\n).*?(```\n)", re.DOTALL)


def drawn(page: Path) -> str:
    """The page with its tables drawn from their results."""

    def draw(block: re.Match[str]) -> str:
        return (
            block[1] + "".join(f"{line.rstrip()}\n" for line in lines(block["result"])) + block[3]
        )

    text, count = BLOCK.subn(draw, page.read_text())
    if count == 0:
        raise SystemExit(f"{page.name} names no result to draw")
    return text


def lines(result: str) -> Iterable[str]:
    """The table of the result in that file."""
    path, screen = ROOT / result, Screen(columns=100, colour=False, unicode=True)
    if json.loads(path.read_text()).get("kind") == "training":
        return training_table(read_training(path), screen)
    return table(read_result(path), screen)


def main() -> None:
    """Write the pages, or check them."""
    for page in PAGES:
        text = drawn(page)
        if "--check" not in sys.argv[1:]:
            page.write_text(text)
        elif text != page.read_text():
            raise SystemExit(f"{page.name} is stale; mend it with: python bench/readme.py")


if __name__ == "__main__":
    main()
