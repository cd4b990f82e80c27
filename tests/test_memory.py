"""Too little memory for all rungs at once: groups, and how much is left."""

import os
from dataclasses import replace

import pytest
import scratch_rungs as scratch
from lenet_bench import CompareOptions, compare
from lenet_bench.cli import run as run_here
from lenet_bench.measure.memory import Memory, left_in_cgroups, process_bytes

MIB = 1 << 20
LIMIT = 810 * MIB  # three workers of 210 to 245 MiB and no room for a fourth


def entry(name):
    """A rung that takes more than 200 MiB."""
    return scratch.entry(scratch.TakesMemory, name=name)


@pytest.fixture(scope="module")
def grouped(weights_file):
    """Three rungs of 200 MiB and more where there is room for two, and for one to start anew."""
    entries = tuple(map(entry, "abc"))
    options = CompareOptions(
        entries, baseline="c", rounds=3, weights=weights_file, memory_bytes=LIMIT
    )
    return compare(options)


def test_rungs_that_do_not_fit_together_run_in_groups(grouped):
    assert len(grouped.rules.groups) > 1
    assert {name for group in grouped.rules.groups for name in group} == {"a", "b", "c"}


def test_the_baseline_is_in_every_group_so_that_ratios_hold(grouped):
    assert all("c" in group for group in grouped.rules.groups)
    assert all(rung.summary.ratio is not None for rung in grouped.rungs)


def test_each_rung_is_timed_in_all_rounds_of_its_group(grouped):
    assert len(grouped.rung("b").turns) == 3
    assert len(grouped.rung("c").turns) == len(grouped.order)


def test_groups_are_warned_of(grouped):
    assert any("too small for all rungs at once" in warning for warning in grouped.warnings)


def test_a_run_in_groups_goes_on_in_the_group_that_was_interrupted(grouped, weights_file, tmp_path):
    def interrupt(progress):
        if progress.doing == "round 5":
            raise KeyboardInterrupt

    path, entries = tmp_path / "r.json", tuple(map(entry, "abc"))
    options = CompareOptions(entries, baseline="c", rounds=3, weights=weights_file, output=path)
    compare(replace(options, memory_bytes=LIMIT), interrupt)
    later = compare(CompareOptions(entries, resume=path, memory_bytes=LIMIT))
    assert later.rules.groups == grouped.rules.groups
    assert {r.name: len(r.turns) for r in later.rungs} == {
        r.name: len(r.turns) for r in grouped.rungs
    }


def test_one_group_is_not_worth_a_word(weights_file):
    entries = (scratch.entry(scratch.Honest),)
    result = compare(CompareOptions(entries, rounds=1, weights=weights_file))
    assert result.rules.groups == ()


def test_a_limit_counts_what_the_workers_have():
    mine = process_bytes(os.getpid())
    assert mine > MIB
    assert Memory(mine + MIB).left_bytes([os.getpid()]) < 50 * MIB


def test_a_process_that_is_gone_has_no_memory():
    assert process_bytes(2**30) == 0


def cgroup(folder, **files):
    """A control group's folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(f"{content}\n")


def test_a_control_group_and_those_around_it_limit(tmp_path):
    inner = tmp_path / "a" / "b"
    cgroup(tmp_path / "a", memory__max=1000, memory__current=400, memory__stat="inactive_file 100")
    cgroup(inner, memory__max="max", memory__current=300)
    assert list(left_in_cgroups(tmp_path, "0::/a/b\n")) == [700]


def test_the_first_version_of_control_groups_limits_too(tmp_path):
    files = {"memory__limit_in_bytes": 1000, "memory__usage_in_bytes": 990}
    stat = "inactive_file 1\ntotal_inactive_file 40\ntotal_active_file 10"
    cgroup(tmp_path / "memory" / "x", **files, memory__stat=stat)
    assert list(left_in_cgroups(tmp_path, "4:memory:/x\n3:cpuset:/\n")) == [60]


@pytest.mark.parametrize("given", ["0G", "2", "lots", "2T"])
def test_a_size_that_is_none_is_refused(given, capsys):
    assert run_here(["compare", "numpy", "--memory", given]) == 2
    assert "a size such as 2G" in capsys.readouterr().err
