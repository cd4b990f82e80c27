"""Several callers at once."""

import signal
import sys
from pathlib import Path

import pytest
import scratch_backends as scratch
from conftest import environment
from lenet_bench import CompareOptions, compare
from lenet_bench.measure.block import calls_per_s
from lenet_bench.measure.messages import CallersTimed
from lenet_bench.results import as_result, digest, read_log, read_result
from lenet_bench.results.thin import thinned
from lenet_bench.show.callers import callers as by_way
from lenet_bench.show.figures.records import as_run
from lenet_bench.show.page import page
from processes import under_way, wait_for

NUMBERS = (1, 2, 4)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A run of a backend that is safe for several callers, and of three that are not."""
    factories = (
        scratch.Waits,
        scratch.WrongTogether,
        scratch.RaisesTogether,
        scratch.DiesTogether,
    )
    output = tmp_path_factory.mktemp("callers") / "result.jsonl"
    entries = tuple(scratch.entry(one, is_shared=True) for one in factories)
    compare(CompareOptions(entries, rounds=2, callers=NUMBERS, output=output))
    return output


@pytest.fixture(scope="module")
def result(file):
    return read_result(file)


def test_a_caller_does_not_wait_for_the_last_calls_of_others():
    """Two make ten calls a second each; one that begins a second late makes half as many."""
    s = 1_000_000_000
    one = CallersTimed(began_ns=5 * s, ended=[(9, 5 * s + 9 * s // 10), (10, 6 * s)])
    late = CallersTimed(began_ns=6 * s, ended=[(10, 7 * s)])
    assert calls_per_s([one]) == pytest.approx(20)
    assert calls_per_s([one, late]) == pytest.approx(25)


def test_callers_that_wait_gain_as_many_calls(result):
    ways = {(one.number, one.way): one for one in result.backend("Waits").together}
    assert set(ways) == {(1, "each"), (2, "one"), (2, "each"), (4, "one"), (4, "each")}
    assert ways[1, "each"].gain == 1
    blocks = result.backend("Waits").blocks
    rates = [{(one.number, one.way): one.calls_per_s for one in block.callers} for block in blocks]
    for way in ("one", "each"):
        assert max(one[4, way] / one[1, "each"] for one in rates) > 1.3, "they do not wait in turn"
    assert ways[4, "each"].p50_us > 5000
    assert ways[4, "each"].rss_mib


def test_the_gil_is_asked_for_in_each_block(result):
    row = result.backend("Waits")
    asked, held = ([getattr(block.gil, name) for block in row.blocks] for name in ("asked", "held"))
    assert all(asked), "twenty on average, by chance"
    assert row.gil_share == sum(held) / sum(asked) <= 1


def test_who_fails_beside_others_keeps_its_row(result):
    wrong, dies = result.backend("WrongTogether"), result.backend("DiesTogether")
    assert (wrong.status, dies.status) == ("ok", "ok")
    assert wrong.callers_refused["2 one"].startswith("wrong under 2 callers: its probabilities")
    assert [one.number for one in wrong.together] == [1]
    raises = result.backend("RaisesTogether").callers_refused["2 one"]
    assert raises == "crashed under 2 callers: RuntimeError: one at a time"
    assert "killed by SIGKILL" in dies.callers_refused["4 one"]
    assert {one.number for one in dies.together} == {1, 2}


def test_figures_of_the_most_callers_are_of_no_fewer(result):
    rows = {(row["name"], row["networks"]): row for row in by_way(result)}
    dies = rows["DiesTogether", "one for all"]
    assert set(dies["rates"]) == {1, 2}
    assert "gain" not in dies
    assert rows["Waits", "one for all"]["gain"] > 1


def test_ctrl_c_does_not_wait_for_callers_that_hang(tmp_path):
    program = (
        "import scratch_backends as scratch\n"
        "from lenet_bench import CompareOptions, compare\n"
        "one = scratch.entry(scratch.HangsTogether, is_shared=True)\n"
        "options = CompareOptions((one,), rounds=1, callers=(2,), timeout_s=1000)\n"
        "print(compare(options).ended)\n"
    )
    waits = tmp_path / "waits"
    settings = environment(LENET_BENCH_TEST_WAITS=str(waits), PYTHONPATH=str(Path(__file__).parent))
    with under_way(sys.executable, "-c", program, env=settings) as process:
        wait_for(waits.exists)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=180)[0] == "interrupted\n"


def test_what_is_shared_gives_the_same_figures(file, result):
    shared = as_result(thinned(read_log(file)))
    assert digest(shared)["backends"] == digest(result)["backends"]


def test_calls_a_second_are_printed_by_callers(run_here, tmp_path):
    words = ("compare", "numpy", "fused", "--callers", "2", "--rounds", "1", "-o", tmp_path / "r")
    done = run_here(*words)
    assert done.code == 0
    _, _, table = done.output.partition("of several callers")
    assert "one for all" in table
    assert "one each" in table
    assert "GIL held" in table
    assert " 1 caller " in table, "which is measured too"
    rows = {one["name"]: one for one in run_here(*words, "--json").answer["backends"]}
    assert {one["way"] for one in rows["numpy"]["callers"]} == {"one", "each"}
    assert {one["way"] for one in rows["fused"]["callers"]} == {"each"}, "fused is not shared"


def test_callers_in_processes_have_a_network_and_memory_each():
    options = CompareOptions(("numpy",), rounds=1, callers=(1, 2), callers_in="processes")
    (row,) = compare(options).backends
    alone, two = row.together
    assert (alone.way, two.way, two.number) == ("each", "process", 2)
    assert (two.rss_mib or 0) > 1.5 * (alone.rss_mib or 0) > 0
    assert two.calls_per_s > 0


def test_the_page_has_calls_a_second_by_callers(result):
    drawn = page([as_run("r.jsonl", result)])
    _, _, table = drawn.partition('<table id="callers"')
    assert "one for all" in table.partition("</table>")[0]
    assert "What do several callers get?" in drawn
