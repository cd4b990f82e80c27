"""Statistics of the samples: percentiles, intervals, ratios and verdicts. Arithmetic only.

The independent unit is the start of a process, not the call: calls of a process share the clock,
the neighbours and the addresses of its memory, which alone change the time of a backend whose
weights just fit the cache by 10 % and more. So a start counts once, by its median, and intervals
are over starts. A ratio is of pairs: two starts of one round, which share the machine's drift.
"""

from bisect import bisect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from math import ceil, exp, inf, log, log1p
from statistics import NormalDist, geometric_mean
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .model import BackendResult, Block, Verdict

Floats = NDArray[np.float64]

#: The intervals' nominal coverage; simulated, it is 94 to 99 % (docs/measuring.md).
CONFIDENCE = 0.95
#: That of a run that ends when its verdicts are certain: who looks often is misled often.
DECIDED = 0.99
#: Fewer starts than this get no interval: the median of five cannot be bounded at 95 %.
FEWEST_STARTS = 6
#: Of so many pairs ranks give an interval; of fewer it would be the range, more take memory.
_RANKED = range(10, 501)
# Two modes: so many starts, such a share of them in each, so far apart.
_FEWEST_FOR_MODES = 15
_SHARE_OF_A_MODE = 0.25
_LEAST_SEPARATION = 7.0  # times the scatter within
_GAP = 0.03  # empty gap, as a share of the lower mode's upper end
#: A percentile needs this many samples beyond it, so p50 needs 20 in all and p99 1000.
_SAMPLES_BEYOND = 10
_RESAMPLES = 2000


class Interval(NamedTuple):
    """An interval that holds the true value, with CONFIDENCE unless another is named."""

    low: float
    high: float


#: In place of an interval where there are too few starts.
UNBOUNDED = (None, None)


class Ratio(NamedTuple):
    """How many times as long one takes as another; without intervals where starts are too few."""

    value: float
    interval: Interval | None = None  # with CONFIDENCE, or another that was asked for
    of_same: Interval | None = None  # the one that "same" needs
    starts: int = 0  # of each

    @property
    def bounds(self) -> tuple[float, float] | tuple[None, None]:
        return self.interval or UNBOUNDED


def start_medians_us(blocks: Iterable[Block]) -> dict[int, float]:
    """Each start's median call, by its round."""
    return {block.round: block.median_us for block in blocks}


def undisturbed(blocks: Iterable[Block]) -> list[Block]:
    """Those with calls enough beside quick loops, and those without loops."""
    return [block for block in blocks if block.quiet_share != 0]


def beside_us(starts: Sequence[Block], others: Sequence[Block]) -> dict[int, float]:
    """The other's time near each start, by its round, in the rounds that count for the two.

    Those are the rounds in which both were undisturbed, if they are enough for an interval, else
    all. If disturbed starts were left out of one only, the machine's states would make a difference
    between equals.
    """
    found = _beside_us(undisturbed(starts), undisturbed(others))
    return found if len(found) >= FEWEST_STARTS else _beside_us(starts, others)


def _beside_us(starts: Sequence[Block], others: Sequence[Block]) -> dict[int, float]:
    """The mean of the other's starts just before and after in that round, of their logarithms."""
    rounds: dict[int, list[Block]] = {}
    for block in sorted(others, key=lambda block: block.at_s):
        rounds.setdefault(block.round, []).append(block)
    found: dict[int, float] = {}
    for start in starts:
        ordered = rounds.get(start.round, [])
        place = bisect(ordered, start.at_s, key=lambda block: block.at_s)
        near = (block.median_us for block in ordered[max(place - 1, 0) : place + 1])
        if known := [us for us in near if us > 0]:
            found[start.round] = geometric_mean(known)
    return found


def ratio_of(new: BackendResult, old: BackendResult, confidence: float = CONFIDENCE) -> Ratio:
    """The paired ratio of two backends of a run, of the rounds that count for them."""
    near = beside_us(new.starts, old.starts) or start_medians_us(old.starts)
    return paired_ratio(start_medians_us(new.starts), near, confidence)


def percentile(samples: Sequence[float] | Floats, percent: float) -> float | None:
    """That percentile; None where there are too few samples."""
    return float(np.percentile(samples, percent)) if show(len(samples), percent) else None


def show(samples: int, percent: float) -> bool:
    """Whether so many samples suffice for that percentile."""
    return samples * (100 - percent) / 100 >= _SAMPLES_BEYOND - 1e-6


def fewest(percent: float) -> int:
    """How many samples suffice for that percentile."""
    return ceil(_SAMPLES_BEYOND * 100 / (100 - percent))


def median_interval(values: Sequence[float] | Floats, seed: int) -> Interval | None:
    """A bootstrap interval for the median over the starts; None where they are too few."""
    starts = np.asarray(values, np.float64)[:, np.newaxis]
    found = median_intervals(starts, lambda medians: medians, seed)
    return found[0] if found else None


def percentile_interval(
    starts: Sequence[NDArray[np.int64]], percent: float, seed: int
) -> Interval | None:
    """The same for a percentile of the calls of all starts."""
    if not _enough(starts, percent):
        return None
    found = _resampled(starts, percent, np.random.default_rng(seed))
    return _expanded_interval(found, len(starts))


def percentile_ratio(
    new: Sequence[NDArray[np.int64]], old: Sequence[NDArray[np.int64]], percent: float, seed: int
) -> Ratio | None:
    """The ratio of the percentiles of two runs; None where there are too few calls."""
    if not _enough(new, percent) or not _enough(old, percent):
        return None
    values = [np.percentile(np.concatenate(starts), percent) for starts in (new, old)]
    random = np.random.default_rng(seed)
    one, other = (_resampled(starts, percent, random) for starts in (new, old))
    if not other.all():
        return None
    count = min(len(new), len(old))
    return Ratio(float(values[0] / values[1]), *_both_intervals(one / other, count))


def _enough(starts: Sequence[NDArray[np.int64]], percent: float) -> bool:
    return len(starts) >= FEWEST_STARTS and show(sum(map(len, starts)), percent)


def _resampled(
    starts: Sequence[NDArray[np.int64]], percent: float, random: np.random.Generator
) -> Floats:
    """The percentile of the calls of starts that were drawn anew, again and again."""
    picked = random.integers(0, len(starts), (_RESAMPLES, len(starts)))
    every = (np.concatenate([starts[number] for number in numbers]) for numbers in picked)
    return np.array([np.percentile(calls, percent) for calls in every])


def median_intervals(
    starts: Floats, figures: Callable[[Floats], Floats], seed: int
) -> list[Interval | None] | None:
    """The same for figures computed from several medians: a column each, and a row for each start.

    Percentiles of the resampled medians, expanded as Hesterberg (2015) does for small counts:
    plain percentiles cover only 91 % at eight values.
    """
    count = len(starts)
    if count < FEWEST_STARTS:
        return None
    picked = np.random.default_rng(seed).integers(0, count, (_RESAMPLES, count))
    medians = np.stack([np.median(column[picked], axis=1) for column in starts.T], axis=1)
    return [_expanded_interval(column, count) for column in figures(medians).T]


def with_bounds(starts: Floats, seed: int) -> list[tuple[float, float | None, float | None]]:
    """The median of each column, and where its interval begins and ends."""
    found = np.median(starts, axis=0).tolist()
    intervals = median_intervals(starts, lambda medians: medians, seed) or [None] * len(found)
    bounds = [interval or UNBOUNDED for interval in intervals]
    return [(one, low, high) for one, (low, high) in zip(found, bounds, strict=True)]


def paired_ratio(
    new: Mapping[int, float], old: Mapping[int, float], confidence: float = CONFIDENCE
) -> Ratio:
    """The ratio of two backends' starts, each by its round, from the rounds that both have.

    Its value is Hodges and Lehmann's, of the logarithms: the median of the means of all pairs of
    rounds. Wilcoxon's signed ranks bound it. Of six to nine rounds Student's t does, as where ranks
    cannot be so certain, and of more than 500, where the value is the mean.
    """
    differences = _differences(new, old)
    count = len(differences)
    if not count:
        one, other = (float(np.median([*starts.values()] or [0.0])) for starts in (new, old))
        return Ratio(one / other if other else 0.0)
    means = differences[:0]
    middle = float(differences.mean())
    if count < _RANKED.stop:
        means = np.add.outer(differences, differences)[np.tril_indices(count)] / 2
        means.sort()
        middle = float(np.median(means))
    if count < FEWEST_STARTS:
        return Ratio(exp(middle), starts=count)

    def interval(confidence: float) -> Interval:
        tail = (1 - confidence) / 2
        if count in _RANKED and (outside := _ranks_outside(count, tail)):
            return Interval(exp(means[outside - 1]), exp(means[-outside]))
        half = _student_t(1 - tail, count - 1) * differences.std(ddof=1) / count**0.5
        return Interval(exp(differences.mean() - half), exp(differences.mean() + half))

    value = exp(middle)
    return Ratio(value, interval(confidence), interval(of_same(confidence)), count)


def of_same(confidence: float) -> float:
    """Of the interval that "same" needs: two one-sided tests, each as strict as that one."""
    return 2 * confidence - 1


def _differences(new: Mapping[int, float], old: Mapping[int, float]) -> Floats:
    """The logarithm of the ratio in each round that both have."""
    common = [number for number in new if new[number] > 0 and old.get(number, 0.0) > 0]
    return np.log([new[number] / old[number] for number in common])


@lru_cache
def _ranks_outside(count: int, tail: float) -> int:
    """How many sums of signed ranks are so small that together they are no likelier than that."""
    chances = np.ones(1)
    for rank in range(1, count + 1):
        nothing = np.zeros(rank)
        chances = (np.append(chances, nothing) + np.append(nothing, chances)) / 2
    return int(np.searchsorted(np.cumsum(chances), tail, "right"))


def correlation(new: Mapping[int, float], old: Mapping[int, float]) -> float | None:
    """Of each round's ratio with the next one's: how far the rounds repeat each other."""
    differences = _differences(new, old)
    differences -= differences.mean() if len(differences) else 0.0
    squares = float(differences @ differences)
    return float(differences[1:] @ differences[:-1]) / squares if squares else None


def independent_ratio(new: Floats, old: Floats, seed: int) -> Ratio | None:
    """The ratio of the medians of independent starts of two runs; None where there is none."""
    if not (len(new) and len(old) and np.median(old)):
        return None
    value = float(np.median(new) / np.median(old))
    count = min(len(new), len(old))
    if count < FEWEST_STARTS:
        return Ratio(value)
    random = np.random.default_rng(seed)
    one, other = (
        np.median(starts[random.integers(0, len(starts), (_RESAMPLES, len(starts)))], axis=1)
        for starts in (new, old)
    )
    return Ratio(value, *_both_intervals(one / other, count)) if other.all() else None


def judge(ratio: Ratio | None, margin: float) -> Verdict:
    """The verdict from the ratio's intervals.

    `margin` is the difference that matters: 0.02 calls two backends different when the whole
    interval lies more than 2 % away from the baseline, and the same when that of "same" lies
    wholly nearer.
    """
    if ratio is None or ratio.interval is None or ratio.of_same is None:
        return "ambiguous"
    if ratio.interval.high < 1 / (1 + margin):
        return "faster"
    if ratio.interval.low > 1 + margin:
        return "slower"
    if ratio.of_same.low >= 1 / (1 + margin) and ratio.of_same.high <= 1 + margin:
        return "same"
    return "ambiguous"


def starts_to_decide(ratio: Ratio, margin: float) -> float:
    """About how many starts a verdict needs where the ratio and the scatter stay as they are."""
    if ratio.interval is None or ratio.of_same is None:
        return FEWEST_STARTS
    away = abs(log(ratio.value)) - log1p(margin)
    low, high = ratio.interval if away > 0 else ratio.of_same
    towards_one = log(ratio.value / low) if ratio.value > 1 else log(high / ratio.value)
    from_one = log(high / ratio.value) if ratio.value > 1 else log(ratio.value / low)
    reach = towards_one if away > 0 else from_one
    return ratio.starts * (reach / away) ** 2 if away else inf


def spread(values: Sequence[float] | Floats) -> float:
    """The interquartile range relative to the median."""
    low, middle, high = np.percentile(values, (25, 50, 75))
    return float((high - low) / middle) if middle else 0.0


def two_modes(values: Sequence[float] | Floats) -> tuple[Floats, Floats] | None:
    """The two separate clusters of the starts; None where there is one.

    Each cluster has a quarter of at least fifteen starts; the gap is 3 % wide, and the means differ
    by seven times the scatter, which happens in less than 1 % of runs with a single cluster.
    """
    values = np.sort(np.asarray(values, np.float64))
    if len(values) < _FEWEST_FOR_MODES:
        return None
    least = ceil(_SHARE_OF_A_MODE * len(values))
    splits = range(least, len(values) - least + 1)
    low, high = max(((values[:n], values[n:]) for n in splits), key=lambda pair: _separation(*pair))
    separate = _separation(low, high) > _LEAST_SEPARATION and high[0] > low[-1] * (1 + _GAP)
    return (low, high) if separate else None


def _separation(low: Floats, high: Floats) -> float:
    """The distance of the means divided by the scatter within the modes."""
    within = ((low.var(ddof=1) + high.var(ddof=1)) / 2) ** 0.5
    distance = float(high.mean() - low.mean())
    return distance / float(within) if within else inf if distance else 0.0


def _both_intervals(estimates: Floats, count: int) -> tuple[Interval, Interval]:
    """With CONFIDENCE, and that of "same"."""
    same = _expanded_interval(estimates, count, of_same(CONFIDENCE))
    return _expanded_interval(estimates, count), same


def _expanded_interval(estimates: Floats, count: int, confidence: float = CONFIDENCE) -> Interval:
    """The percentile interval of the estimates, widened where few values gave them."""
    expanded = (count / (count - 1)) ** 0.5 * _student_t((1 + confidence) / 2, count - 1)
    tail = NormalDist().cdf(-expanded)
    low, high = np.quantile(estimates, (tail, 1 - tail))
    return Interval(float(low), float(high))


def _student_t(probability: float, freedom: int) -> float:
    """Student's t quantile by its expansion around the normal one; to 0.1 % from five degrees."""
    z = NormalDist().inv_cdf(probability)
    return float(
        z
        + (z**3 + z) / (4 * freedom)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
        + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * freedom**4)
    )
