"""One backend of a result beside another, as tables have it."""

from lenet_bench.results import BackendResult, Result, start_medians_us
from lenet_bench.results.statistics import UNBOUNDED, judge, ratio_interval
from lenet_bench.units import interval, ratio, time


def compared(one: BackendResult, other: BackendResult, result: Result) -> tuple[list[str], str]:
    """Both medians, the other's over the one's and the interval of that; and the verdict."""
    us, other_us = one.p50_us, other.p50_us
    starts, other_starts = (start_medians_us(row.blocks) for row in (one, other))
    found = ratio_interval(other_starts, starts, result.rules.seed)
    of_both = other_us / us if us and other_us else None
    cells = [time(us), time(other_us), ratio(of_both), interval(*(found or UNBOUNDED))]
    return cells, judge(found, result.rules.margin)
