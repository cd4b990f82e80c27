"""Throughput by batch, and calls with cold caches."""

from statistics import median
from types import SimpleNamespace

import pytest
import scratch_backends as scratch
from lenet_bench import CompareOptions, compare, load, read_weights
from lenet_bench.measure.options import COLD_MB
from lenet_bench.registry import find
from lenet_bench.registry.adapter import Adapter
from lenet_bench.results import digest, read_result
from networks import random_images

SIZES = (1, 4, 16)


@pytest.fixture(scope="module")
def batches(tmp_path_factory):
    """One run of backends that take batches, refuse them, lie about them and die of them."""
    factories = (
        scratch.Honest,
        scratch.RefusesBatches,
        scratch.AnswersBatchesWrongly,
        scratch.DiesOfALargeBatch,
    )
    output = tmp_path_factory.mktemp("batches") / "result.jsonl"
    entries = tuple(map(scratch.entry, factories))
    return compare(CompareOptions(entries, rounds=2, batches=SIZES, output=output))


def test_every_size_is_timed_in_every_block(batches):
    row = batches.backend("Honest")
    assert [[batch.size for batch in block.batches] for block in row.blocks] == [list(SIZES)] * 2
    assert [batch.size for batch in row.batches] == list(SIZES)


def test_the_best_batch_is_that_of_the_most_images_a_second(batches):
    (row,) = (row for row in digest(batches)["backends"] if row["name"] == "Honest")
    assert row["best_images_per_s"] == max(row["images_per_s"].values())
    assert row["best_images_per_s"] == row["images_per_s"][str(row["best_batch"])]


def test_a_backend_that_fails_batches_loses_only_them(batches):
    rows = [batches.backend(name) for name in ("RefusesBatches", "AnswersBatchesWrongly")]
    dies = batches.backend("DiesOfALargeBatch")
    assert {row.status for row in (*rows, dies)} == {"ok"}
    assert len(rows[0].blocks) == 2
    assert rows[0].batches == ()
    assert rows[0].batch_refusals["4"].startswith("NotImplementedError")
    assert "differ" in rows[1].batch_refusals["16"]
    assert "killed by SIGKILL" in dies.batch_refusals["16"]
    assert [batch.size for batch in dies.batches] == [1, 4]


def test_a_batch_is_answered_by_the_call_that_is_named():
    """It is built again for any number of images, as `None` says."""
    built = []

    def extended(images):
        built.append(images)
        return load("numpy").infer

    file = SimpleNamespace(extended=extended)
    network = Adapter(*find("onnxruntime:extended"), read_weights(), threads=1, file=file)
    for count in (1, 3, 4):
        assert network.infer(random_images(1, count)).shape == (count, 10)
    assert built == [1, None]


@pytest.fixture
def command(run_here, tmp_path):
    """`command("numpy", ...)`: a round of these."""
    rest = ("--rounds", "1", "-o", tmp_path / "r.jsonl")
    return lambda *words: run_here("compare", *words, *rest)


def test_throughput_in_less_than_float32_is_printed_below_all_others(command):
    words = ("fused:int16", "fused", "reference", "--batch", "64,1")
    _, _, table = command(*words).output.partition("best images/s")
    named = [line.split()[:2] for line in table.splitlines()[1:4]]
    assert named == [["fused", "float32"], ["reference", "float32"], ["fused:int16", "int16"]]
    rows = command(*words, "--json").answer["backends"]
    assert [list(row["images_per_s"]) for row in rows] == [["1", "64"]] * 3


def test_a_run_with_cold_caches_says_so(command, tmp_path):
    done = command("numpy", "--cold")
    assert done.code == 0
    assert f"a pass over {COLD_MB} MB" in done.output
    result = read_result(tmp_path / "r.jsonl")
    assert digest(result)["cold_mb"] == COLD_MB
    (block,) = result.backends[0].blocks
    assert block.wall_ns / block.made > 2 * median(block.samples_ns), "the pass is not in the times"
    assert block.cpu_ns < block.wall_ns / 2, "nor in what the calls used of the CPU"
