"""A comparison as a whole: rungs that fail, lie and leak, runs killed at any moment."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import scratch_rungs as scratch
from conftest import environment
from lenet_bench import CompareOptions, NotSavedError, compare
from lenet_bench.backends import GONE, names
from lenet_bench.errors import LenetBenchError, ResultError, WeightsError
from lenet_bench.results import failures, read_result, rows
from processes import alive, wait_for

linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

FAILING = [
    scratch.KillsItself,
    scratch.ReadsAddressZero,
    scratch.Raises,
    scratch.ExitsQuietly,
    scratch.ExitsPolitely,
    scratch.RunsOutOfMemory,
    scratch.TalksOverOurPipe,
    scratch.RaisesWhenStarted,
    scratch.CannotRun,
    scratch.AnswersWrongly,
    scratch.AnswersNaN,
    scratch.AnswersFloat64,
    scratch.AnswersABatch,
    scratch.AnswersNothing,
    scratch.AnswersWronglyWhenTimed,
    scratch.ReusesItsBuffer,
    scratch.ChangesItsInput,
    scratch.RemembersAnswers,
    scratch.RemembersTheLastAnswer,
    scratch.RemembersByIdentity,
]
#: Whoever runs the tests in the background or under nohup has these ignored, and so has a child.
AS_IN_A_TERMINAL = (
    "import signal;"
    "signal.signal(signal.SIGINT, signal.default_int_handler);"
    "signal.signal(signal.SIGTERM, signal.SIG_DFL);"
    "signal.signal(signal.SIGHUP, signal.SIG_DFL)"
)
UNDER_NOHUP = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)"
LIVING = [scratch.Honest, scratch.Prints, scratch.LeaksMemory, scratch.StartsAProcess]


@pytest.fixture(scope="module")
def zoo(weights_file, tmp_path_factory):
    """One run of all of them."""
    output = tmp_path_factory.mktemp("zoo") / "result.json"
    entries = tuple(map(scratch.entry, [*LIVING, *FAILING]))
    options = CompareOptions(entries, rounds=4, weights=weights_file, output=output, seed=5)
    return compare(options)


def measured(weights_file, *factories, **options):
    """Compare these."""
    entries = tuple(map(scratch.entry, factories))
    return compare(CompareOptions(entries, weights=weights_file, **options))


@pytest.mark.parametrize("name", [factory.__name__ for factory in LIVING])
def test_a_rung_that_answers_rightly_is_timed_in_every_round(zoo, name):
    assert (zoo.rung(name).status, len(zoo.rung(name).turns)) == ("ok", 4), zoo.rung(name)


@pytest.mark.parametrize(
    ("name", "status", "reason"),
    [
        ("KillsItself", "crashed", "killed by SIGKILL"),
        ("ReadsAddressZero", "crashed", "killed by SIGSEGV"),
        ("Raises", "crashed", "ValueError: the descriptor is stale"),
        ("ExitsQuietly", "crashed", "ended its process with exit code 0"),
        ("ExitsPolitely", "crashed", "SystemExit: enough"),
        ("RunsOutOfMemory", "crashed", "MemoryError"),
        ("TalksOverOurPipe", "crashed", ""),
        ("RaisesWhenStarted", "crashed", "while starting: RuntimeError: no such algorithm"),
        ("CannotRun", "unavailable", "its library is missing; mend it with: pip install it"),
        ("AnswersWrongly", "wrong", "while starting: its probabilities differ"),
        ("AnswersNaN", "wrong", "not finite"),
        ("AnswersFloat64", "wrong", "returned float64 (10,), expected float32 (10,)"),
        ("AnswersABatch", "wrong", "returned float32 (1, 10), expected float32 (10,)"),
        ("AnswersNothing", "wrong", "returned NoneType, expected a NumPy array"),
        ("AnswersWronglyWhenTimed", "wrong", "in round 1: its probabilities differ"),
        ("ReusesItsBuffer", "wrong", "differ"),
        ("ChangesItsInput", "wrong", "infer changed the image"),
        ("RemembersAnswers", "wrong", "remembers answers"),
        ("RemembersTheLastAnswer", "wrong", "remembers answers"),
        ("RemembersByIdentity", "wrong", "remembers answers"),
    ],
)
def test_a_rung_that_fails_costs_its_row_and_says_why(zoo, name, status, reason):
    row = zoo.rung(name)
    assert row.status == status, row
    assert reason in row.reason


def test_a_wrong_rung_is_not_timed(zoo):
    assert zoo.rung("AnswersWrongly").turns == ()


def test_the_traceback_of_a_rung_arrives_whole(zoo):
    traceback = zoo.rung("Raises").traceback
    assert "scratch_rungs.py" in traceback
    assert "in fail" in traceback


def test_a_native_crash_shows_where_python_was(zoo):
    assert "Segmentation fault" in zoo.rung("ReadsAddressZero").output
    assert "in fail" in zoo.rung("ReadsAddressZero").output


def test_what_a_rung_prints_is_kept(zoo):
    assert "one more image" in zoo.rung("Prints").output
    assert "from below Python" in zoo.rung("Prints").output


def test_a_leak_shows_in_the_peak_of_memory(zoo):
    leaking, honest = zoo.rung("LeaksMemory"), zoo.rung("Honest")
    assert leaking.resources.peak_rss_mib > honest.resources.peak_rss_mib + 50


def test_the_file_holds_what_was_returned(zoo, tmp_path_factory):
    path = next(tmp_path_factory.getbasetemp().glob("zoo*/result.json"))
    assert read_result(path) == zoo


def test_every_round_names_its_order_and_the_orders_differ(zoo):
    assert len(zoo.order) == 4
    assert len(set(zoo.order)) > 1
    assert all({"empty", "Honest"} <= set(order) for order in zoo.order)


def test_failures_are_those_that_ran_and_failed(zoo):
    assert set(failures(zoo.rungs)) == {f.__name__ for f in FAILING} - {"CannotRun"}
    assert "CannotRun" in failures(zoo.rungs, named=["CannotRun"])


def test_rows_hold_figures_for_rungs_that_are_ok_only(zoo):
    by_name = {row["name"]: row for row in rows(zoo)}
    assert by_name["Honest"]["p50_us"] > 0
    assert by_name["Honest"]["cold_start_s"] > 0
    assert by_name["Raises"]["p50_us"] is None


def test_no_process_is_left(zoo):
    for name in ("Honest", "StartsAProcess"):
        assert zoo.rung(name).status == "ok"
    assert not alive(int(zoo.rung("StartsAProcess").runs["child"]))


def test_a_rung_that_hangs_times_out_and_the_others_go_on(weights_file):
    result = measured(
        weights_file, scratch.Honest, scratch.Hangs, scratch.HangsWhenStarted, rounds=3, timeout_s=5
    )
    assert [rung.status for rung in result.rungs] == ["ok", "timeout", "timeout"]
    assert "did not answer within 5 s" in result.rung("Hangs").reason
    assert len(result.rung("Honest").turns) == 3


def test_a_rung_that_closes_every_file_is_given_up(weights_file):
    result = measured(weights_file, scratch.ClosesEverything, rounds=12)
    assert result.rungs[0].status == "crashed"


def test_a_thread_that_spins_between_turns_is_warned_of(weights_file):
    result = measured(weights_file, scratch.SpinsBetweenTurns, rounds=4)
    assert any("between their turns" in warning for warning in result.warnings)


def test_threads_beyond_the_count_are_warned_of(weights_file):
    result = measured(weights_file, scratch.SpinsBetweenTurns, rounds=4)
    assert result.rungs[0].resources.threads_running == 2
    (told,) = [warning for warning in result.warnings if "more threads than the 1 asked" in warning]
    assert "SpinsBetweenTurns (2)" in told


def test_where_no_rung_runs_the_result_says_so(weights_file):
    result = measured(weights_file, scratch.AnswersNaN, rounds=4)
    assert result.ended == "nothing to time"


def test_ratios_are_to_the_baseline_asked_for(weights_file):
    entries = (scratch.entry(scratch.Honest), scratch.entry(scratch.Prints))
    options = CompareOptions(entries, baseline="Prints", rounds=8, weights=weights_file)
    result = compare(options)
    assert result.rung("Prints").summary.verdict == "baseline"
    assert result.rung("Honest").summary.ratio is not None


def test_a_baseline_that_fails_leaves_no_ratios_and_a_warning(weights_file):
    entries = (scratch.entry(scratch.Honest), scratch.entry(scratch.AnswersNaN))
    options = CompareOptions(entries, baseline="AnswersNaN", rounds=8, weights=weights_file)
    result = compare(options)
    assert result.rung("Honest").summary.ratio is None
    assert any("baseline" in warning for warning in result.warnings)


def test_what_computes_nothing_is_a_floor_and_not_wrong(weights_file):
    floor = scratch.entry(scratch.AnswersWrongly, name="floor", checked=False)
    result = compare(CompareOptions((floor,), rounds=2, weights=weights_file))
    assert result.rungs[0].status == "ok"


def test_the_same_seed_gives_the_same_order(weights_file):
    entries = tuple(scratch.entry(scratch.Honest, name=name) for name in "abcd")
    runs = [
        compare(CompareOptions(entries, rounds=3, seed=11, weights=weights_file)) for _ in range(2)
    ]
    assert runs[0].order == runs[1].order


def test_every_start_of_the_workers_has_a_cold_start(weights_file):
    result = measured(weights_file, scratch.Honest, rounds=3)
    starts = result.rung("Honest").cold_starts
    assert len(starts) == 3
    assert all(min(s.process_s, s.import_s, s.weights_s, s.build_s, s.first_s) > 0 for s in starts)


def test_a_rung_that_is_slow_to_start_starts_three_times_and_is_warned_of(weights_file):
    result = measured(weights_file, scratch.Honest, scratch.IsSlowToStart, rounds=6)
    assert len(result.rung("IsSlowToStart").cold_starts) == 3
    assert len({turn.start for turn in result.rung("IsSlowToStart").turns}) == 3
    assert any("started only 3 times" in warning for warning in result.warnings)


def test_a_slow_rung_starts_as_often_as_it_is_told(weights_file):
    result = measured(weights_file, scratch.IsSlowToStart, rounds=3, restarts=0)
    assert len(result.rungs[0].cold_starts) == 1
    assert any("started only once" in warning for warning in result.warnings)


def test_the_empty_rung_shows_the_floor_of_the_harness(weights_file):
    result = measured(weights_file, scratch.Honest, rounds=2)
    floor, rung = result.floor.summary.p50_us, result.rung("Honest").summary.p50_us
    assert 0 < floor < rung


def test_the_threads_are_pinned_before_anything_is_imported(weights_file):
    result = measured(weights_file, scratch.Honest, rounds=1)
    assert result.rules.variables["OMP_NUM_THREADS"] == "1"
    assert result.rung("Honest").resources.threads_alive in (1, None)


def test_a_run_from_another_thread_works(weights_file):
    found = []
    thread = threading.Thread(
        target=lambda: found.append(measured(weights_file, scratch.Honest, rounds=1))
    )
    thread.start()
    thread.join(60)
    assert found[0].rungs[0].status == "ok"


def test_weights_that_are_missing_are_told_before_anything_starts(tmp_path):
    with pytest.raises(WeightsError):
        compare(CompareOptions(("numpy",), weights=tmp_path / "none.safetensors"))


@pytest.mark.parametrize(
    "options",
    [{"rounds": 0}, {"budget_s": 0}, {"precision": -1}, {"threads": 0}, {"timeout_s": 0}],
)
def test_figures_that_no_run_could_follow_are_refused(options):
    with pytest.raises(LenetBenchError, match="above 0"):
        compare(CompareOptions(("numpy",), **options))


def test_a_rung_named_twice_is_refused():
    with pytest.raises(LenetBenchError, match="twice"):
        compare(CompareOptions(("numpy", "numpy")))


def test_an_output_that_cannot_be_written_is_told_before_anything_starts(weights_file, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultError, match="cannot be written"):
        measured(weights_file, scratch.Honest, output=tmp_path / "file" / "result.json", rounds=1)


def test_an_earlier_result_stays_until_the_first_round_is_over(tmp_path):
    output = tmp_path / "result.json"
    output.write_text("earlier")
    with pytest.raises(WeightsError):
        compare(CompareOptions(("numpy",), weights=tmp_path / "none", output=output))
    assert output.read_text() == "earlier"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_device_loses_the_file_and_not_the_result(weights_file):
    with pytest.raises(NotSavedError, match="No space left") as caught:
        measured(weights_file, scratch.Honest, output="/dev/full", rounds=1)
    assert caught.value.result.rung("Honest").status == "ok"
    assert Path("/dev/full").is_char_device()


def test_a_run_ends_once_there_is_enough(weights_file):
    """Asked between starts, with all that was measured so far."""
    seen = []

    def enough(result):
        seen.append(len(result.rung("Honest").turns))
        return seen[-1] / 3

    result = measured(weights_file, scratch.Honest, rounds=6, enough=enough)
    assert seen == [1, 2, 3]
    assert (result.ended, len(result.order)) == ("precision", 3)


@linux
def test_a_worker_killed_while_it_runs_costs_its_own_row(weights_file):
    killed = []

    def kill_the_last(progress):
        if progress.doing == "round 4":
            killed.append(workers(os.getpid())[-1])
            threading.Timer(0.03, os.kill, (killed[0], signal.SIGKILL)).start()

    entries = tuple(scratch.entry(scratch.Honest, name=name) for name in ("stays", "goes"))
    options = CompareOptions(entries, rounds=20, weights=weights_file)
    result = compare(options, kill_the_last)
    failed = [rung for rung in result.rungs if rung.status != "ok"]
    assert len(failed) == 1
    assert "killed by SIGKILL" in failed[0].reason
    assert len(failed[0].turns) >= 3, "the samples of its earlier rounds are kept"


@linux
@pytest.mark.parametrize("delay_s", [0.0, 0.05, 0.2])
def test_kill_9_of_the_parent_leaves_a_whole_file_and_no_worker(weights_file, tmp_path, delay_s):
    output = tmp_path / "result.json"
    with started(weights_file, output) as process:
        wait_for(output.exists)
        time.sleep(delay_s)
        workers = children(process.pid)
        process.kill()
        process.wait(60)
        assert workers
        wait_for(lambda: not any(alive(worker) for worker in workers))
    result = read_result(output)
    assert result.ended == "running"
    assert len(result.rung("numpy").turns) == len(result.order) >= 1


@linux
@pytest.mark.parametrize("delay_s", [0.0, 0.02, 0.1])
def test_kill_9_of_the_parent_while_it_starts_leaves_no_worker(weights_file, tmp_path, delay_s):
    output = tmp_path / "result.json"
    with started(weights_file, output) as process:
        wait_for(lambda: children(process.pid))
        time.sleep(delay_s)
        workers = children(process.pid)
        process.kill()
        process.wait(60)
        wait_for(lambda: not any(alive(worker) for worker in workers))
    assert [path.name for path in tmp_path.iterdir()] in ([], ["result.json"])


@linux
def test_the_processes_of_a_rung_end_with_the_run_that_was_killed(weights_file, tmp_path):
    script = tmp_path / "run.py"
    script.write_text(
        "import sys\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "import scratch_rungs as scratch\n"
        "from lenet_bench import CompareOptions, compare\n"
        "rungs = (scratch.entry(scratch.StartsAProcess),)\n"
        "compare(CompareOptions(rungs, rounds=10**6, weights=sys.argv[2], output=sys.argv[3]))\n"
    )
    output = tmp_path / "result.json"
    command = [sys.executable, script, str(Path(__file__).parent), weights_file, output]
    with subprocess.Popen(command, env=environment()) as process:
        wait_for(output.exists)
        begun = {child for worker in workers(process.pid) for child in children(worker)}
        process.kill()
    assert begun
    wait_for(lambda: not any(map(alive, begun)))


@linux
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_ends_the_run_with_all_that_was_measured(weights_file, tmp_path, number):
    output = tmp_path / "result.json"
    with started(weights_file, output) as process:
        wait_for(output.exists)
        workers = children(process.pid)
        process.send_signal(number)
        printed, _ = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "numpy" in printed
        wait_for(lambda: not any(alive(worker) for worker in workers))
    result = read_result(output)
    assert result.ended == "interrupted"
    assert result.rung("numpy").summary is not None


@linux
def test_a_run_under_nohup_outlives_its_terminal(weights_file, tmp_path):
    output = tmp_path / "result.json"
    with started(weights_file, output, UNDER_NOHUP) as process:
        wait_for(output.exists)
        process.send_signal(signal.SIGHUP)
        before = len(read_result(output).order)
        wait_for(lambda: len(read_result(output).order) > before + 1)
        assert process.poll() is None


def test_without_names_all_are_compared_but_those_that_are_gone():
    rungs = [entry.name for entry in CompareOptions().entries()]
    assert rungs == names(gone=False)
    assert not {rung.name for rung in GONE} & set(rungs)


def test_a_named_rung_that_cannot_run_fails_the_command_with_its_reason(
    run, weights_file, tmp_path
):
    output = tmp_path / "result.json"
    gone = GONE[0]
    done = run(
        "compare", "numpy", gone.name, "--rounds", "1", "--weights", weights_file, "-o", output
    )
    assert done.code == 1
    assert f"{gone.name}: unavailable: {gone.name} had its last release" in done.output
    assert "not at hand" not in done.output


def test_a_baseline_that_cannot_run_fails_the_command(run, weights_file, tmp_path):
    output = tmp_path / "result.json"
    options = ("--rounds", "1", "--weights", weights_file, "-o", output)
    done = run("compare", "numpy", "--baseline", GONE[0].name, *options)
    assert done.code == 1


@linux
def test_a_disk_that_fills_up_loses_the_file_and_not_the_table(weights_file, tmp_path):
    output = tmp_path / "result.json"
    limited = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000));"
        "from lenet_bench.cli import main; main()"
    )
    command = [sys.executable, "-c", limited, "compare", "numpy", "--rounds", "30"]
    command += ["--weights", str(weights_file), "-o", str(output)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=120)
    assert done.returncode == 1
    assert "p50" in done.stdout
    assert f"{output}: cannot be written: File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]
    assert read_result(output).ended == "running", "the last one that found room"


def test_the_command_prints_a_table_and_names_its_file(run, weights_file, tmp_path):
    output = tmp_path / "result.json"
    done = run("compare", "numpy", "--rounds", "2", "--weights", weights_file, "-o", output)
    assert done.code == 0, done.errors
    assert "numpy" in done.output
    assert "\x1b" not in done.output
    assert str(output) in done.errors


def test_the_command_prints_rows_as_json(run, weights_file, tmp_path):
    output = tmp_path / "result.json"
    done = run(
        "compare", "numpy", "--rounds", "8", "--json", "--weights", weights_file, "-o", output
    )
    (row,) = json.loads(done.output)["rungs"]
    wanted = {"name", "status", "p50_us", "p90_us", "p99_us", "ratio", "ratio_low", "ratio_high"}
    wanted |= {"verdict", "cold_start_s", "peak_rss_mib", "lines_of_code"}
    assert wanted <= set(row)
    assert (row["name"], row["status"], row["verdict"]) == ("numpy", "ok", "baseline")


@pytest.mark.parametrize(
    "arguments",
    [
        ("nosuch",),
        ("numpy", "numpy"),
        ("--budget", "3x"),
        ("--budget", "0s"),
        ("--timeout", "501h"),
        ("--memory", "9" * 400 + "G"),
        ("--precision", "200%"),
        ("--baseline", "nosuch"),
        ("--rounds", "0"),
    ],
)
def test_the_command_refuses_misuse(run, arguments):
    done = run("compare", *arguments)
    assert done.code == 2
    assert "Traceback" not in done.errors


@contextmanager
def started(weights_file, output, before=AS_IN_A_TERMINAL):
    """The command, measuring for ever, until the test is over."""
    command = [sys.executable, "-c", f"{before}; from lenet_bench.cli import main; main()"]
    command += ["compare", "numpy", "--rounds", "1000000"]
    command += ["--weights", str(weights_file), "-o", str(output)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=60)


def children(pid):
    """Its children, the youngest last."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append((int(fields[19]), int(stat.parent.name)))
    return [child for _, child in sorted(found)]


def workers(pid):
    """Those of its children that run a rung, the youngest last."""
    return [child for child in children(pid) if "measure.worker" in command_line(child)]


def command_line(pid):
    """What it was started with."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""
