"""The result file: what is written is read again, what is none is refused in one sentence."""

import dataclasses
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from lenet_bench import summarise
from lenet_bench.errors import ResultError
from lenet_bench.results import (
    Resources,
    ResultFile,
    RungResult,
    digest,
    failures,
    read_result,
    rows,
)
from lenet_bench.results.versioned import write_object
from sample_results import rung, sample_result, turns


@pytest.fixture
def result():
    """A run of two rungs, one twice as slow, and of one that crashed."""
    return sample_result()


#: A file as schema 1 writes it: it must stay readable, so this text must not be changed.
SCHEMA_1 = """{
 "schema": 1, "version": "0.1.0", "argv": ["lenet-bench", "compare"],
 "started": "2026-01-01T00:00:00+00:00", "ended": "running", "elapsed_s": 3,
 "machine": {"processor": {"model": "x"}},
 "rules": {"seed": 7, "baseline": null, "margin": 0.02, "confidence": 0.95, "budget_s": null,
  "precision": null, "rounds": 1, "timeout_s": 60.0, "warm_s": 0.01, "timed_s": 0.05,
  "rounds_a_start": 1, "images": 10, "threads": 1, "worker_cores": [1], "parent_cores": [0],
  "variables": {"OMP_NUM_THREADS": "1"}, "weights": "w", "weights_sha256": "0"},
 "order": [["fused"]], "floor": null,
 "rungs": [{"name": "fused", "status": "ok", "reason": null, "traceback": null, "output": "",
  "python": "python", "runs": {"isa": "avx2"}, "tolerance": 1e-05, "difference": 1e-07,
  "cold_starts": [{"process_s": 0.1, "import_s": 0.1, "weights_s": 0.1, "build_s": 0.1,
   "first_s": 0.1}],
  "cache_probe": {"repeated_us": 1.0, "rotated_us": 1.0, "fresh_us": 1.0},
  "resources": {"threads_alive": 1, "threads_running": 1, "idle_share": 0.0,
   "peak_rss_mib": 40.0}, "summary": null}],
 "disturbance": {"steal_share": null, "other_share": null, "load_before": null, "mhz_low": null,
  "mhz_high": null},
 "warnings": [],
 "turns": {"fused": [{"round": 0, "at_s": 0.0, "wall_ns": 9, "cpu_ns": 8, "preempted": 0,
  "waited": 0, "samples_ns": [4, 5]}]}
}"""


def test_what_is_written_is_read_again(result, tmp_path):
    result = summarise(result)
    ResultFile(tmp_path / "r.json").write(result)
    assert read_result(tmp_path / "r.json") == result


def test_every_sample_is_in_the_file(result, tmp_path):
    ResultFile(tmp_path / "r.json").write(result)
    content = json.loads((tmp_path / "r.json").read_text())
    assert content["turns"]["first"][3]["samples_ns"] == list(result.rungs[0].turns[3].samples_ns)


def test_writing_again_replaces_the_file(result, tmp_path):
    file = ResultFile(tmp_path / "r.json")
    file.write(replace(result, ended="running"), last=False)
    file.write(result)
    assert read_result(tmp_path / "r.json") == result
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]


def test_a_file_through_a_link_replaces_what_the_link_means(result, tmp_path):
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    (tmp_path / "real.json").write_text("")
    ResultFile(tmp_path / "link.json").write(result)
    assert (tmp_path / "link.json").is_symlink()
    assert read_result(tmp_path / "real.json") == result


def test_missing_folders_are_made(result, tmp_path):
    file = ResultFile(tmp_path / "a" / "b" / "r.json")
    file.check()
    file.write(result)
    assert read_result(tmp_path / "a" / "b" / "r.json") == result


def test_checking_leaves_an_earlier_file_as_it_is(tmp_path):
    (tmp_path / "r.json").write_text("earlier")
    ResultFile(tmp_path / "r.json").check()
    assert (tmp_path / "r.json").read_text() == "earlier"


def test_a_directory_is_no_place_for_a_result(tmp_path):
    with pytest.raises(ResultError, match="found a directory"):
        ResultFile(tmp_path).check()


def test_a_full_disk_leaves_the_earlier_file_whole(result, tmp_path):
    ResultFile(tmp_path / "r.json").write(result)
    script = (
        "import resource, sys\n"
        "from lenet_bench.errors import ResultError\n"
        "from lenet_bench.results import ResultFile, read_result\n"
        "result = read_result(sys.argv[1])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try:\n"
        "    ResultFile(sys.argv[1]).write(result)\n"
        "except ResultError as error:\n"
        "    print(error)\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "r.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "cannot be written: File too large" in done.stdout
    assert read_result(tmp_path / "r.json") == result
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]


def test_a_pipe_gets_the_last_result_once(result):
    read, write = os.pipe()
    path = f"/dev/fd/{write}"
    small = replace(result, rungs=(), floor=None)
    ResultFile(path).write(small, last=False)
    ResultFile(path).write(small)
    os.close(write)
    with os.fdopen(read) as pipe:
        assert json.load(pipe)["ended"] == "rounds"


def test_a_pipe_is_written_to_by_whatever_writes_results_and_not_replaced():
    read, write = os.pipe()
    write_object(Path(f"/dev/fd/{write}"), {"schema": 1})
    os.close(write)
    with os.fdopen(read) as pipe:
        assert json.load(pipe) == {"schema": 1}


def test_schema_1_stays_readable(tmp_path):
    (tmp_path / "r.json").write_text(SCHEMA_1)
    found = read_result(tmp_path / "r.json")
    assert found.rung("fused").turns[0].samples_ns == (4, 5)
    assert found.elapsed_s == 3.0


def test_a_field_of_a_later_version_is_passed_over(tmp_path):
    (tmp_path / "r.json").write_text(SCHEMA_1.replace('"schema": 1', '"schema": 1, "news": []'))
    assert read_result(tmp_path / "r.json").schema == 1


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"schema": 1', '"schema": 99', "newer lenet-bench"),
        ('"schema": 1', '"schema": "1"', "no schema number"),
        ('"schema": 1, ', "", "no schema number"),
        ('"status": "ok"', '"status": "fine"', "rungs[0].status: expected one of 'ok'"),
        ('"seed": 7', '"seed": "7"', "rules.seed: expected int, found '7'"),
        ('"seed": 7, ', "", "rules: seed missing"),
        ("[4, 5]", "[4, 5.5]", "rungs[0].turns[0].samples_ns[1]: expected int"),
        ('"turns": {', '"turns": [], "x": {', "turns: expected an object"),
        ('"wall_ns": 9', '"wall_ns": true', "wall_ns: expected int"),
        ('"wall_ns": 9', '"wall_ns": 0', "turns.fused: a call that took no time"),
        ("[4, 5]", "[4, -5]", "turns.fused: a call that took no time"),
        ('"rounds_a_start": 1', '"rounds_a_start": 0', "rounds_a_start: expected 1 or more"),
        ('"baseline": null', '"baseline": "abacus"', "'abacus' is none of the rungs"),
        ('"margin": 0.02', '"margin": 1', "rules.margin: expected a share, found 1"),
        ('"rungs": [', '"rungs": 3, "x": [', "rungs: expected a list"),
        ('"fused"]]', '"fused"]', "not JSON"),
    ],
)
def test_a_damaged_file_is_refused_with_the_place(tmp_path, old, new, told):
    assert old in SCHEMA_1
    (tmp_path / "r.json").write_text(SCHEMA_1.replace(old, new, 1))
    with pytest.raises(ResultError) as caught:
        read_result(tmp_path / "r.json")
    assert told in str(caught.value)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999", "9" * 400])
def test_a_number_that_nobody_measured_is_refused(tmp_path, number):
    (tmp_path / "r.json").write_text(
        SCHEMA_1.replace('"elapsed_s": ', f'"elapsed_s": {number}, "x": ')
    )
    with pytest.raises(ResultError, match="elapsed_s: expected float"):
        read_result(tmp_path / "r.json")


def test_a_turn_without_a_call_is_refused(result, tmp_path):
    idle = replace(result.rungs[0].turns[0], samples_ns=())
    rungs = (replace(result.rungs[0], turns=(idle,)), *result.rungs[1:])
    ResultFile(tmp_path / "r.json").write(replace(result, rungs=rungs))
    with pytest.raises(ResultError, match="a turn without a timed call"):
        read_result(tmp_path / "r.json")


@pytest.mark.parametrize("content", [b"", b"[]", b"\x00\xff", b'"schema"', b"{}", b"[" * 100_000])
def test_what_is_no_result_is_refused(tmp_path, content):
    (tmp_path / "r.json").write_bytes(content)
    with pytest.raises(ResultError, match="not a result file"):
        read_result(tmp_path / "r.json")


def test_half_a_file_is_refused(result, tmp_path):
    ResultFile(tmp_path / "r.json").write(result)
    content = (tmp_path / "r.json").read_bytes()
    (tmp_path / "r.json").write_bytes(content[: len(content) // 2])
    with pytest.raises(ResultError, match="not JSON"):
        read_result(tmp_path / "r.json")


def test_a_file_that_is_absent_is_told(tmp_path):
    with pytest.raises(ResultError, match="No such file"):
        read_result(tmp_path / "r.json")


def test_a_summary_comes_from_the_samples_alone(result):
    once = summarise(result)
    assert summarise(once) == once
    assert once.rung("second").summary.ratio == pytest.approx(2, rel=1e-3)
    assert once.rung("second").summary.verdict == "slower"
    assert once.rung("first").summary.verdict == "baseline"


def test_a_run_that_was_killed_can_be_summarised(result, tmp_path):
    ResultFile(tmp_path / "r.json").write(replace(result, ended="running"), last=False)
    assert summarise(read_result(tmp_path / "r.json")).rung("first").summary.p50_us > 0


def test_percentiles_without_the_samples_for_them_are_none(result):
    summary = summarise(result).rung("first").summary
    assert summary.samples == 600
    assert summary.p95_us is not None
    assert (summary.p99_us, summary.p999_us) == (None, None)


def test_rows_have_the_promised_names(result):
    row = rows(summarise(result))[0]
    promised = "name status p50_us p90_us p99_us ratio ratio_low ratio_high verdict cold_start_s"
    assert {*promised.split(), "peak_rss_mib", "lines_of_code"} <= set(row)
    assert row["cold_start_s"] == pytest.approx(1.5)


def test_a_digest_is_json_without_samples(result):
    text = json.dumps(digest(summarise(result)), allow_nan=False)
    assert json.loads(text)["baseline"] == "first"
    assert "samples_ns" not in text


def test_failures_leave_out_what_cannot_run_here_unless_it_was_named(result):
    missing = RungResult("fourth", "unavailable", reason="not installed")
    result = replace(result, rungs=(*result.rungs, missing))
    assert failures(result.rungs) == ["third"]
    assert failures(result.rungs, named=["fourth"]) == ["third", "fourth"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"steal_share": 0.2}, "the hypervisor took 20% of core 1"),
        ({"other_share": 0.2}, "other processes used 20% of core 1"),
        ({"load_before": 9.0}, "busy before the run began (load 9.0)"),
        ({"mhz_low": 2000.0, "mhz_high": 3000.0}, "the clock moved between 2000 and 3000 MHz"),
    ],
)
def test_a_warning_names_what_disturbed_the_run(result, change, told):
    result = replace(result, disturbance=replace(result.disturbance, **change))
    assert any(told in warning for warning in summarise(result).warnings)


def test_a_quiet_run_has_no_warnings(result):
    assert summarise(result).warnings == ()


def jostled(rung):
    return replace(rung, turns=tuple(replace(turn, preempted=9) for turn in rung.turns))


def test_rungs_that_lose_their_core_are_warned_of(result):
    result = replace(result, rungs=tuple(map(jostled, result.rungs)))
    assert any("rungs lost their core" in warning for warning in summarise(result).warnings)


def test_one_rungs_own_threads_are_no_sign_of_a_busy_machine(result):
    result = replace(result, rungs=(jostled(result.rungs[0]), *result.rungs[1:]))
    assert summarise(result).warnings == ()


def test_a_rung_near_the_harness_floor_is_warned_of(result):
    result = replace(result, rungs=(rung("first", 3), *result.rungs[1:]))
    assert any("the harness itself" in warning for warning in summarise(result).warnings)


def test_a_rung_that_is_still_warming_up_is_warned_of(result):
    first = result.rungs[0]
    warming = replace(
        first, turns=tuple(replace(t, samples_ns=(30_000,) * 25 + (20_000,) * 25) for t in turns(1))
    )
    result = replace(result, rungs=(warming, *result.rungs[1:]))
    assert any("still getting faster" in warning for warning in summarise(result).warnings)


def many(count, **changes):
    """So many rungs of one kind, each slower than the one before."""
    return tuple(replace(rung(f"r{n:02}", 20 + n), **changes) for n in range(count))


def test_a_warning_that_several_rungs_share_is_one_sentence_that_names_the_worst(result):
    once = [
        replace(one, cold_starts=(replace(one.cold_starts[0], first_s=float(n)),))
        for n, one in enumerate(many(20))
    ]
    (told,) = summarise(replace(result, rungs=tuple(once))).warnings
    assert "over 1 s: r19 (20.0 s), r18 (19.0 s), r17 (18.0 s), r16 (17.0 s) and 16 more;" in told


def test_a_warning_of_a_few_rungs_names_them_all(result):
    busy = Resources(threads_alive=3, threads_running=2, idle_share=0.0, peak_rss_mib=None)
    (told,) = summarise(replace(result, rungs=many(5, resources=busy))).warnings
    assert "the 1 asked for: r00 (2), r01 (2), r02 (2), r03 (2), r04 (2);" in told


def test_threads_that_no_core_holds_are_warned_of_as_such(result):
    busy = Resources(threads_alive=3, threads_running=2, idle_share=0.0, peak_rss_mib=None)
    free = replace(result, rules=replace(result.rules, worker_cores=()))
    told = summarise(replace(free, rungs=many(1, resources=busy))).warnings
    assert any("may have used more cores than the others" in warning for warning in told)


def test_a_disturbed_run_of_many_faulty_rungs_has_few_warnings(result):
    faulty = Resources(threads_alive=3, threads_running=2, idle_share=0.5, peak_rss_mib=None)
    rungs = many(45, resources=faulty)
    rungs = tuple(
        replace(
            one,
            cold_starts=one.cold_starts[:1],
            turns=tuple(replace(turn, preempted=9) for turn in one.turns),
        )
        for one in rungs
    )
    disturbance = replace(result.disturbance, steal_share=0.2, other_share=0.2, load_before=9.0)
    told = summarise(replace(result, rungs=rungs, disturbance=disturbance)).warnings
    assert 5 <= len(told) <= 8
    assert max(map(len, told)) < 350


def test_too_few_starts_are_warned_of(result):
    result = replace(result, rules=replace(result.rules, rounds_a_start=6))
    assert any("this run had 2, so" in warning for warning in summarise(result).warnings)


def test_one_start_of_one_round_is_spelled_as_one(result):
    once = replace(result, rungs=(), order=result.order[:1], ended="interrupted")
    interrupted, few, *_ = summarise(once).warnings
    assert interrupted.startswith("the run was interrupted after 1 round;")
    assert "this run had 1, so every verdict is ambiguous" in few


def test_an_interrupt_is_told(result):
    told = summarise(replace(result, ended="interrupted")).warnings
    assert any("interrupted after 12 rounds" in warning for warning in told)


def test_every_field_of_a_result_is_immutable(result):
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.ended = "budget"
