"""Who runs when, until when, and on which cores."""

import os
from collections import Counter
from itertools import islice, pairwise

import pytest
from lenet_bench.measure.pinning import choose_cores, on_cores, thread_variables
from lenet_bench.measure.schedule import (
    StopRule,
    choose_pace,
    choose_restarts,
    restart_is_due,
    shuffled,
)
from lenet_bench.measure.statistics import FEWEST_STARTS

NAMES = ["a", "b", "c", "d"]

pinned = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system cannot pin")


def test_each_round_has_every_rung_once():
    for order in islice(shuffled(NAMES, seed=1), 50):
        assert sorted(order) == NAMES


def test_the_same_seed_gives_the_same_rounds():
    first, second = (list(islice(shuffled(NAMES, seed=9), 20)) for _ in range(2))
    assert first == second


def test_another_seed_gives_other_rounds():
    first, second = (list(islice(shuffled(NAMES, seed=s), 20)) for s in (1, 2))
    assert first != second


def test_every_rung_comes_first_about_as_often_as_any_other():
    first = Counter(order[0] for order in islice(shuffled(NAMES, seed=4), 4000))
    assert all(abs(count - 1000) < 5 * 750**0.5 for count in first.values())


def test_every_rung_follows_every_other_about_equally_often():
    pairs = Counter()
    for order in islice(shuffled(NAMES, seed=5), 4000):
        pairs.update(pairwise(order))
    assert len(pairs) == 12
    assert max(pairs.values()) < 1.2 * min(pairs.values())


def test_the_first_rule_that_is_reached_ends_the_run():
    rule = StopRule(budget_s=10, precision=0.02, rounds=100)
    assert rule.reached(1, 5, starts=5, widest=0.5) is None
    assert rule.reached(1, 100, starts=50, widest=0.5) == "rounds"
    assert rule.reached(1, 8, starts=8, widest=0.02) == "precision"
    assert rule.reached(11, 8, starts=8, widest=0.5) == "budget"


def test_a_round_that_would_overrun_the_budget_by_half_is_not_begun():
    rule = StopRule(budget_s=10)
    assert rule.reached(9.5, 8, starts=8, widest=1) == "budget"
    assert rule.reached(9, 8, starts=8, widest=1) is None


def test_a_budget_that_leaves_no_verdict_is_overrun_up_to_three_times():
    rule = StopRule(budget_s=10)
    assert rule.reached(12, 4, starts=FEWEST_STARTS - 1, widest=1) is None
    assert rule.reached(12, 4, starts=FEWEST_STARTS, widest=1) == "budget"
    assert rule.reached(30, 4, starts=FEWEST_STARTS - 1, widest=1) == "budget"


def test_the_smallest_budget_still_allows_one_round():
    assert StopRule(budget_s=0.001).reached(0.01, 0, starts=0, widest=1) is None


def test_an_unknown_precision_never_ends_a_run():
    assert StopRule(precision=0.5).reached(1e9, 1000, 500, widest=float("inf")) is None


def test_a_long_budget_gives_the_usual_pace():
    assert choose_pace(3600, None, 8, start_s=2) == choose_pace(None, None, 8, start_s=2)


def test_a_short_budget_shortens_the_turns():
    short, usual = (choose_pace(budget, None, 8, start_s=0.3) for budget in (5, None))
    assert short.timed_s < usual.timed_s
    assert short.rounds_a_start == 1


@pytest.mark.parametrize("budget_s", [5, 10, 20, 60, 600])
@pytest.mark.parametrize("start_s", [0.1, 0.5])
def test_the_pace_fits_eight_starts_into_the_budget(budget_s, start_s):
    rungs = 7
    pace = choose_pace(budget_s, None, rungs, start_s)
    a_start_s = start_s + rungs * pace.rounds_a_start * (pace.warm_s + pace.timed_s)
    assert 8 * a_start_s <= budget_s * 1.001


def test_a_turn_is_never_too_short_to_warm_up():
    assert choose_pace(0.001, None, 100, start_s=60).warm_s >= 0.002


@pytest.mark.parametrize(("start_s", "rounds"), [(0.8, 1), (2, 2), (0, 2)])
def test_workers_that_are_quick_to_start_do_so_in_every_round(start_s, rounds):
    assert choose_pace(600, None, 8, start_s).rounds_a_start == rounds


def test_few_rounds_start_the_workers_anew_each_time():
    paces = [choose_pace(None, rounds, 5, start_s=1) for rounds in (1, 8, 15, 16)]
    assert [pace.rounds_a_start for pace in paces] == [1, 1, 1, 2]


@pytest.mark.parametrize(("budget_s", "restarts"), [(20, 0), (60, 2), (120, 4), (3600, 5)])
def test_rungs_that_are_slow_to_start_have_a_share_of_the_budget_for_it(budget_s, restarts):
    assert choose_restarts(budget_s, start_s=10) == restarts


def test_without_a_budget_slow_rungs_start_three_times():
    assert choose_restarts(None, start_s=100) == 2


def test_the_restarts_of_slow_rungs_are_spread_over_the_run():
    due, done = [], 0
    for percent in range(100):
        if restart_is_due(done, 3, percent / 100):
            done += 1
            due.append(percent)
    assert due == [25, 50, 75]


@pinned
@pytest.mark.parametrize("threads", [1, 2, 3, 1000])
def test_workers_get_as_many_cores_as_threads_or_all(threads):
    allowed = os.sched_getaffinity(0)
    cores = choose_cores(threads)
    assert set(cores.worker) <= allowed
    assert len(cores.worker) == min(threads, len(allowed))


@pinned
@pytest.mark.skipif(os.cpu_count() == 1, reason="there is one core only")
def test_the_parent_keeps_off_the_workers_core():
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("only one core is allowed")
    cores = choose_cores(1)
    assert not set(cores.worker) & set(cores.parent)


@pinned
def test_the_parent_shares_where_there_is_no_other_core():
    allowed = os.sched_getaffinity(0)
    cores = choose_cores(len(allowed))
    assert set(cores.parent) == allowed


@pinned
def test_cores_are_given_back():
    before = os.sched_getaffinity(0)
    with on_cores([min(before)]):
        assert os.sched_getaffinity(0) == {min(before)}
    assert os.sched_getaffinity(0) == before


def test_every_library_hears_the_same_count_of_threads():
    told = thread_variables(3)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        assert told[name] == "3"
    assert told["TF_NUM_INTRAOP_THREADS"] == "3"
