"""A result drawn in a terminal."""

import io
from dataclasses import replace

import pytest
from lenet_bench.measure import Progress, summarise
from lenet_bench.report.terminal import ProgressLine, table
from lenet_bench.results import RungResult
from lenet_bench.terminal import Screen
from sample_results import sample_result


@pytest.fixture
def result():
    """A run of two rungs, one twice as slow, and of one that crashed."""
    return sample_result()


def drawn(result, columns=120, colour=False, unicode=True):
    """The lines."""
    return list(table(summarise(result), Screen(columns, colour, unicode)))


@pytest.mark.parametrize("columns", [40, 64, 80, 96, 200])
def test_no_line_is_wider_than_the_terminal(result, columns):
    assert max(map(len, drawn(result, columns))) <= columns


def test_the_fastest_rung_is_first_whatever_the_order(result):
    turned = replace(result, rungs=result.rungs[::-1])
    lines = drawn(turned)
    starts = [line.split()[0] for line in lines if line.strip()]
    assert starts.index("first") < starts.index("second")


def test_the_slowest_rungs_bar_is_the_longest_and_bars_are_to_scale(result):
    bars = {line.split()[0]: line.count("█") for line in drawn(result) if "█" in line}
    assert bars["second"] == 2 * bars["first"]


def test_a_wide_terminal_shows_more_figures_than_a_narrow_one(result):
    assert "cold start" in "\n".join(drawn(result, 120))
    assert "cold start" not in "\n".join(drawn(result, 70))
    assert "verdict" not in "\n".join(drawn(result, 50))


def test_without_colours_there_is_no_escape(result):
    assert "\x1b" not in "\n".join(drawn(result))


def test_without_unicode_all_is_ascii(result):
    plain = replace(result, machine={})
    plain = replace(plain, rungs=tuple(replace(r, traceback=None) for r in plain.rungs))
    assert "\n".join(drawn(plain, unicode=False)).isascii()


def test_a_failed_rung_has_its_reason(result):
    assert "third: crashed: in round 1: killed" in "\n".join(drawn(result))


def test_a_run_without_any_timed_rung_is_told(result):
    nothing = replace(result, rungs=(RungResult("only", "wrong", reason="no"),))
    assert "No rung could be timed." in drawn(nothing)


def test_warnings_come_with_the_table(result):
    cut = replace(result, ended="interrupted")
    assert any(line.startswith("warning: the run was interrupted") for line in drawn(cut))


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        """Yes."""
        return True


def test_progress_is_drawn_in_a_terminal_only():
    plain, terminal = io.StringIO(), Terminal()
    for stream in (plain, terminal):
        ProgressLine(stream)(Progress("round 1", 1.0, 0))
    assert plain.getvalue() == ""
    assert "round 1" in terminal.getvalue()


def test_a_terminal_that_is_closed_is_no_error():
    terminal = Terminal()
    line = ProgressLine(terminal)
    terminal.close()
    line.clear()
