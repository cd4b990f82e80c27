"""The classroom's notebook runs from top to bottom, as one program."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import environment

NOTEBOOK = Path(__file__).parents[1] / "docs" / "classroom.ipynb"
CELLS = [c for c in json.loads(NOTEBOOK.read_text())["cells"] if c["cell_type"] == "code"]


@pytest.mark.slow
def test_the_notebook_runs_and_shows_times_and_pictures(tmp_path):
    program = tmp_path / "notebook.py"
    code = ["".join(cell["source"]) for cell in CELLS]
    program.write_text("\n".join([*code, "print(len(plt.get_fignums()), 'pictures')"]))
    done = subprocess.run(
        [sys.executable, program],
        cwd=NOTEBOOK.parent,
        env=environment(MPLBACKEND="agg"),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "the digit is 7" in done.stdout
    assert "fused " in done.stdout
    assert " us\n" in done.stdout
    assert done.stdout.endswith("3 pictures\n")


def test_the_notebook_is_kept_without_what_it_showed():
    assert [cell["outputs"] for cell in CELLS if cell["outputs"]] == []
