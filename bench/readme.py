"""Draw the README's comparison anew from the result file that it names.

python bench/readme.py             write it
python bench/readme.py --check     fail where it is not what the file gives
"""

import re
import sys
from pathlib import Path

from lenet_bench.report.terminal import table
from lenet_bench.results import read_result
from lenet_bench.terminal import Screen

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
BLOCK = re.compile(r"(<!-- drawn from (?P<result>\S+) -->\n```\n).*?(```\n)", re.DOTALL)


def drawn(readme: str) -> str:
    """The README with its comparison drawn from the result."""

    def draw(block: re.Match[str]) -> str:
        screen = Screen(columns=100, colour=False, unicode=True)
        lines = table(read_result(ROOT / block["result"]), screen)
        return block[1] + "".join(f"{line.rstrip()}\n" for line in lines) + block[3]

    text, count = BLOCK.subn(draw, readme)
    if count == 0:
        raise SystemExit("README.md names no result to draw")
    return text


def main() -> None:
    """Write the README, or check it."""
    readme = README.read_text()
    text = drawn(readme)
    if "--check" in sys.argv[1:]:
        if text != readme:
            raise SystemExit("README.md is stale; mend it with: python bench/readme.py")
    else:
        README.write_text(text)


if __name__ == "__main__":
    main()
