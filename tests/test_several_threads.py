"""Several numbers of threads in one run: a row for each, in turns with the others."""

import csv
import json
import os
from dataclasses import replace as with_options

import pytest
import scratch_backends as scratch
from lenet_bench import CompareOptions, compare, render
from lenet_bench.errors import LenetBenchError, ResultError
from lenet_bench.measure.start import conditions
from lenet_bench.questions.share import given
from lenet_bench.registry import find, usable_cores, with_threads, without_threads
from lenet_bench.results import as_result, read_log
from lenet_bench.show.sentences import threads
from lenet_bench.subjects.network import OtherNetwork
from msgspec.structs import replace
from sample_results import blocks, log, possible_log, write_log

ONE, DEFAULT = "numpy (1 thread)", "numpy (default threads)"


def of_threads(made, numbers):
    """The log with rows that have so many threads each."""
    backends = [
        replace(one, threads=n) for one, n in zip(made.header.backends, numbers, strict=True)
    ]
    rules = replace(made.header.rules, threads=max(numbers))
    return made.__class__(
        replace(made.header, backends=tuple(backends), rules=rules), made.blocks, made.end
    )


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A run of numpy with one thread and with its default."""
    path = tmp_path_factory.mktemp("threads") / "result.jsonl"
    compare(CompareOptions(("numpy",), baseline="numpy", threads=(1, 0), rounds=2, output=path))
    return path


def test_each_number_of_threads_is_a_row_in_every_round(saved):
    made = read_log(saved)
    found = as_result(made)
    timed = {(one.round, one.backend) for one in made.blocks if one.backend != "empty"}
    rounds = range(found.rounds)
    assert timed == {(number, name) for number in rounds for name in (ONE, DEFAULT)}
    assert [row.status for row in found.backends] == ["ok", "ok"]
    assert all(row.lines_of_code for row in found.backends)
    assert found.baseline == ONE
    assert "1 and default threads on core" in " ".join(render(found).split())


def test_programs_read_the_threads_of_a_row(saved):
    found = as_result(read_log(saved))
    rows = json.loads(render(found, form="json"))["backends"]
    assert [(row["name"], row["threads"]) for row in rows] == [(ONE, 1), (DEFAULT, 0)]
    spread = list(csv.DictReader(render(found, form="csv").splitlines()))
    assert [(row["name"], row["threads"]) for row in spread] == [(ONE, "1"), (DEFAULT, "0")]


def test_the_run_has_cores_for_the_most_threads():
    options = CompareOptions(("numpy",), threads=(1, 0), seed=1)
    assert len(conditions(options, options.entries()).cores.worker) == usable_cores()


def test_each_process_is_told_its_own_number():
    found = scratch.measured(scratch.SaysItsThreads, threads=(2, 0, 1), rounds=1)
    here = os.environ.get("OMP_NUM_THREADS", "")
    said = {
        name: {"threads": str(n), "variable": told}
        for name, n, told in (
            ("SaysItsThreads (2 threads)", 2, "2"),
            ("SaysItsThreads (default threads)", 0, here),
            ("SaysItsThreads (1 thread)", 1, "1"),
        )
    }
    assert {row.name: row.runs for row in found.backends} == said
    assert found.rules.variables == {}


def test_the_same_numbers_continue_a_run_and_others_do_not(saved):
    again = CompareOptions(threads=(1, 0), rounds=3, output=saved)
    for other in (1, (1, 2), (0, 1)):
        with pytest.raises(ResultError, match=r"threads: 1, each API's default, now"):
            compare(with_options(again, threads=other))
    found = compare(again)
    assert [len(row.blocks) for row in found.backends] == [3, 3]
    assert found.baseline == ONE


def test_batches_and_calls_at_an_interval_have_a_row_for_each_number():
    options = CompareOptions(("numpy",), threads=(1, 0), rounds=1, batches=(2,), interval_s=0.001)
    found = compare(options)
    assert [row.name for row in found.backends if row.batches and row.summary] == [ONE, DEFAULT]


def test_another_network_has_a_row_for_each_number():
    found = compare(
        CompareOptions(("onednn",), threads=(1, 0), rounds=1, subject=OtherNetwork("mlp"))
    )
    assert [(row.threads, row.status) for row in found.backends] == [(1, "ok"), (0, "ok")]
    assert found.baseline == "onednn (1 thread)"


def test_a_name_with_threads_is_that_of_its_backend():
    for number in (0, 1, 2, 1024):
        name = with_threads("torch:compile@gpu", number)
        assert without_threads(name) == "torch:compile@gpu"
        assert find(name) == find("torch:compile@gpu")


def test_why_takes_one_number(run):
    done = run("why", "numpy", "--threads", "1,2")
    assert (done.code, "--threads" in done.errors) == (2, True)
    with pytest.raises(LenetBenchError, match="one number of threads"):
        compare(CompareOptions(("numpy",), threads=(1, 2), breakdown=True))


def test_a_result_is_asked_for_a_row_by_its_name(saved, run):
    done = run("diff", saved, saved, "--baseline", DEFAULT, "--json")
    assert done.answer["baseline"] == DEFAULT
    done = run("machines", saved, "-b", DEFAULT, "--json")
    assert DEFAULT in done.answer["machines"][0]["backends"]


def test_a_row_is_warned_of_by_its_own_number():
    rows = (blocks(with_threads("torch", n), 20, threads_running=2) for n in (1, 2))
    found = as_result(of_threads(log(*rows), (1, 2)))
    (said,) = (one for one in found.warnings if "more threads than" in one)
    assert said.startswith("ran more threads than were asked for: torch (1 thread) (2);")
    assert threads(found) == "1 and 2 threads"


def test_a_run_of_several_numbers_is_shared(tmp_path):
    rows = [blocks(name, 90, difference=1e-7) for name in (ONE, DEFAULT)]
    file = tmp_path / "run.jsonl"
    write_log(file, of_threads(possible_log(*rows), (1, 0)))
    listed = given(file).log.header.backends
    assert [(one.name, one.threads) for one in listed] == [(ONE, 1), (DEFAULT, 0)]
