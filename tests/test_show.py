"""What is printed in a terminal: a comparison's table, text of a width, progress."""

import io
import re
import sys
from dataclasses import replace

import pytest
from lenet_bench import units
from lenet_bench.measure.comparison import Progress
from lenet_bench.registry import names, tolerance
from lenet_bench.results import as_result
from lenet_bench.show.comparison import in_markdown
from lenet_bench.show.comparison import in_terminal as comparison
from lenet_bench.show.sentences import FAMILIES, family, tolerant
from lenet_bench.show.terminal.progress import progress
from lenet_bench.show.terminal.screen import Screen
from lenet_bench.show.terminal.table import Column, table
from msgspec import structs
from sample_results import blocks, failed, log, sample_of_all, sample_result


def drawn(result, columns=120, colour=False, named=()):
    return list(comparison(result, Screen(columns, colour), named))


@pytest.fixture
def result():
    return sample_result()


@pytest.fixture
def long_list():
    """A run of 45 backends with long names, from 20 us to 60 ms, and of some that are missing."""
    times = [20 * 3000 ** (n / 44) for n in range(45)]
    rows = [blocks(f"keras-framework:on_batch_{n:02}", us) for n, us in enumerate(times)]
    reason = "no module; fix it with: pip install it"
    rows += [failed(name, "unavailable", reason) for name in ("mxnet", "mxnet:gluon", "caffe")]
    return as_result(log(*rows))


@pytest.mark.parametrize("columns", [40, 64, 80, 96, 100, 200])
def test_no_line_is_wider_than_the_terminal(result, long_list, columns):
    for one in (result, long_list):
        assert max(map(len, drawn(one, columns))) <= columns


def test_the_fastest_is_first(result):
    lines = drawn(replace(result, backends=result.backends[::-1]))
    found = [line.split()[0] for line in lines if re.match(r"(first|second) +\d", line)]
    assert found == ["first", "second"]


def test_what_went_wrong_is_below_the_table(result):
    lines = drawn(replace(result, warnings=("it was loud",)))
    assert any("third: crashed" in line for line in lines)
    assert "warning: it was loud" in lines
    assert "only: wrong: no" in drawn(as_result(log(failed("only", "wrong", "no"))))


def test_colours_are_drawn_where_they_are_seen(result):
    assert "\x1b" not in "".join(drawn(result))
    assert "\x1b" in "".join(drawn(result, colour=True))


def test_a_narrow_terminal_keeps_the_name_with_the_median(result):
    wide, narrow = (
        next(line for line in drawn(result, columns) if line.startswith("backend"))
        for columns in (120, 20)
    )
    assert all(title in wide for title in ("p50", "p90", "ratio", "verdict", "cold start"))
    assert narrow.split() == ["backend", "p50"]


def test_a_long_list_has_every_variant():
    lines = drawn(sample_of_all(), 100)
    assert set(names()) <= {line.split()[0] for line in lines if line}


def test_every_backend_has_a_family():
    assert {name for name in names() if family(name) == FAMILIES[-1]} == set()


def test_too_few_calls_for_a_median_are_said():
    few = blocks("second", 40, rounds=1, samples_ns=(40_000,) * 10)
    lines = drawn(as_result(log(blocks("first", 20), few)))
    assert any("second (10 calls)" in line for line in lines)


def test_no_deadline_is_told_where_nothing_was_measured():
    nothing = as_result(log(failed("fused", "crashed", "killed"), interval_s=0.02))
    assert not any("Deadline" in line for line in drawn(nothing))


def test_what_does_not_run_here_is_named_once_at_the_end(long_list):
    *others, last = drawn(long_list, 100)
    assert "mxnet, caffe" in last
    assert "mxnet" not in "\n".join(others)


def test_what_was_asked_for_by_name_has_its_reason(long_list):
    lines = drawn(long_list, 100, named=("caffe",))
    assert any(line.endswith("pip install it") for line in lines)
    assert "caffe" not in lines[-1]


def test_no_name_with_a_hyphen_is_broken():
    words = "slow: keras-jax:call, torch, /a/path/that/is/longer/than/a/line"
    lines = Screen(24, colour=False).wrap(words)
    assert " ".join(lines).split() == words.split()


def test_no_figure_is_parted_from_its_unit():
    for spelled in ("89 %", "12.3 µs", "20 ms", "7 s", "1.4 GiB"):
        before = "x" * (39 - spelled.index(" "))  # so that the number alone ends the line
        lines = Screen(40, colour=False).wrap(f"{before} {spelled} of it")
        assert lines == [before, f"  {spelled} of it"]


def test_a_column_of_dashes_is_left_out():
    columns = [Column("a", ["x", "y"]), Column("b", ["-", "-"], leaves=1), Column("c", ["1", "-"])]
    header, *_ = table(Screen(40, colour=False), columns)
    assert header.split() == ["a", "c"]


TIMES = {None: "-", 0.0671: "67.1 ns", 999.6: "1.00 ms", 41_870: "41.9 ms", 1_804_000: "1.80 s"}
RATIOS = {None: "-", 0.01234: "0.0123", 1.0456: "1.05", 2469.4: "2,469"}


@pytest.mark.parametrize(
    ("cores", "said"),
    [((1,), "on core 1 of"), ((0, 1), "on cores 0, 1 of"), ((), "on any core of")],
)
def test_the_first_sentence_names_the_cores(cores, said):
    lines = comparison(as_result(log(blocks("fused", 20), worker_cores=cores)), Screen(200, False))
    assert said in next(iter(lines))


def test_a_time_has_three_figures():
    assert [units.time(us) for us in TIMES] == list(TIMES.values())


def test_a_ratio_has_three_figures():
    assert [units.ratio(ratio) for ratio in RATIOS] == list(RATIOS.values())


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


@pytest.mark.parametrize(("stream", "shown"), [(Terminal(), True), (io.StringIO(), False)])
def test_progress_is_drawn_in_a_terminal_only(monkeypatch, stream, shown):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", stream)
    with progress(2) as step:
        step("fused \x07")
        step.of_a_run(Progress("numpy", 1.0, 0, 9.0))
    assert ("fused" in stream.getvalue()) == shown
    assert "\x07" not in stream.getvalue()


def test_lines_are_printed_above_the_progress(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress(2) as step:
        step("fused")
        for line in step.above(["one"]):
            sys.stderr.write(f"{line}\n")
        drawn = sys.stderr.getvalue().split("\n")
    assert drawn[0].endswith("\r\x1b[Kone")
    assert "fused" in drawn[1]


def test_progress_outlives_its_terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress(2) as step:
        sys.stderr.close()
        step("fused")


def test_what_computes_in_less_than_float32_has_a_table_of_its_own():
    result = as_result(log(blocks("fused", 20), blocks("fused:int16", 12), blocks("numpy", 90)))
    for lines in (drawn(result), list(in_markdown(result))):
        fused, numpy, int16 = (
            next(n for n, line in enumerate(lines) if name in line.split())
            for name in ("fused", "numpy", "fused:int16")
        )
        assert fused < numpy < int16
        assert "int16" in lines[int16].replace("fused:int16", "")


def test_what_computes_in_less_than_float32_may_be_alone():
    alone = drawn(as_result(log(blocks("fused:int16", 12))))
    assert any("fused:int16" in line for line in alone)
    assert not any("could be timed" in line for line in alone)


def test_a_float32_backend_that_may_differ_by_more_is_named_with_both_figures():
    run = log(blocks("mnn", 20, difference=1.1e-4), blocks("numpy", 90, difference=1e-7))
    listed = [structs.replace(a, tolerance=tolerance(a.name)) for a in run.header.backends]
    header = structs.replace(run.header, backends=tuple(listed))
    result = as_result(replace(run, header=header))
    said = "may differ from the reference by more than 1e-05: mnn by 2e-04 (it differs by 1.1e-04)"
    assert said in drawn(result)
    assert f"- {said}" in list(in_markdown(result))
    assert tolerant(as_result(log(blocks("fused:int16", 12)))) is None


def test_rounds_are_told_with_starts_where_backends_started_less_often():
    def said(*starts):
        rows = (blocks(f"b{n}", 20, number) for n, number in enumerate(starts))
        return " ".join(" ".join(drawn(as_result(log(*rows)))[:3]).split())

    assert "12 shuffled rounds, 1 to 2 starts of a backend, in" in said(1, 1, 2)
    assert "12 shuffled rounds, 1 start of a backend, in" in said(1, 1)
    every = said(12, 12)
    assert "12 shuffled rounds, every backend in a new process each time, in" in every


@pytest.mark.parametrize(
    ("low", "high", "spelled"),
    [(1.0043, 1.04, "1.004-1.04"), (0.96, 0.9972, "0.96-0.997"), (0.998, 1.002, "1.00")],
)
def test_an_interval_that_excludes_1_does_not_end_there(low, high, spelled):
    assert units.interval(low, high) == spelled
