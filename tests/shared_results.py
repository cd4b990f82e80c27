"""A run that is saved; a result of backends that there are, and what `share` makes of it."""

import pytest
from lenet_bench.questions.share import given
from sample_results import possible_log, sample_log, write_log


@pytest.fixture
def saved(tmp_path):
    """The file of a made-up run."""
    return write_log(tmp_path / "run.jsonl", sample_log())


@pytest.fixture
def result_file(tmp_path):
    """A result as `compare` writes it."""
    return write_log(tmp_path / "mine.jsonl", possible_log())


@pytest.fixture
def shared_file(result_file, tmp_path):
    """What `share` makes of it."""
    found = given(result_file)
    path = tmp_path / found.name
    path.write_bytes(found.content)
    return path
