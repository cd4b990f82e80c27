"""A comparison's tables as text, the same in a terminal and in Markdown."""

from collections.abc import Iterator

from .. import units
from ..registry import precision
from ..results import Result, Row
from .sentences import by_precision


def cells(one: Row) -> dict[str, str]:
    """A timed backend's figures by the title of their column; a ratio only beside its median."""
    s = one.summary
    assert s is not None
    known = s.p50_us is not None
    baseline = s.verdict == "baseline"
    memory = one.resources.peak_rss_mib if one.resources else None
    return {
        "p50": units.time(s.p50_us),
        "p90": units.time(s.p90_us),
        "p99": units.time(s.p99_us),
        "ratio": units.ratio(s.ratio) if known else units.NONE,
        "95 % interval": units.interval(s.ratio_low, s.ratio_high)
        if known and not baseline
        else units.NONE,
        "verdict": (s.verdict or units.NONE) if known else units.NONE,
        "cold start": units.seconds(one.cold_start_s),
        "memory": units.mebibytes(memory),
        "lines": units.count(one.lines_of_code),
    }


def reduced_cells(one: Row) -> dict[str, str]:
    """The same for backends with less than float32, with the error of their answers."""
    found = cells(one)
    off = units.NONE if one.difference is None else f"{one.difference:.1e}"
    return {"computes in": precision(one.name), "off by": off, **found}


def rates(result: Result) -> list[tuple[str, ...]]:
    """Images a second: titles and a row a backend, the quickest first, those in less than float32
    after all others; nothing without batches.
    """
    found = [one for one in result.backends if one.batches or one.batch_refusals]
    if not found:
        return []
    sizes = result.rules.batches
    quickest = sorted(found, key=lambda one: -max(_rates(one).values(), default=0.0))
    full, reduced = by_precision(quickest)
    return [
        ("backend", "computes in", "best images/s", "at batch", *map(str, sizes)),
        *(
            (
                one.name,
                precision(one.name),
                units.count(max(_rates(one).values(), default=None)),
                str(max(_rates(one), key=_rates(one).__getitem__, default=units.NONE)),
                *(units.count(_rates(one).get(size)) for size in sizes),
            )
            for one in (*full, *reduced)
        ),
    ]


def refusals(result: Result) -> Iterator[str]:
    """The batches that a backend could not take, and why."""
    for one in result.backends:
        for size, reason in one.batch_refusals.items():
            yield f"{one.name}: no batch of {size}: {reason}"


def _rates(one: Row) -> dict[int, float]:
    return {batch.size: batch.images_per_s for batch in one.batches}
