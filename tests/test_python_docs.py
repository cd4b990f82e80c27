"""The examples of docs/python.md run, in their order, as one program."""

import re
import subprocess
import sys
from pathlib import Path

from conftest import draw_seven, environment

PAGE = Path(__file__).parents[1] / "docs" / "python.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_the_examples_run_without_a_word_of_complaint_and_read_the_seven(tmp_path, small_mnist):
    draw_seven(tmp_path / "digit.png")
    (tmp_path / "program.py").write_text("\n".join(EXAMPLES))
    done = subprocess.run(
        [sys.executable, "-W", "error", "program.py"],
        cwd=tmp_path,
        env=environment(LENET_BENCH_MNIST=str(small_mnist)),
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("7 ")


def test_every_public_name_for_use_is_on_the_page():
    import lenet_bench

    classes = {n for n in lenet_bench.__all__ if n[0].isupper()} | {"__version__", "read_image"}
    text = PAGE.read_text()
    assert [name for name in lenet_bench.__all__ if name not in classes and name not in text] == []
