"""A comparison as a whole: backends that fail, lie and leak, and when a run ends."""

import os
import struct
import threading
from typing import Any

import pytest
import scratch_backends as scratch
from lenet_bench import CompareOptions, compare, render
from lenet_bench.errors import LenetBenchError
from lenet_bench.measure.watch import Reading, used
from lenet_bench.registry import names
from lenet_bench.results import read_log, read_result, rows
from lenet_bench.subjects.subject import STRETCHES
from processes import alive, linux
from scratch_backends import measured

#: Backends that fail, how, and a part of the reason.
#: Seen by our clock; on a busy machine first by new images, which seem to take twice as long.
HALVED = "it changed its times or it remembers answers"
FAILING = [
    (scratch.KillsItself, "crashed", "in round 1: killed by SIGKILL"),
    (scratch.DiesWithADaemon, "crashed", "in round 1: killed by SIGKILL"),
    (scratch.ReadsAddressZero, "crashed", "killed by SIGSEGV"),
    (scratch.Raises, "crashed", "ValueError: the descriptor is stale"),
    (scratch.ExitsQuietly, "crashed", "exit code 0"),
    (scratch.TalksOverOurPipe, "crashed", ""),
    (scratch.ClosesEverything, "crashed", "closed its connection"),
    (scratch.RaisesWhenStarted, "crashed", "while starting: RuntimeError: no such algorithm"),
    (scratch.FailsInColours, "crashed", "gone"),
    (scratch.CannotRun, "unavailable", "its library is missing; fix it with: pip install it"),
    (scratch.AnswersWrongly, "wrong", "while starting: its probabilities differ"),
    (scratch.AnswersNaN, "wrong", "not finite"),
    (scratch.AnswersFloat64, "wrong", "float64 (10,)"),
    (scratch.AnswersABatch, "wrong", "float32 (1, 10)"),
    (scratch.DescribesNothing, "wrong", "describe returned what no result can hold"),
    (scratch.DescribesNumbers, "wrong", "got `int`"),
    (scratch.DescribesWithoutEnd, "wrong", "length"),
    (scratch.SaysANumber, "crashed", "while starting: its process sent a message of a wrong form"),
    (scratch.SaysHalfAnAnswer, "crashed", "in round 1: its process sent a message of a wrong"),
    (scratch.RaisesAtLength, "crashed", "characters left out"),
    (scratch.AnswersWronglyWhenTimed, "wrong", "in round 1: its probabilities differ"),
    (scratch.AnswersWhenRead, "wrong", "returned Lazy, expected a plain NumPy array"),
    (scratch.ReusesItsBuffer, "wrong", "differ"),
    (scratch.ChangesItsInput, "wrong", "changed the input"),
    (scratch.RemembersByIdentity, "wrong", "remembers answers"),
    (scratch.RemembersFewPixels, "wrong", "remembers answers"),
    (scratch.RemembersLater, "wrong", "remembers answers"),
    (scratch.RemembersWhenTimed, "wrong", "it remembers answers"),
    (scratch.HalvesTimesInTheFrames, "wrong", HALVED),
    (scratch.HalvesTimes, "wrong", HALVED),
    (scratch.SlowsItsClock, "wrong", "clock"),
]
LIVING = [
    *(scratch.Honest, scratch.Prints, scratch.LeaksMemory, scratch.StartsAProcess),
    *(scratch.ForksWhenTimed, scratch.LeavesItsCore, scratch.LeavesADaemon, scratch.HasInferOnly),
]


@pytest.fixture(scope="module")
def zoo_file(tmp_path_factory):
    return tmp_path_factory.mktemp("zoo") / "result.jsonl"


@pytest.fixture(scope="module")
def zoo(zoo_file):
    entries = tuple(map(scratch.entry, [*LIVING, *(factory for factory, _, _ in FAILING)]))
    return compare(CompareOptions(entries, rounds=2, output=zoo_file, seed=5))


@pytest.mark.parametrize("name", [factory.__name__ for factory in LIVING])
def test_a_backend_that_answers_rightly_is_timed_in_every_round(zoo, name):
    row = zoo.backend(name)
    assert row.status == "ok", row.reason
    assert [block.round for block in row.blocks] == [0, 1], row.reason


@pytest.mark.parametrize(
    ("name", "status", "reason"), [(factory.__name__, *rest) for factory, *rest in FAILING]
)
def test_a_backend_that_fails_costs_its_row(zoo, name, status, reason):
    row = zoo.backend(name)
    assert row.status == status, row.reason
    # On a disturbed machine, times prove a lie in a later round.
    assert all(f"in round {block.round + 2}: " in row.reason for block in row.blocks)
    assert any(one in row.reason for one in reason.split(" or "))


def test_times_that_are_unlikely_in_one_process_only_are_measured_again(tmp_path, monkeypatch):
    monkeypatch.setenv("LENET_BENCH_TEST_HALVED", str(tmp_path / "halved"))
    row = measured(scratch.HalvesTimesOnce, rounds=1).backends[0]
    assert (tmp_path / "halved").exists()
    assert row.status == "ok", row.reason


def test_what_a_backend_prints_arrives(zoo):
    assert "in fail" in zoo.backend("Raises").traceback
    assert "Segmentation fault" in zoo.backend("ReadsAddressZero").output
    assert "in fail" in zoo.backend("ReadsAddressZero").output
    assert "one more image" in zoo.backend("Prints").output
    assert "from below Python" in zoo.backend("Prints").output


def test_a_backend_cannot_colour_its_reason(zoo, zoo_file):
    assert "\x1b" not in zoo.backend("FailsInColours").reason
    assert "\\u001b" not in zoo_file.read_text()


def test_a_leak_shows_in_the_peak_of_memory(zoo):
    leaking, honest = zoo.backend("LeaksMemory"), zoo.backend("Honest")
    assert leaking.peak_rss_mib > honest.peak_rss_mib + 15


def test_the_empty_backend_is_faster_than_all(zoo):
    assert 0 < zoo.floor.summary.p50_us < zoo.backend("Honest").summary.p50_us


def test_a_process_that_a_backend_started_ends_with_its_block(zoo):
    assert not alive(int(zoo.backend("StartsAProcess").runs["child"]))


@linux
def test_a_daemon_ends_with_its_backends_block(zoo):
    assert not alive(int(zoo.backend("LeavesADaemon").runs["daemon"]))


@linux
def test_a_daemon_ends_with_a_backend_that_died(zoo):
    assert not alive(int(zoo.backend("DiesWithADaemon").output.split()[1]))


@linux
def test_a_warning_names_a_backend_that_left_a_daemon(zoo):
    (warning,) = [text for text in zoo.warnings if "did not end with it" in text]
    assert "LeavesADaemon (sleep)" in warning


@linux
@pytest.mark.skipif(os.cpu_count() == 1, reason="there is one core only")
def test_a_backend_that_leaves_its_core_is_warned_of(zoo):
    (warning,) = [text for text in zoo.warnings if "although pinned" in text]
    assert "LeavesItsCore" in warning
    assert "Honest" not in warning


@pytest.mark.usefixtures("zoo")
def test_each_block_has_its_cold_start(zoo_file):
    every = [block for block in read_log(zoo_file).blocks if block.backend == "Honest"]
    for block in every:
        start = block.cold_start
        assert start is not None
        assert block.took_s is not None
        assert min(start.import_s, start.weights_s, start.build_s, start.first_s) > 0
        assert start.total_s < block.took_s
        assert min(ns for _, *loops in block.slices for ns in loops) > 0
        assert block.made >= len(block.samples_ns) >= 20
        assert sum(block.samples_ns) <= block.wall_ns
        assert block.cpu_ns > 0


@pytest.mark.usefixtures("zoo")
def test_a_block_that_fails_keeps_what_was_measured_before(zoo_file):
    blocks = {block.backend: block for block in read_log(zoo_file).blocks if block.round == 0}
    for factory in (scratch.AnswersWrongly, scratch.Raises, scratch.AnswersWronglyWhenTimed):
        block = blocks[factory.__name__]
        assert block.status != "ok"
        assert block.cold_start is not None
        assert bool(block.samples_ns) == (factory is scratch.AnswersWronglyWhenTimed)
    assert blocks["RaisesWhenStarted"].cold_start is None


@pytest.mark.usefixtures("zoo")
def test_the_order_differs_from_round_to_round(zoo_file):
    blocks = read_log(zoo_file).blocks
    living = {factory.__name__ for factory in LIVING}
    orders = [[b.backend for b in blocks if b.round == n and b.backend in living] for n in (0, 1)]
    assert sorted(orders[0]) == sorted(orders[1]) == sorted(living)
    assert orders[0] != orders[1]


@pytest.mark.slow
def test_a_backend_that_hangs_costs_its_row():
    hanging = (scratch.Hangs, scratch.HangsWhenStarted)
    result = measured(scratch.Honest, *hanging, rounds=2, timeout_s=30)
    assert [row.status for row in result.backends] == ["ok", "timeout", "timeout"]
    assert "within 30 s; give a larger --timeout" in result.backend("Hangs").reason
    assert len(result.backend("Honest").blocks) == 2


def test_a_thread_at_work_unasked_is_warned_of():
    result = measured(scratch.SpinsUnasked, rounds=2)
    assert result.backends[0].threads_running >= 2
    assert any("more threads than the 1" in warning for warning in result.warnings)
    assert any("CPU time between calls" in warning for warning in result.warnings)


def test_a_budget_is_kept_from_the_first_start_to_the_end():
    updates: list[Any] = []
    entries = tuple(scratch.entry(scratch.Honest, name=name) for name in "abc")
    result = compare(CompareOptions(entries, budget_s=4), updates.append)
    ran = [block for row in (*result.backends, result.floor) if row for block in row.blocks]
    longest = max((block.took_s or 0 for block in ran), default=result.elapsed_s)  # none: busy
    assert result.ended == "budget"
    assert all(block.at_s < 4 for block in ran)
    assert result.elapsed_s > 4 - 2 * longest
    lefts = [progress.left_s for progress in updates]
    assert lefts == sorted(lefts, reverse=True)
    assert all(left <= 4 for left in lefts)


def test_what_is_not_installed_was_not_left_out_for_lack_of_time(run, tmp_path):
    """In tests there are no environments, so Theano is never there."""
    path = tmp_path / "short.jsonl"
    words = ("compare", "numpy", "theano", "--budget", "1ms", "-o", path)
    said = " ".join([*run(*words).output.split(), ""])
    assert "not measured before the run ended: numpy " in said
    assert "theano: unavailable: theano is not installed; fix it with: lenet-bench env" in said
    assert "not available here: theano;" in " ".join(run("report", path).output.split())
    found = {row.name: row.status for row in read_result(path).backends}
    assert found == {"numpy": "unmeasured", "theano": "unavailable"}


def test_a_start_ends_with_the_budget():
    hanging = measured(scratch.HangsWhenStarted, budget_s=3)
    assert (hanging.ended, hanging.backends[0].status) == ("budget", "unmeasured")
    assert hanging.elapsed_s < hanging.rules.timeout_s


@pytest.mark.slow
def test_rounds_of_the_empty_backend_alone_do_not_fill_the_budget():
    """The other has one start, and no time for a second."""
    result = measured(scratch.StartsInSixSeconds, budget_s=11)
    assert result.floor
    assert len(result.floor.blocks) <= len(result.backends[0].blocks) + 2


@pytest.mark.slow
def test_what_was_timed_before_the_budget_ended_is_kept():
    (row,) = measured(scratch.HangsInABatch, budget_s=40, rounds=1, batches=(8,)).backends
    assert (row.status, len(row.blocks)) == ("ok", 1)
    assert (row.batches, row.batch_refusals) == ((), {})


@pytest.mark.parametrize(("options", "mj"), [({}, 1), ({"interval_s": 0.001}, None)])
def test_the_energy_of_a_call_is_that_of_the_timed_ones(tmp_path, monkeypatch, options, mj):
    """A GPU that uses 1 mJ a call; those that warm up are not timed, and pauses use some too."""

    class Meter:
        name = "it counts calls"

        def read(self):
            (calls,) = struct.unpack("q", count.read_bytes())
            return Reading(calls, calls, None, None, None)  # a second a call: long enough

    count = tmp_path / "count"
    count.write_bytes(bytes(8))
    monkeypatch.setattr("lenet_bench.measure.block.open_meter", lambda *_: Meter())
    variables = {"LENET_BENCH_TEST_COUNT": str(count)}
    made = scratch.entry(scratch.CountsItsCalls, variables=variables, device="gpu")
    (row,) = compare(CompareOptions((made,), rounds=1, **options)).backends
    assert row.gpu, row.reason
    assert row.gpu.energy_mj == mj
    assert row.gpu.power_w


@pytest.mark.parametrize(("device", "is_capped"), [("cpu", True), ("gpu", False)])
def test_a_floor_on_a_gpu_is_timed_as_long_as_a_backend(monkeypatch, device, is_capped):
    monkeypatch.setattr("lenet_bench.measure.judged._FLOOR_CALLS", STRETCHES)
    floor = scratch.entry(scratch.Honest, checked=False, device=device)
    (row,) = compare(CompareOptions((floor,), rounds=1)).backends
    assert (row.blocks[0].made == STRETCHES) == is_capped


@pytest.mark.parametrize(("seconds", "mj", "watts"), [(0.02, None, 90), (0.5, 50, 100)])
def test_a_block_that_is_short_for_the_meter_has_no_energy(seconds, mj, watts):
    """A GPU that takes 100 W and says 90."""
    before, after = (Reading(at_s, 100_000 * at_s, 90, None, None) for at_s in (0, seconds))
    found = used("GPU", before, after, 1000)
    assert (found.energy_mj, found.power_w) == (mj, watts)


def test_a_run_may_be_made_from_any_thread():
    found = []

    def work():
        found.append(measured(scratch.Honest, rounds=2))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(600)
    assert found[0].rounds == 2
    assert found[0].backends[0].status == "ok"


def test_a_run_ends_where_there_is_nothing_to_time():
    assert measured(scratch.AnswersNaN, rounds=4).ended == "nothing to time"


def test_a_run_without_rounds_is_refused():
    with pytest.raises(LenetBenchError, match="expected a number of rounds above 0, got 0"):
        compare(CompareOptions(("numpy",), rounds=0))


def test_without_names_all_are_compared():
    assert [entry.name for entry in CompareOptions().entries()] == names()


def test_a_named_backend_that_cannot_run_fails_the_command(run, tmp_path):
    options = ("--rounds", "1", "-o")
    named = run("compare", "numpy", "mxnet", *options, tmp_path / "a")
    based = run("compare", "numpy", "--baseline", "mxnet", *options, tmp_path / "b")
    assert named.code == 1
    assert based.code == 1
    assert "mxnet: unavailable: " in named.output


def test_the_command_prints_a_table_or_json(run, tmp_path):
    output = tmp_path / "result.jsonl"
    command = ("compare", "numpy", "--rounds", "2", "-o", output)
    done = run(*command)
    assert done.code == 0, done.errors
    assert "numpy" in done.output
    assert "\x1b" not in done.output
    assert str(output) in done.errors
    (row,) = run(*command, "--json").answer["backends"]
    wanted = {"name", "status", "p50_us", "p90_us", "p99_us", "ratio", "ratio_low", "ratio_high"}
    wanted |= {"verdict", "cold_start_s", "peak_rss_mib", "lines_of_code"}
    assert wanted <= set(row)
    assert row["name"] == "numpy"
    assert row["status"] == "ok"
    assert row["verdict"] == "baseline"
    (kept,) = rows(read_result(output))
    assert row["samples"] == kept["samples"], "none was added"


def test_a_run_until_decided_ends_when_the_verdict_is_certain():
    """The float64 reference takes several times as long as the fused kernels."""
    result = compare(CompareOptions(("fused", "reference"), until_decided=True))
    verdicts = [row.summary.verdict for row in result.backends if row.summary]
    assert (result.ended, verdicts) == ("decided", ["baseline", "slower"])
    assert "99 % interval" in render(result, form="markdown")


def test_one_backend_cannot_be_decided():
    with pytest.raises(LenetBenchError, match="two backends or more"):
        compare(CompareOptions(("fused",), until_decided=True))
