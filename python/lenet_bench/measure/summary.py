"""From raw samples to what may be said: each rung's percentiles, ratio, interval and verdict."""

from dataclasses import replace

import numpy as np

from ..results import Result, RungResult, Summary, Verdict
from .medians import ratios_by_start, times_by_start
from .remarks import remarks
from .statistics import Interval, judge, median_interval, percentile


def summarise(result: Result) -> Result:
    """The same result with every figure, verdict and warning worked out anew from its samples."""
    baseline = _baseline(result)
    base = result.rung(baseline) if baseline else None
    rungs = tuple(_summarised(rung, result, base) for rung in result.rungs)
    floor = _summarised(result.floor, result, None) if result.floor else None
    done = replace(result, rungs=rungs, floor=floor)
    return replace(done, warnings=tuple(remarks(done)))


def _baseline(result: Result) -> str | None:
    """The rung that was asked for, else the first that ran; None where that one did not."""
    ran = [rung.name for rung in result.rungs if rung.status == "ok" and rung.turns]
    if result.rules.baseline is not None:
        return result.rules.baseline if result.rules.baseline in ran else None
    return ran[0] if ran else None


def _summarised(rung: RungResult, result: Result, base: RungResult | None) -> RungResult:
    if not rung.turns:
        return replace(rung, summary=None)
    samples = np.concatenate([turn.samples_ns for turn in rung.turns]) / 1000
    rules = result.rules
    middle = median_interval(times_by_start(rung.turns, rules.rounds_a_start), rules.seed)
    of_starts = ratios_by_start(rung, base, rules.rounds_a_start) if base else ()
    interval = median_interval(of_starts, rules.seed)
    if base and rung.name == base.name:
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
        ratio=float(np.median(of_starts)) if len(of_starts) else None,
        ratio_low=interval.low if interval else None,
        ratio_high=interval.high if interval else None,
        verdict=_verdict(rung, base, interval, rules.margin),
    )
    return replace(rung, summary=summary)


def _verdict(
    rung: RungResult, base: RungResult | None, interval: Interval | None, margin: float
) -> Verdict | None:
    if base is None or rung.status != "ok":
        return None
    return "baseline" if rung.name == base.name else judge(interval, margin)
