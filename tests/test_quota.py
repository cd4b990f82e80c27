"""Calls under a CPU quota, as in a container."""

import subprocess

import pytest
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
def test_a_process_is_stopped_when_it_has_used_up_its_share(file, run_here):
    words = ("compare", "numpy", "--threads", "default", "--quota", "0.1", "--rounds", "1")
    done = run_here(*words, "-o", file)
    assert done.code == 0
    assert "with a quota of 0.1 cores" in done.output
    assert "; stopped: of periods of 100 ms, those in which" in " ".join(done.output.split())
    result = read_result(file)
    (row,) = digest(result)["backends"]
    assert row["throttled_share"] > 0
    (block,) = result.backends[0].blocks
    assert block.throttled is not None
    assert 0 < block.throttled.throttled <= block.throttled.periods
    assert block.throttled.stopped_s > 0
    parents = list(quota._parents())
    assert [one for folder in parents for one in folder.glob("lenet-bench-*")] == []


def test_where_no_group_can_be_made_the_command_says_so(file, run_here, monkeypatch):
    monkeypatch.setattr(quota, "_parents", lambda: iter(()))
    done = run_here("compare", "numpy", "--quota", "1.5", "-o", file)
    assert done.code != 0
    assert "--quota needs a control group" in done.errors
    assert done.output == ""
    assert not file.exists()


def test_the_reason_of_each_place_is_told_and_what_helps(monkeypatch, tmp_path):
    places = (tmp_path / "none", tmp_path / "nowhere")
    monkeypatch.setattr(quota, "_parents", lambda: places)
    with pytest.raises(LenetBenchError, match=r"No such file.*No such file.*run it as root"):
        quota.Quota(1.0)


@pytest.mark.usefixtures("groups")
def test_of_a_limit_above_it_is_said_that_it_allows_less(monkeypatch):
    above = quota.Quota(0.5)
    try:
        monkeypatch.setattr(quota, "_own", lambda: (above._group, above._group.parent))
        assert quota.limit() == 0.5
        monkeypatch.setattr(quota, "_parents", lambda: (above._group,))
        if not (above._group / "cpu.cfs_quota_us").exists():
            pytest.skip("version 2 takes a limit that is above its parent's")
        with pytest.raises(LenetBenchError, match=r"Invalid argument.*may have less"):
            quota.Quota(1.5)
    finally:
        above.close()


@pytest.mark.usefixtures("groups")
def test_what_a_killed_run_left_is_removed():
    ended = subprocess.Popen(["true"])
    ended.wait()
    left = quota._parents()[0] / f"lenet-bench-{ended.pid}-1"
    left.mkdir()
    quota.Quota(1.0).close()
    assert not left.exists()
