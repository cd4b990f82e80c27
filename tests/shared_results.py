"""A result, and what `share` makes of it."""

import pytest
from lenet_bench.questions.share import given
from sample_results import possible_log, write_log


@pytest.fixture
def result_file(tmp_path):
    """A result as `compare` writes it."""
    path = tmp_path / "mine.jsonl"
    write_log(path, possible_log())
    return path


@pytest.fixture
def shared_file(result_file, tmp_path):
    """What `share` makes of it."""
    found = given(result_file)
    path = tmp_path / found.name
    path.write_bytes(found.content)
    return path
