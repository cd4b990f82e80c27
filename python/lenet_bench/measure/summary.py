"""From raw samples to what may be said: each rung's percentiles, ratio, interval and verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..results import Result, RungResult, Summary, Turn, Verdict
from .remarks import remarks
from .statistics import Interval, by_start, judge, median_interval, percentile, ratios


def summarise(result: Result) -> Result:
    """The same result with every figure, verdict and warning worked out anew from its samples."""
    baseline = _baseline(result)
    base = medians_us(result.rung(baseline).turns) if baseline else {}
    rungs = tuple(_summarised(rung, result, baseline, base) for rung in result.rungs)
    floor = _summarised(result.floor, result, None, {}) if result.floor else None
    done = replace(result, rungs=rungs, floor=floor)
    return replace(done, warnings=tuple(remarks(done)))


def medians_us(turns: Sequence[Turn]) -> dict[int, float]:
    """Each round's median call."""
    return {turn.round: float(np.median(turn.samples_ns)) / 1000 for turn in turns}


def _baseline(result: Result) -> str | None:
    """The rung that was asked for, else the first that ran; None where that one did not."""
    ran = [rung.name for rung in result.rungs if rung.status == "ok" and rung.turns]
    if result.rules.baseline is not None:
        return result.rules.baseline if result.rules.baseline in ran else None
    return ran[0] if ran else None


def _summarised(
    rung: RungResult, result: Result, baseline: str | None, base: Mapping[int, float]
) -> RungResult:
    if not rung.turns:
        return replace(rung, summary=None)
    samples = np.concatenate([turn.samples_ns for turn in rung.turns]) / 1000
    medians = medians_us(rung.turns)
    rules = result.rules
    middle = median_interval(by_start(medians, rules.rounds_a_start), rules.seed)
    compared = by_start(ratios(medians, base), rules.rounds_a_start)
    interval = median_interval(compared, rules.seed)
    if rung.name == baseline:
        interval = Interval(1.0, 1.0)
    summary = Summary(
        samples=len(samples),
        rounds=len(rung.turns),
        starts=len(rung.cold_starts),
        minimum_us=float(samples.min()),
        mean_us=float(samples.mean()),
        p50_us=percentile(samples, 50),
        p90_us=percentile(samples, 90),
        p95_us=percentile(samples, 95),
        p99_us=percentile(samples, 99),
        p999_us=percentile(samples, 99.9),
        p50_low_us=middle.low if middle else None,
        p50_high_us=middle.high if middle else None,
        ratio=float(np.median(compared)) if len(compared) else None,
        ratio_low=interval.low if interval else None,
        ratio_high=interval.high if interval else None,
        verdict=_verdict(rung, baseline, interval, rules.margin),
    )
    return replace(rung, summary=summary)


def _verdict(
    rung: RungResult, baseline: str | None, interval: Interval | None, margin: float
) -> Verdict | None:
    if baseline is None or rung.status != "ok":
        return None
    return "baseline" if rung.name == baseline else judge(interval, margin)
