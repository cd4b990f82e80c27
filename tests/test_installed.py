"""Calls at an interval, beside busy processes, and with an API's default threads."""

import csv
import io
import json
import re
from typing import Any

import numpy as np
import psutil
import pytest
from lenet_bench import CompareOptions, load
from lenet_bench.between import Between
from lenet_bench.cli.compare import compare
from lenet_bench.measure import calls
from lenet_bench.measure.busy import at_work
from lenet_bench.measure.pinning import thread_variables
from lenet_bench.measure.start import Conditions
from lenet_bench.registry import BACKENDS, find, is_installed, usable_cores
from lenet_bench.registry.environments import variables
from lenet_bench.results import Log, as_result, digest, read_result
from lenet_bench.results.log import as_lines
from lenet_bench.results.read import settled
from lenet_bench.results.statistics import FEWEST_STARTS, fewest
from lenet_bench.results.thin import thinned
from lenet_bench.show.comparison import render
from lenet_bench.show.page import gather, page
from lenet_bench.subjects.subject import STRETCHES
from msgspec.structs import replace
from processes import wait_for
from sample_results import blocks, log, result, write_log

MS = 1_000_000


class Clock:
    """Time that passes only while somebody sleeps or calls."""

    def __init__(self, monkeypatch):
        self.now = 0
        monkeypatch.setattr(calls, "clock", lambda: self.now)
        monkeypatch.setattr(calls, "_sleep", self.sleep)

    def sleep(self, seconds):
        self.now += round(seconds * 1e9)

    def call(self, ms):
        self.now += ms * MS


def test_turns_keep_to_a_schedule_and_a_long_call_misses_some(monkeypatch):
    clock = Clock(monkeypatch)
    before = calls.Before(Between(interval_s=0.02))
    begun = []
    for took in (3, 19, 20, 45, 1):
        before()
        begun.append(clock.now // MS)
        clock.call(took)
    assert begun == [20, 40, 60, 100, 160]


def test_an_api_is_kept_warm_until_its_turn(monkeypatch):
    clock = Clock(monkeypatch)
    made = []

    def call():
        made.append(clock.now // MS)
        clock.call(2)

    before = calls.Before(Between(interval_s=0.02, keep_warm_s=0.005), call)
    before()
    assert made == [15, 17, 19]
    assert clock.now == 21 * MS, "the last of them is not cut short"


def test_every_paced_call_counts_beside_a_busy_process(command):
    printed, path = command(
        "numpy", "--interval", "2", "--keep-warm", "1", "--beside", "1", "--threads", "default"
    )
    said = "2 ms apart, called for 1 ms before; the API's default threads beside 1 busy program"
    assert said in " ".join(printed.split())
    assert "over 2 ms" in printed
    found = read_result(path)
    (block,) = found.backends[0].blocks
    calls = conditions_of(0.002).paced
    assert len(block.samples_ns) == block.made == calls
    assert block.wall_ns >= (calls - STRETCHES) * 2 * MS
    assert (block.slices, block.quiet_share) == ((), None)
    assert (found.rules.beside, found.rules.threads, found.rules.keep_warm_s) == (1, 0, 0.001)
    assert len(found.rules.worker_cores) == usable_cores()
    assert found.rules.variables == {}


def conditions_of(interval_s):
    """The conditions of a run at that interval, as far as its calls are concerned."""
    unused: Any = None
    return Conditions(CompareOptions(interval_s=interval_s), unused)


@pytest.mark.parametrize("interval_s", [0.001, 0.02])
def test_a_default_run_has_a_p99_where_a_quarter_of_its_calls_does_not_count(interval_s):
    calls = FEWEST_STARTS * conditions_of(interval_s).paced
    assert 0.75 * calls >= fewest(99)


@pytest.fixture
def command(run_here, tmp_path):
    """What a round of these prints, and its file."""

    def run(*words):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.jsonl"
        done = run_here("compare", *words, "--rounds", "1", "-o", path)
        assert done.code == 0
        return done.output, path

    return run


def test_cores_are_chosen_apart_from_threads(command):
    every = str(usable_cores())
    _, path = command("fused", "--cores", every)
    assert len(read_result(path).rules.worker_cores) == int(every)
    _, path = command("fused", "--cores", "1", "--threads", "default")
    pinned = read_result(path).rules
    assert (len(pinned.worker_cores), pinned.threads) == (1, 0)


def busy():
    every = psutil.Process().children(recursive=True)
    named = [one for one in every if "lenet_bench.measure.busy:work" in one.cmdline()]
    return [one for one in named if not one.children()]  # not their keepers


def test_busy_processes_work_until_they_are_no_longer_needed():
    with at_work(2, range(usable_cores())):
        working = busy()
        assert len(working) == 2
        wait_for(lambda: all(one.cpu_times().user > 0.05 for one in working))
    assert not busy()


def test_no_variable_has_a_number_of_threads_where_the_api_decides():
    assert thread_variables(0) == {}
    for row in BACKENDS:
        left = {**row.variables_for(1), **row.variables_for(2)}
        changing = {name for name in left if row.variables_for(1)[name] != left[name]}
        assert not changing & set(variables(row, 0)), row.name
    assert "KERAS_BACKEND" in variables(find("keras")[0], 0)


@pytest.mark.parametrize(("name", "threads"), [("fused", 1), ("onednn", usable_cores())])
def test_an_api_takes_as_many_threads_as_by_itself(name, threads):
    if not is_installed(find(name)[0]):
        pytest.skip(f"{name} is not installed")
    assert load(name, threads=0).describe()["threads"] == str(threads)


@pytest.mark.parametrize(
    ("said", "seconds"), [("50Hz", 0.02), ("0.5 hz", 2), ("20", 0.02), ("20ms", 0.02), ("1s", 1)]
)
def test_an_interval_may_be_a_rate(said, seconds):
    asked = compare.make_context("compare", ["--interval", said]).params
    assert asked["interval_s"] == seconds


def paced(**rules):
    """Six starts of 170 calls of 1 ms, of which 3 take 2 ms, 2 take 6 ms and 1 takes 21 ms."""
    long = (2 * MS,) * 3 + (6 * MS,) * 2 + (21 * MS,)
    rows = blocks("fused", 1000, 6, samples_ns=(MS,) * 164 + long, made=170)
    return log(rows, interval_s=0.02, **rules)


def test_paced_calls_have_tails_and_shares_over_deadlines():
    (row,) = digest(as_result(paced()))["backends"]
    assert row["p99_low_us"] <= row["p99_us"] <= row["p99_high_us"]
    assert row["over_1ms"] == pytest.approx(6 / 170)
    assert row["over_5ms"] == pytest.approx(3 / 170)
    assert row["over_20ms"] == pytest.approx(1 / 170)


def row_of(name, us, late=0, starts=6, calls=170):
    """Paced calls of which some in each start take 25 ms."""
    samples = (us * 1000,) * (calls - late) + (25 * MS,) * late
    return blocks(name, us, starts, samples_ns=samples, made=calls, took_s=4.0)


def tails(**rules):
    rows = row_of("fused", 100), row_of("torch", 300, late=2), row_of("keras:predict_on_batch", 900)
    return result(*rows, row_of("keras", 38_000), interval_s=0.02, **rules)


@pytest.mark.parametrize("columns", [40, 80, 160])
def test_the_table_of_paced_calls_begins_with_the_tail(columns):
    titles = next(one for one in render(tails(), columns=columns).splitlines() if "p50" in one)
    assert re.sub("  +", "|", titles).startswith("backend|p50|p99|over 20 ms")
    assert ("p99's interval" in titles) == (columns >= 80)


def test_one_sentence_ranks_paced_calls_by_the_deadline():
    said = " ".join(render(tails(), columns=80).split())
    assert "fastest" not in said
    assert (
        "Deadline of 20 ms: kept by every call that counts of fused (p99 100 µs) and "
        "keras:predict_on_batch (p99 900 µs); missed by torch in 1.18 % of its calls "
        "(p99 25.0 ms) and keras in 100 % (p99 38.0 ms)."
    ) in said
    every = tails(deadline_s=0.00005)
    assert "Deadline of 0.05 ms: missed by fused in 100 %" in render(every)
    one = result(row_of("torch", 300, starts=1, late=2), interval_s=0.02)
    assert "Deadline of 20 ms: missed by torch in 1.18 % of its calls." in render(one)


def test_a_long_list_names_the_first_of_those_that_keep_to_the_deadline():
    many = result(*(row_of(f"b{n}", 100 + n) for n in range(12)), interval_s=0.02)
    said = " ".join(render(many).split())
    assert "b7 (p99 107 µs) and 4 more." in said


def test_a_deadline_of_ones_own_is_in_every_form():
    given = tails(deadline_s=0.0005)
    assert digest(given)["deadline_s"] == 0.0005
    assert digest(tails())["deadline_s"] == 0.02
    shares = {row["name"]: row["over_deadline"] for row in digest(given)["backends"]}
    assert shares == {"fused": 0, "torch": 2 / 170, "keras:predict_on_batch": 1, "keras": 1}
    assert "| p50 | p99 | over 0.5 ms | p99's interval |" in render(given, form="markdown")
    assert "over 0.5 ms</th>" in page(gather([("r.jsonl", given)]))
    (line, *_) = csv.DictReader(io.StringIO(render(given, form="csv")))
    assert (line["deadline_s"], line["over_deadline"]) == ("0.0005", "0.0")


def test_a_file_keeps_its_deadline(command, run_here):
    _, path = command("numpy", "--interval", "2", "--deadline", "0.25ms")
    assert read_result(path).rules.deadline_s == 0.00025
    assert "over 0.25 ms" in run_here("report", path).output
    again = ("compare", "--interval", "2", "--rounds", "1", "-o", path)
    assert run_here(*again).code == 0
    other = run_here(*again, "--deadline", "3")
    assert other.code == 1
    assert "other settings (deadline, s: 0.00025, now 0.003)" in other.errors


def test_a_file_from_before_there_were_deadlines_can_be_read(tmp_path):
    assert b"deadline" not in as_lines(paced())
    write_log(tmp_path / "old.jsonl", paced())
    (row,) = digest(read_result(tmp_path / "old.jsonl"))["backends"]
    assert row["over_deadline"] == row["over_20ms"] > 0


def test_few_paced_calls_say_how_many_and_how_long_a_p99_needs():
    short = result(row_of("fused", 100, calls=120), row_of("torch", 300), interval_s=0.02)
    (said,) = (one for one in short.warnings if "p99" in one)
    assert said.startswith("too few calls for a p99: fused (720); 1,000 are needed, which take ")
    (budget,) = re.findall(r"--budget (\d+)s", said)
    rounds = int(budget) / (4.0 + 4.0)
    assert 1.2 * 1000 <= rounds * 120 < 2000
    assert not any("p99" in one for one in tails().warnings)
    assert not any("p99" in one for one in result(row_of("fused", 100, calls=50)).warnings)


def test_one_budget_is_enough_for_the_starts_and_for_the_p99():
    few = result(row_of("fused", 100, starts=2, calls=30), interval_s=1.0)
    budgets = {one for said in few.warnings for one in re.findall(r"--budget (\d+)s", said)}
    assert len(budgets) == 1
    rounds = int(budgets.pop()) / 4.1
    assert rounds * 30 >= 1000


def test_calls_back_to_back_have_no_shares():
    (row,) = digest(result(blocks("fused", 20)))["backends"]
    assert {row[key] for key in ("over_1ms", "over_20ms", "p99_low_us")} == {None}


def test_a_shared_run_keeps_every_paced_call():
    whole = paced(threads=0, beside=1)
    random = np.random.default_rng(1)
    changed = tuple(
        replace(block, samples_ns=tuple((random.permutation(170) * 17_000 + 9).tolist()))
        for block in whole.blocks
    )
    whole = Log(whole.header, changed, whole.end)
    few = thinned(whole)
    one, other = json.dumps(digest(as_result(whole))), json.dumps(digest(as_result(few)))
    assert one == other
    for block, kept in zip(settled(whole.blocks, whole.header.floor), few.blocks, strict=True):
        assert sorted(block.samples_ns) == kept.calls_ns.tolist()


def test_busy_processes_are_no_sign_of_a_disturbed_machine():
    rows = blocks("fused", 20, other_share=0.5, preempted=999_999)
    assert any("other programs" in one for one in result(rows).warnings)
    assert not any("other programs" in one for one in result(rows, beside=1, threads=0).warnings)
