"""The statistics against simulated runs whose truth is known, and against tables."""

import numpy as np
import pytest
from lenet_bench.results.statistics import (
    FEWEST_STARTS,
    Interval,
    Ratio,
    _student_t,
    correlation,
    independent_ratio,
    judge,
    median_interval,
    paired_ratio,
    percentile,
    starts_to_decide,
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
    hit = np.where(random.random(count) < 0.15, hit, 0)
    return np.exp(0.005 * random.standard_normal(count) + hit)


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

    def ratio(seed):
        if drift is None:
            two_runs = 3 * shape(random, starts), 2 * shape(random, other)
            return independent_ratio(*two_runs, seed)
        common = 1 + drift * random.standard_normal(starts)
        new, old = 3 * common * shape(random, starts), 2 * common * shape(random, starts)
        return paired_ratio(dict(enumerate(new)), dict(enumerate(old)))

    assert_covered(1.5, (ratio(seed).interval for seed in range(RUNS)))


def test_ratios_to_the_fastest_of_many_equal_ones_are_covered_less_often():
    """Its median was chosen in the same run, so the ratios to it are too high."""
    random = np.random.default_rng(0)
    covered = []
    for _ in range(RUNS // 4):
        equal = [normal(random, 10) for _ in range(25)]
        fastest, *others = sorted(equal, key=lambda one: float(np.median(one)))
        found = (paired_ratio(dict(enumerate(one)), dict(enumerate(fastest))) for one in others)
        covered += [one.interval.low <= 1 for one in found if one.interval]
    assert 0.82 < np.mean(covered) < 0.90


def test_rounds_that_are_not_shared_give_no_ratio():
    apart = paired_ratio({0: 1.0, 1: 2.0}, {})
    assert (apart.interval, apart.starts) == (None, 0)
    assert judge(apart, MARGIN) == "ambiguous"
    assert starts_to_decide(apart, MARGIN) == FEWEST_STARTS


@pytest.mark.parametrize("zeros", [[0] * 6, [0] * 5, [0, 0, 0, 1, 1, 1]])
def test_there_is_no_ratio_to_what_takes_no_time(zeros):
    """By a coarse clock. Of the third, resampled medians are 0."""
    assert independent_ratio(np.ones(6), np.array(zeros, float), 0) is None


def test_five_starts_get_no_interval():
    many, few = np.ones(FEWEST_STARTS), np.ones(FEWEST_STARTS - 1)
    assert median_interval(few, seed=0) is None
    assert (independent_ratio(many, many, 0) or Ratio(1.0)).interval is not None
    assert independent_ratio(many, few, 0) == Ratio(1.0)
    values = dict.fromkeys(range(FEWEST_STARTS), 1.0)
    assert paired_ratio(values, values).interval is not None
    assert paired_ratio(values, {n: 1.0 for n in values if n}).interval is None
    assert judge(None, MARGIN) == judge(Ratio(1.0), MARGIN) == "ambiguous"


@pytest.mark.parametrize("confidence", [0.95, 0.90])
@pytest.mark.parametrize("starts", [10, 15, 40])
def test_ranks_bound_a_ratio_as_scipys_signed_rank_test_does(starts, confidence):
    """The interval has just the ratios that the test would not reject."""
    stats = pytest.importorskip("scipy.stats", reason="scipy is not installed")
    ratios = np.exp(0.03 * np.random.default_rng(starts).standard_normal(starts))
    found = paired_ratio(dict(enumerate(ratios)), dict.fromkeys(range(starts), 1.0), confidence)

    def chance(ratio):
        return stats.wilcoxon(np.log(ratios / ratio), method="exact").pvalue

    ends = found.interval or ()
    assert ends
    for end, outwards in zip(ends, (1 - 1e-9, 1 + 1e-9), strict=True):
        assert chance(end * outwards) <= 1 - confidence < chance(end / outwards)


def test_rounds_that_only_one_backend_has_do_not_count():
    new, old = {0: 2.0, 1: 2.2, 2: 9.0}, {0: 1.0, 1: 1.0, 7: 5.0}
    assert paired_ratio(new, old).value == pytest.approx((2.0 * 2.2) ** 0.5)
    assert paired_ratio({0: 3.0}, {1: 2.0}).value == 1.5


def test_a_drift_that_only_one_backend_has_is_told_as_a_correlation():
    random = np.random.default_rng(0)
    noise, drift = random.standard_normal((2, 400)) * 0.01
    wanders = 1 + np.cumsum(drift) / 10 + noise / 10
    old = dict.fromkeys(range(400), 1.0)
    assert (correlation(dict(enumerate(wanders)), old) or 0.0) > 0.5
    assert abs(correlation(dict(enumerate(1 + noise)), old) or 1.0) < 0.2
    assert correlation(old, old) is None


@pytest.mark.parametrize("starts", [10, 11, 12])
def test_more_certain_than_ranks_can_be_the_interval_is_wider(starts):
    times = dict(enumerate(normal(np.random.default_rng(1), starts)))
    usual, strict = (
        paired_ratio(times, dict.fromkeys(times, 1.0), confidence).interval or Interval(1, 1)
        for confidence in (0.95, 1 - 1e-5)
    )
    assert strict.low < usual.low < usual.high < strict.high


@pytest.mark.parametrize(("true_ratio", "scatter"), [(1.0, 0.06), (1.03, 0.03)])
def test_the_starts_that_a_verdict_needs_are_foretold(true_ratio, scatter):
    """With about so many starts half of the runs have one."""
    random = np.random.default_rng(1)

    def run(starts):
        ratios = np.exp(scatter * random.standard_normal(starts)) * true_ratio
        return paired_ratio(dict(enumerate(ratios)), dict.fromkeys(range(starts), 1.0))

    needed = np.median([starts_to_decide(run(60), MARGIN) for _ in range(RUNS)])
    decided = [judge(run(round(needed)), MARGIN) != "ambiguous" for _ in range(RUNS)]
    assert 0.35 < np.mean(decided) < 0.65


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
    found = {ends: judge(Ratio(1.0, Interval(*ends), Interval(*ends)), MARGIN) for ends in VERDICTS}
    assert found == VERDICTS


def test_same_needs_the_narrower_interval_only():
    wide, narrow = Interval(0.975, 1.015), Interval(0.985, 1.01)
    assert judge(Ratio(1.0, wide, narrow), MARGIN) == "same"
    assert judge(Ratio(1.0, wide, wide), MARGIN) == "ambiguous"


def verdicts(true_ratio, starts, noise):
    """What is said of two backends of that ratio, run after run, as `compare` says it."""
    random = np.random.default_rng(3)
    for _ in range(RUNS):
        one, other = np.exp(noise / 2**0.5 * random.standard_normal((2, starts)))
        pair = dict(enumerate(true_ratio * one)), dict(enumerate(other))
        yield judge(paired_ratio(*pair), MARGIN)


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
