"""Size of the Python code in tokens, without comments and docstrings: longer lines save nothing.

    python bench/size.py            each folder beside the last release
    python bench/size.py --record   for a release: today's sizes become the last release's

Exit code 1 where the package is over 3 % larger than in the last release and the first section of
CHANGELOG.md has no line such as "Size: 140,000 tokens, because ...", within 3 % of the size.
"""

import json
import re
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "bench/size.json"
PACKAGE = "python/lenet_bench"
FOLDERS = (PACKAGE, "tests", "bench")
GROWTH = 1.03

LAYOUT = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}
NOT_COUNTED = LAYOUT | {tokenize.COMMENT, tokenize.ENDMARKER}


def tokens(file: Path) -> int:
    """The tokens of a file; a string that is a whole statement is a docstring."""
    count = 0
    begins_statement = True
    with tokenize.open(file) as text:
        for token in tokenize.generate_tokens(text.readline):
            docstring = token.type == tokenize.STRING and begins_statement
            if token.type not in NOT_COUNTED and not docstring:
                count += 1
            if token.type not in (tokenize.COMMENT, tokenize.NL):
                begins_statement = token.type in LAYOUT
    return count


def sizes() -> dict[str, int]:
    """The tokens of each folder."""
    return {folder: sum(map(tokens, (ROOT / folder).rglob("*.py"))) for folder in FOLDERS}


def fault(now: int, released: int, changelog: str) -> str | None:
    """Why this size of the package is refused; None where it is not."""
    if now <= released * GROWTH:
        return None
    newest_section = changelog.split("\n## ")[1]
    for number in re.findall(r"Size: ([\d,]+) tokens", newest_section):
        named = int(number.replace(",", ""))
        if named <= now <= named * GROWTH:
            return None
    return (
        f"{PACKAGE} has {now:,} tokens, over 3 % more than the {released:,} of the last release: "
        f'remove code, or add a line "Size: {now:,} tokens, because ..." to CHANGELOG.md'
    )


def main() -> None:
    now = sizes()
    if "--record" in sys.argv:
        RECORD.write_text(json.dumps(now, indent=1) + "\n")
    released = json.loads(RECORD.read_text())
    print(f"{'tokens':36}    now  last release")
    for folder in FOLDERS:
        print(f"{folder:36}{now[folder]:7,}{released[folder]:14,}")
    if sentence := fault(now[PACKAGE], released[PACKAGE], (ROOT / "CHANGELOG.md").read_text()):
        sys.exit(sentence)


if __name__ == "__main__":
    main()
