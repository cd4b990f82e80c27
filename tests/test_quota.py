"""Calls under a CPU quota, as in a container."""

import pytest
from lenet_bench.cli import run as run_here
from lenet_bench.errors import LenetBenchError
from lenet_bench.measure import quota
from lenet_bench.results import digest, read_result


@pytest.fixture
def file(tmp_path):
    return tmp_path / "r.jsonl"


@pytest.fixture
def groups():
    """Nothing, where a control group can be made."""
    try:
        quota.Quota(1.0).close()
    except LenetBenchError as error:
        pytest.skip(str(error))


@pytest.mark.usefixtures("groups")
def test_a_process_is_stopped_when_it_has_used_up_its_share(file, capsys):
    words = ("compare", "numpy", "--threads", "default", "--quota", "0.1", "--rounds", "1")
    assert run_here([*words, "-o", str(file)]) == 0
    said = capsys.readouterr().out
    assert "with a quota of 0.1 cores" in said
    assert "stopped" in said
    result = read_result(file)
    (row,) = digest(result)["backends"]
    assert row["throttled_share"] > 0
    (block,) = result.backends[0].blocks
    assert block.throttled is not None
    assert 0 < block.throttled.throttled <= block.throttled.periods
    assert block.throttled.stopped_s > 0
    parents = list(quota._parents())
    assert [one for folder in parents for one in folder.glob("lenet-bench-*")] == []


def test_where_no_group_can_be_made_the_command_says_so(file, capsys, monkeypatch):
    monkeypatch.setattr(quota, "_parents", lambda: iter(()))
    assert run_here(["compare", "numpy", "--quota", "1.5", "-o", str(file)]) != 0
    said = capsys.readouterr()
    assert "--quota needs a control group" in said.err
    assert said.out == ""
    assert not file.exists()


@pytest.mark.parametrize("asked", ["0", "-1", "two"])
def test_a_quota_that_is_none_is_refused(asked):
    assert run_here(["compare", "numpy", "--quota", asked]) == 2
