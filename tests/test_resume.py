"""A run that was interrupted or killed goes on where it stopped, or says why it cannot."""

import os
import signal
import subprocess
import sys
from dataclasses import replace

import pytest
import scratch_rungs as scratch
from conftest import environment
from lenet_bench import CompareOptions, compare
from lenet_bench.cli import run as run_here
from lenet_bench.errors import ResultError
from lenet_bench.results import ResultFile, read_result
from processes import wait_for

ROUNDS = 6
RUNGS = (scratch.entry(scratch.Honest, name="one"), scratch.entry(scratch.Honest, name="two"))


def interrupt_in(doing):
    """A progress display during which somebody presses Ctrl-C."""

    def show(progress):
        if progress.doing == doing:
            raise KeyboardInterrupt

    return show


def interrupted(weights_file, output, rungs=RUNGS, at="round 4", **options):
    """A run of six rounds that ended early."""
    options = {"rounds": ROUNDS, "seed": 3, "weights": weights_file, "output": output, **options}
    return compare(CompareOptions(rungs, **options), interrupt_in(at))


def resumed(path, rungs=RUNGS, **options):
    """It goes on."""
    return compare(CompareOptions(rungs, resume=path, argv=("resumed",), **options))


@pytest.fixture(scope="module")
def pair(weights_file, tmp_path_factory):
    """A run as it was interrupted, and as it was once it was resumed."""
    output = tmp_path_factory.mktemp("resume") / "r.json"
    earlier = interrupted(weights_file, output, argv=("first",), batches=(2,))
    return earlier, resumed(output), output


def test_nothing_that_was_measured_is_lost(pair):
    earlier, later, _ = pair
    assert len(earlier.order) == 3
    for rung in earlier.rungs:
        again = later.rung(rung.name)
        assert again.turns[: len(rung.turns)] == rung.turns
        assert again.cold_starts[: len(rung.cold_starts)] == rung.cold_starts


def test_it_ends_by_the_rules_that_it_began_with(pair):
    _, later, _ = pair
    assert (later.ended, len(later.order)) == ("rounds", ROUNDS)
    assert [turn.round for turn in later.rung("one").turns] == list(range(ROUNDS))
    assert [batch.size for batch in later.rung("two").batches] == [2]


def test_the_order_is_that_of_a_run_that_was_never_interrupted(pair, weights_file):
    _, later, _ = pair
    options = CompareOptions(RUNGS, rounds=ROUNDS, seed=3, weights=weights_file)
    assert later.order == compare(options).order


def test_time_goes_on_from_where_it_stopped(pair):
    earlier, later, _ = pair
    times = [turn.at_s for turn in later.rung("one").turns]
    assert times == sorted(times)
    assert later.elapsed_s > earlier.elapsed_s
    assert later.started == earlier.started


def test_the_result_tells_that_it_was_resumed(pair):
    _, later, _ = pair
    assert later.argv == ("first",)
    assert [(one.argv, one.rounds) for one in later.resumed] == [(("resumed",), 3)]


def test_it_goes_on_in_the_same_file(pair):
    _, later, path = pair
    assert read_result(path) == later


def test_a_run_that_is_over_is_not_resumed(pair):
    with pytest.raises(ResultError, match="came to its end"):
        resumed(pair[2])


def changed(pair, tmp_path, **changes):
    """The interrupted run, as if it had been of something else."""
    path = tmp_path / "r.json"
    ResultFile(path).write(replace(pair[0], **changes))
    return path


def test_another_version_is_refused(pair, tmp_path):
    with pytest.raises(ResultError, match=r"its lenet-bench was 0\.0\.0, and here it is"):
        resumed(changed(pair, tmp_path, version="0.0.0"))


def test_another_machine_is_refused(pair, tmp_path):
    machine = {**pair[0].machine, "processor": {"model": "Z80"}}
    with pytest.raises(ResultError, match="its processor was Z80"):
        resumed(changed(pair, tmp_path, machine=machine))


def test_other_weights_are_refused(pair, tmp_path):
    rules = replace(pair[0].rules, weights_sha256="0" * 64)
    with pytest.raises(ResultError, match="its weights"):
        resumed(changed(pair, tmp_path, rules=rules))


def test_other_rungs_are_refused(pair, tmp_path):
    with pytest.raises(ResultError, match="compares one, two, not one"):
        resumed(changed(pair, tmp_path), RUNGS[:1])


def test_an_interruption_while_starting_loses_nothing_either(weights_file, tmp_path):
    path = tmp_path / "r.json"
    earlier = interrupted(weights_file, path, at="starting two")
    assert earlier.rung("two").status == "unmeasured"
    later = resumed(path)
    assert [rung.status for rung in later.rungs] == ["ok", "ok"]
    assert later.rung("one").cold_starts[0] == earlier.rung("one").cold_starts[0]


@pytest.mark.parametrize(("retry", "status"), [(False, "crashed"), (True, "ok")])
def test_a_rung_that_failed_stays_so_unless_it_is_tried_again(
    weights_file, tmp_path, monkeypatch, retry, status
):
    rungs = (RUNGS[0], scratch.entry(scratch.RaisesUnlessTold))
    path = tmp_path / "r.json"
    interrupted(weights_file, path, rungs, at="round 2")
    monkeypatch.setenv("LENET_BENCH_TEST_WELL", "1")
    later = resumed(path, rungs, retry=retry)
    assert later.rung("RaisesUnlessTold").status == status


@pytest.mark.skipif(sys.platform != "linux", reason="kills a process and its children")
def test_a_run_that_was_killed_goes_on(weights_file, tmp_path, capsys):
    path = tmp_path / "r.json"
    command = [sys.executable, "-m", "lenet_bench", "compare", "numpy", "reference"]
    command += ["--rounds", "8", "--weights", str(weights_file), "-o", str(path)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment()) as process:
        wait_for(path.exists)
        os.kill(process.pid, signal.SIGKILL)
    before = read_result(path)
    assert run_here(["compare", "--resume", str(path)]) == 0
    after = read_result(path)
    assert "interrupted and resumed" in capsys.readouterr().out
    assert after.rung("numpy").turns[: len(before.order)] == before.rung("numpy").turns
    assert (after.ended, len(after.order)) == ("rounds", 8)


@pytest.mark.parametrize("option", [("--rounds", "3"), ("--quick",), ("--threads", "2")])
def test_other_rules_are_refused_beside_resume(option, capsys):
    assert run_here(["compare", "--resume", "r.json", *option]) == 2
    assert f"leave out {option[0]}" in capsys.readouterr().err


def test_retry_alone_is_refused(capsys):
    assert run_here(["compare", "--retry"]) == 2
    assert "--resume" in capsys.readouterr().err


def test_a_file_that_is_no_result_is_told(tmp_path, capsys):
    (tmp_path / "r.json").write_text("{}")
    assert run_here(["compare", "--resume", str(tmp_path / "r.json")]) == 1
    assert "not a result file" in capsys.readouterr().err
