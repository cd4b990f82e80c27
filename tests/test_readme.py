"""The README's figures come from a result file that the program wrote."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_readme_shows_what_its_result_file_gives() -> None:
    """Nobody edits a figure by hand, and a new result redraws it."""
    command = [sys.executable, str(ROOT / "bench/readme.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
