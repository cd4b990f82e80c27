"""Who runs when, until when, and on which cores."""

import os
from collections import Counter
from itertools import islice, pairwise

import pytest
from lenet_bench.measure.pinning import choose_cores, on_cores, thread_variables
from lenet_bench.measure.schedule import StopRule, rounds_a_start, shuffled_rounds, turn_length

NAMES = ["a", "b", "c", "d"]

pinned = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system cannot pin")


def test_each_round_has_every_rung_once():
    for order in islice(shuffled_rounds(NAMES, seed=1), 50):
        assert sorted(order) == NAMES


def test_the_same_seed_gives_the_same_rounds():
    first, second = (list(islice(shuffled_rounds(NAMES, seed=9), 20)) for _ in range(2))
    assert first == second


def test_another_seed_gives_other_rounds():
    first, second = (list(islice(shuffled_rounds(NAMES, seed=s), 20)) for s in (1, 2))
    assert first != second


def test_every_rung_comes_first_about_as_often_as_any_other():
    first = Counter(order[0] for order in islice(shuffled_rounds(NAMES, seed=4), 4000))
    assert all(abs(count - 1000) < 5 * 750**0.5 for count in first.values())


def test_every_rung_follows_every_other_about_equally_often():
    pairs = Counter()
    for order in islice(shuffled_rounds(NAMES, seed=5), 4000):
        pairs.update(pairwise(order))
    assert len(pairs) == 12
    assert max(pairs.values()) < 1.2 * min(pairs.values())


def test_the_first_rule_that_is_reached_ends_the_run():
    rule = StopRule(budget_s=10, precision=0.02, rounds=100)
    assert rule.reached(1, 5, widest=0.5) is None
    assert rule.reached(1, 100, widest=0.5) == "rounds"
    assert rule.reached(1, 5, widest=0.02) == "precision"
    assert rule.reached(11, 5, widest=0.5) == "budget"


def test_a_round_that_would_overrun_the_budget_by_half_is_not_begun():
    rule = StopRule(budget_s=10)
    assert rule.reached(9, 4, widest=1) == "budget"
    assert rule.reached(8, 4, widest=1) is None


def test_the_smallest_budget_still_allows_one_round():
    assert StopRule(budget_s=0.001).reached(0.01, 0, widest=1) is None


def test_an_unknown_precision_never_ends_a_run():
    assert StopRule(precision=0.5).reached(1e9, 1000, widest=float("inf")) is None


def test_a_long_budget_gives_the_usual_turn():
    assert turn_length(3600, 8, start_s=2) == turn_length(None, 8, start_s=2)


def test_a_short_budget_shortens_the_turns():
    assert turn_length(6, 8, start_s=0.3).timed_s < turn_length(None, 8, start_s=0.3).timed_s


def test_a_turn_is_never_too_short_to_warm_up():
    assert turn_length(0.001, 100, start_s=60).warm_s >= 0.002


def test_few_rounds_start_the_workers_anew_each_time():
    assert [rounds_a_start(rounds) for rounds in (1, 8, 15)] == [1, 1, 1]
    assert rounds_a_start(16) == rounds_a_start(None)


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
