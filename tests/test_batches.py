"""Throughput by batch, and calls with idle gaps."""

import json

import pytest
import scratch_rungs as scratch
from lenet_bench import CompareOptions, compare
from lenet_bench.cli import run as run_here
from lenet_bench.errors import LenetBenchError
from lenet_bench.measure.schedule import BATCH_ROUNDS, batch_pace, share_budget
from lenet_bench.results import digest, read_result

SIZES = (1, 4, 16)


@pytest.fixture(scope="module")
def batches(weights_file, tmp_path_factory):
    """One run of rungs that take batches, refuse them, lie about them and die of them."""
    factories = (
        scratch.Honest,
        scratch.RefusesBatches,
        scratch.AnswersBatchesWrongly,
        scratch.DiesOfALargeBatch,
    )
    output = tmp_path_factory.mktemp("batches") / "result.json"
    entries = tuple(map(scratch.entry, factories))
    options = {"rounds": 2, "weights": weights_file, "batches": SIZES, "output": output}
    return compare(CompareOptions(entries, **options))


def test_every_size_is_timed_in_every_round_of_batches(batches):
    found = batches.rung("Honest").batches
    assert [(batch.size, batch.rounds) for batch in found] == [(n, BATCH_ROUNDS) for n in SIZES]


def test_throughput_is_images_by_the_median_call(batches):
    (row,) = (row for row in digest(batches)["rungs"] if row["name"] == "Honest")
    assert row["best_images_per_s"] == max(row["images_per_s"].values())
    assert row["best_images_per_s"] == row["images_per_s"][str(row["best_batch"])]


def test_a_rung_that_refuses_batches_says_so_and_loses_only_them(batches):
    rung = batches.rung("RefusesBatches")
    assert (rung.status, len(rung.turns), rung.batches) == ("ok", 2, ())
    assert rung.batch_refusals["4"] == "NotImplementedError: one image at a time"


def test_wrong_answers_to_a_batch_are_found(batches):
    rung = batches.rung("AnswersBatchesWrongly")
    assert rung.status == "ok"
    assert "differ from the reference's" in rung.batch_refusals["16"]


def test_a_rung_that_dies_of_a_size_keeps_the_others(batches):
    rung = batches.rung("DiesOfALargeBatch")
    assert rung.status == "ok"
    assert "killed by SIGKILL" in rung.batch_refusals["16"]
    assert [batch.size for batch in rung.batches] == [1, 4]
    assert {batch.rounds for batch in rung.batches} == {BATCH_ROUNDS}


def test_the_file_holds_the_batches_with_no_line_a_sample(batches, tmp_path_factory):
    path = next(tmp_path_factory.getbasetemp().glob("batches*/result.json"))
    assert read_result(path) == batches
    assert len(path.read_text().splitlines()) < 1000


def test_the_command_prints_throughput(weights_file, tmp_path, capsys):
    arguments = ["compare", "numpy", "--rounds", "1", "--batch", "2,1"]
    arguments += ["--weights", str(weights_file), "-o", str(tmp_path / "r.json")]
    assert run_here(arguments) == 0
    assert "best images/s" in capsys.readouterr().out
    assert run_here([*arguments, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rungs"]
    assert list(row["images_per_s"]) == ["1", "2"]


@pytest.mark.parametrize("given", ["0", "1,,2", "many", "-1", "100000"])
def test_a_size_that_is_none_is_refused(given, capsys):
    assert run_here(["compare", "numpy", "--batch", given]) == 2
    assert "sizes from 1" in capsys.readouterr().err


def test_a_size_below_one_is_refused():
    with pytest.raises(LenetBenchError, match="batch above 0"):
        compare(CompareOptions(("numpy",), batches=(0,)))


def test_batches_have_a_third_of_the_budget():
    assert share_budget(30, sizes=4) == pytest.approx((20, 10))
    assert share_budget(30, sizes=0) == (30, None)


def test_many_sizes_shorten_the_turns():
    few, many = (batch_pace(10, turns).timed_s for turns in (4, 100))
    assert many < few


def test_calls_come_after_an_idle_gap(weights_file):
    options = {"rounds": 2, "interval_s": 0.02, "weights": weights_file}
    result = compare(CompareOptions((scratch.entry(scratch.Honest),), **options))
    for turn in result.rungs[0].turns:
        assert turn.wall_ns >= 20e6 * len(turn.samples_ns)
        assert len(turn.samples_ns) >= 10
    assert result.rules.interval_s == 0.02


def test_the_table_says_that_calls_came_after_a_gap(weights_file, tmp_path, capsys):
    arguments = ["compare", "numpy", "--rounds", "1", "--interval", "2"]
    arguments += ["--weights", str(weights_file), "-o", str(tmp_path / "r.json")]
    assert run_here(arguments) == 0
    assert "One image a call after 2 ms of idling" in capsys.readouterr().out
