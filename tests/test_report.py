"""A result drawn in a terminal."""

import io
from dataclasses import replace

import pytest
from lenet_bench import Progress, summarise
from lenet_bench.printout.progress import ProgressLine
from lenet_bench.report.sentences import conditions
from lenet_bench.report.terminal import table
from lenet_bench.results import RungResult
from lenet_bench.terminal import Screen
from sample_results import rung, sample_ladder, sample_result


@pytest.fixture
def result():
    """A run of two rungs, one twice as slow, and of one that crashed."""
    return sample_result()


def drawn(result, columns=120, colour=False, unicode=True, named=()):
    """The lines."""
    return list(table(summarise(result), Screen(columns, colour, unicode), named))


@pytest.fixture
def ladder(result):
    """A run of 45 rungs with long names, from 20 us to 60 ms, and of some that are not at hand."""
    times = [round(20 * 3000 ** (n / 44)) for n in range(45)]
    rungs = [rung(f"keras-framework:on_batch_{n:02}", us) for n, us in enumerate(times)]
    missing = [
        RungResult(name, "unavailable", reason="no module; mend it with: pip install it")
        for name in ("mxnet", "mxnet:gluon", "caffe")
    ]
    return replace(result, rungs=(*rungs, *missing))


@pytest.mark.parametrize("columns", [40, 64, 80, 96, 100, 200])
def test_no_line_is_wider_than_the_terminal(result, ladder, columns):
    for told in (result, ladder):
        assert max(map(len, drawn(told, columns))) <= columns


@pytest.mark.parametrize("columns", [40, 80, 100])
def test_names_stay_whole_where_the_terminal_has_room_for_them(ladder, columns):
    assert (
        sum(line.startswith("keras-framework:on_batch_") for line in drawn(ladder, columns)) == 45
    )


def test_names_give_way_at_their_beginning_where_nothing_else_can(ladder):
    lines = drawn(ladder, 30)
    assert max(len(line) for line in lines if "on_batch_" in line) <= 30
    assert any(line.startswith("…") and "on_batch_44" in line for line in lines)


def test_bars_are_left_out_where_most_would_be_slivers(ladder):
    assert "█" not in "\n".join(drawn(ladder, 200))


def test_every_figure_but_the_memory_has_room_beside_long_names_in_100_columns(ladder):
    text = "\n".join(drawn(ladder, 100))
    assert all(t in text for t in ("p90", "p99", "ratio", "interval", "verdict", "cold start"))


def test_a_wide_terminal_shows_the_lines_of_code_where_they_are_known(result):
    counted = [replace(rung, lines_of_code=17) for rung in result.rungs]
    text = "\n".join(drawn(replace(result, rungs=tuple(counted)), 100))
    assert "  lines\n" in text
    assert "     17  " in text
    assert "lines" not in "\n".join(drawn(result, 200))


def test_rungs_that_are_not_at_hand_are_one_line_at_the_end(ladder):
    *others, last = drawn(ladder, 100)
    assert last == "not at hand: mxnet, caffe; `lenet-bench doctor` says what brings them"
    assert "mxnet" not in "\n".join(others)


def test_a_name_with_a_hyphen_is_not_broken_at_it(result):
    missing = [RungResult(f"keras-torch{n}", "unavailable", reason="no") for n in range(20)]
    lines = drawn(replace(result, rungs=(*result.rungs, *missing)), 70)
    assert not any(line.endswith("keras-") for line in lines)


def test_a_named_rung_that_is_not_at_hand_has_its_reason(ladder):
    lines = drawn(ladder, 100, named=("caffe",))
    assert "caffe: unavailable: no module; mend it with: pip install it" in lines
    assert lines[-1].startswith("not at hand: mxnet;")


def test_a_variant_that_is_not_at_hand_is_named_where_its_rung_runs(result):
    missing = RungResult("first:fast", "unavailable", reason="no")
    lines = drawn(replace(result, rungs=(*result.rungs, missing)))
    assert lines[-1].startswith("not at hand: first:fast;")


def test_rungs_that_an_interrupt_left_out_are_one_line(result):
    waiting = tuple(RungResult(name, "unmeasured") for name in ("third", "fourth"))
    lines = drawn(replace(result, rungs=(*result.rungs[:2], *waiting)))
    assert "unmeasured, since the run ended before their turn: third, fourth" in lines


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
    assert "cold start" not in "\n".join(drawn(result, 60))
    assert "p50" in "\n".join(drawn(result, 40))
    assert "verdict" not in "\n".join(drawn(result, 40))


def test_a_name_in_a_strangers_file_does_not_steer_the_terminal(result):
    named = replace(result.rungs[0], name="\x1b[2Jevil")
    assert "\x1b" not in "\n".join(drawn(replace(result, rungs=(named, *result.rungs[1:]))))


def test_without_colours_there_is_no_escape(result):
    assert "\x1b" not in "\n".join(drawn(result))


def test_without_unicode_all_is_ascii(result):
    plain = replace(result, machine={})
    plain = replace(plain, rungs=tuple(replace(r, traceback=None) for r in plain.rungs))
    assert "\n".join(drawn(plain, unicode=False)).isascii()


def test_rungs_that_were_not_started_anew_each_round_are_counted(result):
    first, second, *rest = result.rungs
    slow = replace(second, cold_starts=second.cold_starts[:1])
    once = replace(result, rungs=(first, slow, *rest))
    assert "started anew every round, in" in conditions(summarise(result))
    told = "every round (one process for 1 of 2 rungs, slow to start), in"
    assert told in conditions(summarise(once))


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


def test_a_name_with_a_hyphen_is_not_broken_at_the_end_of_a_line() -> None:
    lines = Screen(24, colour=False, unicode=True).wrap("warning: slow are: keras-jax:call, torch")
    assert "keras-jax:call," in " ".join(lines).split()


def test_eighty_columns_keep_the_lines_of_code() -> None:
    result = summarise(sample_ladder())
    header = list(table(result, Screen(80, colour=False, unicode=True)))[2:4]
    assert any("lines" in line for line in header)
