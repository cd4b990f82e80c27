"""A backend is added as docs/architecture.md says: by its file, its row and its packages."""

from pathlib import Path

import lenet_bench
import pytest
from conftest import environment
from processes import python

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
            if path.name not in ("backends", "registry"):
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


@pytest.fixture
def asked(run, checkout):
    """`asked("cost", "toy")`: what that command answers there."""
    return lambda *words: run(*words, "--json", PYTHONPATH=str(checkout)).answer


def test_its_answers_are_checked(asked):
    assert next(one["available"] for one in asked("doctor", "toy") if one["name"] == "toy")


def test_it_is_described_by_its_own_file(asked):
    found, *_ = asked("doctor", "toy")
    assert found["details"]["model"] == "function"


def test_it_is_timed(asked, tmp_path):
    (row,) = asked("compare", "toy", "--rounds", "1", "-o", tmp_path / "r.jsonl")["backends"]
    assert row["mean_us"] > 0


def test_what_describes_it_is_not_counted(asked):
    (found,) = asked("cost", "toy")
    assert found["lines_of_code"] == 6


def test_it_is_among_those_that_answer_when_installed(checkout):
    code = "from lenet_bench.registry import find, is_installed as i; print(i(find('toy')[0]))"
    assert python(code, env=environment(PYTHONPATH=str(checkout))).stdout == "True\n"
