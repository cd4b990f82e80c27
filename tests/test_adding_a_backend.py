"""A backend is added as docs/architecture.md says: by its file, its row and its packages."""

import json
import os
import subprocess
import sys
from pathlib import Path

import lenet_bench
import pytest

FILE = '''"""LeNet on a toy of an API."""

import numpy as np

from . import Array, Infer
from .reference import build as build_reference


def build(weights: "Weights") -> Infer:
    """The reference's answers, by another name."""
    model = build_reference(weights)

    def infer(images: Array) -> Array:
        return model(images)["probabilities"].astype(np.float32)

    return infer


def describe(model: "Infer") -> dict[str, str]:
    """What the answering function holds."""
    return {"model": type(model).__name__}
'''
ROW = """    _engine(
        "toy",
        summary="Python, a toy",
        calls="NumPy",
        library="Toy",
        package="numpy",
    ),
"""
PACKAGES = """Metadata-Version: 2.1
Name: lenet-bench
Version: 0.0.1
Provides-Extra: toy
Requires-Dist: numpy; extra == 'toy'
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """The package with one more backend; what is not changed is the installed package's."""
    folder = tmp_path_factory.mktemp("checkout")
    package, original = folder / "lenet_bench", Path(lenet_bench.__file__).parent
    for part in ("", "backends", "registry"):
        (package / part).mkdir(exist_ok=True)
        for path in (original / part).iterdir():
            if not (package / part / path.name).exists() and path.name not in (
                "backends",
                "registry",
            ):
                (package / part / path.name).symlink_to(path)
    (package / "backends" / "toy.py").write_text(FILE)
    rows = package / "registry" / "engine_rows.py"
    before, row, after = rows.read_text().partition('    _engine(\n        "opencv",\n')
    rows.unlink()
    rows.write_text(before + ROW + row + after)
    records = folder / "lenet_bench-0.0.1.dist-info"
    records.mkdir()
    (records / "METADATA").write_text(PACKAGES)
    return folder


def run(checkout, *arguments):
    """What a command prints there."""
    command = [sys.executable, "-m", "lenet_bench", *arguments]
    variables = {**os.environ, "PYTHONPATH": str(checkout)}
    done = subprocess.run(command, env=variables, cwd=checkout, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_its_answers_are_checked(checkout):
    found = json.loads(run(checkout, "doctor", "toy", "--json"))
    assert next(one["available"] for one in found if one["name"] == "toy")


def test_it_is_described_by_its_own_file(checkout):
    (found,) = json.loads(run(checkout, "backends", "toy", "--json"))
    assert found["runs"]["model"] == "function"


def test_it_is_timed(checkout):
    out = run(checkout, "compare", "toy", "--rounds", "1", "--json", "-o", "toy.jsonl")
    (row,) = json.loads(out)["backends"]
    assert row["mean_us"] > 0


def test_what_describes_it_is_not_counted(checkout):
    (found,) = json.loads(run(checkout, "cost", "toy", "--json"))
    assert found["lines_of_code"] == 6


def test_it_is_among_those_that_answer_when_installed(checkout):
    code = (
        "from lenet_bench.registry import find, is_installed; print(is_installed(find('toy')[0]))"
    )
    variables = {**os.environ, "PYTHONPATH": str(checkout)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=variables, capture_output=True, text=True
    )
    assert done.stdout.strip() == "True", done.stderr
