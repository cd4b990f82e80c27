"""The statistics against simulated runs whose truth is known, and against tables."""

import numpy as np
import pytest
from lenet_bench.results.statistics import (
    FEWEST_STARTS,
    Interval,
    _student_t,
    independent_ratio_interval,
    judge,
    median_interval,
    percentile,
    ratio_interval,
    two_modes,
)

RUNS = 400
MARGIN = 0.02


def normal(random, count):
    return 1 + 0.02 * random.standard_normal(count)


def skewed(random, count):
    """Latency's usual shape: a wall on the left, a tail on the right; its median is 1."""
    return 1 + 0.05 * (random.exponential(size=count) - np.log(2))


def disturbed(random, count):
    """Quiet but for one start in seven, which something hit, up or down."""
    hit = random.choice([-1, 1], count) * random.exponential(0.2, count)
    return 1 + 0.005 * random.standard_normal(count) + np.where(random.random(count) < 0.15, hit, 0)


def two_places(random, count):
    """Two processes each of whose memory lies well or badly: the ratio of two such."""
    lies = np.where(random.random((2, count)) < 0.5, 1.0, 1.1) * (
        1 + 0.005 * random.standard_normal((2, count))
    )
    return lies[0] / lies[1]


def assert_covered(truth, intervals):
    """At least 94 times in 100, to three sigma of so many runs."""
    covered = [interval.low <= truth <= interval.high for interval in intervals]
    assert len(covered) == RUNS
    assert np.mean(covered) > 0.94 - 3 * (0.94 * 0.06 / RUNS) ** 0.5


SHAPES = [normal, skewed, disturbed, two_places]


def test_a_percentile_needs_ten_samples_beyond_it():
    for percent, needed in ((50, 20), (90, 100), (95, 200), (99, 1000), (99.9, 10_000)):
        assert percentile(np.arange(needed - 1.0), percent) is None
        assert percentile(np.arange(float(needed)), percent) is not None


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("starts", [6, 15, 30])
def test_the_interval_covers_the_true_median_at_least_94_times_in_100(shape, starts):
    random = np.random.default_rng(starts)
    assert_covered(1, (median_interval(shape(random, starts), seed) for seed in range(RUNS)))


@pytest.mark.parametrize("shape", [normal, skewed, disturbed])
@pytest.mark.parametrize(
    ("starts", "other", "drift"), [(6, 30, None), (15, 10, None), (6, 6, 0.05), (15, 15, 0.05)]
)
def test_a_ratio_is_covered_at_least_94_times_in_100(shape, starts, other, drift):
    random = np.random.default_rng(starts + other if drift is None else starts)

    def interval(seed):
        if drift is None:
            two_runs = 3 * shape(random, starts), 2 * shape(random, other)
            return independent_ratio_interval(*two_runs, seed)
        common = 1 + drift * random.standard_normal(starts)
        new, old = 3 * common * shape(random, starts), 2 * common * shape(random, starts)
        return ratio_interval(dict(enumerate(new)), dict(enumerate(old)), seed)

    assert_covered(1.5, map(interval, range(RUNS)))


def test_five_starts_get_no_interval():
    many, few = np.ones(FEWEST_STARTS), np.ones(FEWEST_STARTS - 1)
    assert median_interval(few, seed=0) is None
    assert independent_ratio_interval(many, many, 0) is not None
    assert independent_ratio_interval(many, few, 0) is None
    values = dict.fromkeys(range(FEWEST_STARTS), 1.0)
    assert ratio_interval(values, values, 0) is not None
    assert ratio_interval(values, {n: 1.0 for n in values if n}, 0) is None
    assert judge(None, MARGIN) == "ambiguous"


def test_an_interval_is_the_same_for_the_same_seed():
    scattered = normal(np.random.default_rng(2), 20)
    assert median_interval(scattered, 7) == median_interval(scattered, 7)
    assert median_interval(scattered, 7) != median_interval(scattered, 8)


@pytest.mark.parametrize("freedom", [5, 11, 60])
def test_students_t_is_scipys(freedom):
    stats = pytest.importorskip("scipy.stats", reason="scipy is not installed")
    assert _student_t(0.975, freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=2e-3)


VERDICTS = {
    **{(0.90, 0.95): "faster", (1.03, 1.10): "slower", (0.99, 1.01): "same"},
    **dict.fromkeys([(0.97, 1.01), (1.01, 1.04), (0.90, 1.10)], "ambiguous"),
}


def test_the_verdict_says_what_the_whole_interval_says():
    assert {ends: judge(Interval(*ends), MARGIN) for ends in VERDICTS} == VERDICTS


def verdicts(true_ratio, starts, noise):
    """What is said of two backends of that ratio, run after run, as `compare` says it."""
    random = np.random.default_rng(3)
    for seed in range(RUNS):
        one, other = np.exp(noise / 2**0.5 * random.standard_normal((2, starts)))
        pair = dict(enumerate(true_ratio * one)), dict(enumerate(other))
        yield judge(ratio_interval(*pair, seed), MARGIN)


@pytest.mark.parametrize("noise", [0.005, 0.02, 0.08])
def test_identical_backends_are_called_different_less_than_once_in_100_runs(noise):
    said = list(verdicts(1.0, 10, noise))
    assert (said.count("faster") + said.count("slower")) / RUNS < 0.01


@pytest.mark.parametrize(
    ("ratio", "said", "least", "most"),
    [
        (1.0, ("same",), 0.95, 1),
        (1.05, ("slower",), 0.95, 1),
        (1 / 1.02, ("faster", "slower"), 0, 0.05),  # at the margin
        (1.02, ("faster", "slower"), 0, 0.05),
        (1.021, ("same",), 0, 0.05),  # beyond it
    ],
)
def test_a_verdict_on_a_quiet_machine_is_right_95_times_in_100(ratio, said, least, most):
    found = list(verdicts(ratio, 12, 0.01))
    assert least <= sum(map(found.count, said)) / RUNS <= most


def uniform(random, count):
    """Flat over a fifth: the widest single hump."""
    return 1 + 0.2 * random.random(count)


def heavy(random, count):
    """Student's t with three degrees of freedom."""
    return 1 + 0.03 * random.standard_t(3, count)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [normal, skewed, disturbed, uniform, heavy])
@pytest.mark.parametrize("starts", [15, 20, 40])
def test_one_hump_is_called_two_modes_in_less_than_one_run_of_100(shape, starts):
    random = np.random.default_rng(starts)
    runs = 2000
    assert sum(two_modes(shape(random, starts)) is not None for _ in range(runs)) < runs / 100


@pytest.mark.parametrize("starts", [15, 30])
def test_two_modes_are_separated(starts):
    random = np.random.default_rng(starts)
    slow = (random.random((RUNS, starts)) < 0.5) * 0.14
    found = [two_modes(1 + one + 0.015 * random.standard_normal(starts)) for one in slow]
    assert sum(modes is not None for modes in found) > 0.75 * RUNS
    low, high = next(modes for modes in found if modes)
    assert np.median(low) == pytest.approx(1, abs=0.02)
    assert np.median(high) == pytest.approx(1.14, abs=0.02)


def test_few_or_equal_starts_have_no_two_modes():
    assert two_modes([1.0, 1.2] * 7) is None
    assert two_modes([1.0, 1.2] * 8) is not None
    assert two_modes([1.0] * 16) is None
