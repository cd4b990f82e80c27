"""What is committed stays light: results in the form that `share` makes, no large file."""

import re

import pytest
from conftest import ROOT
from lenet_bench.registry import find
from processes import ran

MOST_OF_A_FILE = 1_000_000
MOST_OF_RESULTS = 12_000_000
#: The weights, and pages that hold all that they show.
LARGE = ("weights/lenet.safetensors", "docs/classroom.html", "results/cpu/*.html")

PUBLISHING = (ROOT / "bench/publish.sh").read_text()


@pytest.fixture(scope="module")
def sizes():
    """The bytes of each committed file."""
    if not (ROOT / ".git").exists():
        pytest.skip("not in a clone")
    names = ran("git", "ls-files", "-z", cwd=ROOT).stdout.split("\0")
    paths = [ROOT / name for name in names if name]
    return {path.relative_to(ROOT): path.lstat().st_size for path in paths if path.exists()}


def test_no_file_is_above_one_megabyte_but_the_weights_and_pages(sizes):
    large = [path for path, size in sizes.items() if size > MOST_OF_A_FILE]
    assert [str(path) for path in large if not any(map(path.match, LARGE))] == []


def test_results_are_at_most_twelve_megabytes(sizes):
    results = [size for path, size in sizes.items() if path.parts[0] == "results"]
    assert sum(results) <= MOST_OF_RESULTS


def test_no_raw_run_is_committed(sizes):
    assert [str(path) for path in sizes if path.suffix == ".jsonl"] == []


def test_what_is_published_is_measured_of_backends_that_exist():
    named = r"^(?:calls|sized|built|services|keras|torch)='(.*?)'"
    lists = re.findall(named, PUBLISHING, re.DOTALL | re.MULTILINE)
    assert len(lists) == 6
    for name in " ".join(lists).split():
        find(name)


def test_a_step_that_nobody_publishes_is_refused(tmp_path):
    done = ran("bench/publish.sh", tmp_path, "nonsense", cwd=ROOT, code=2)
    assert "nonsense is none of the steps: why" in done.stdout
