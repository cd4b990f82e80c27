"""A result thinned to be shared: few times for each block, with unchanged figures.

The printed percentiles over all counting calls of a backend divide its calls into cells. For each
block the file keeps the number of its calls in each cell, and one time in that cell for all of
them, chosen so that the sum of all stays the same. The percentiles, and the block's own median, are
cells of their own. So each percentile, the minimum, the maximum, the mean and each start's median
stay exactly the same. Of calls at an interval, which are few, all are kept.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from .log import Log
from .model import SHARED, BackendResult, Batch, Block, Callers, Thinned, Way
from .read import settled, started_again, unsummarised

Times = NDArray[np.int64]

#: Percentiles of a backend's calls that are kept exactly: all that are printed.
KEPT = (0.0, 50.0, 90.0, 95.0, 99.0, 99.9, 100.0)
_MEDIAN = (50.0,)
_SINGLE = 0  # the key of single-image calls, where batches have their size


def thinned(log: Log) -> Log:
    """The log to share, with few times for each block in place of its calls."""
    if log.header.kind == SHARED:
        return log
    log = Log(log.header, settled(log.blocks, log.header.floor), log.end)
    rows, floor = unsummarised(log)
    paced = bool(log.header.rules.interval_s)
    edges = {
        row.name: {**_edges(row, paced=paced), **_edges_of_callers(row)}
        for row in (*rows, floor, *started_again(log))
    }
    blocks = (_block(block, edges[block.backend]) for block in log.blocks)
    return Log(replace(log.header, kind=SHARED), tuple(blocks), log.end)


def _edges_of_callers(row: BackendResult) -> dict[tuple[int, Way], set[int]]:
    """Likewise, by the callers."""
    calls: dict[tuple[int, Way], list[Times]] = {}
    for block in row.blocks:
        for one in block.callers:
            calls.setdefault((one.number, one.way), []).append(one.calls_ns)
    return {key: _values(np.concatenate(own), KEPT) for key, own in calls.items()}


def _edges(row: BackendResult, *, paced: bool) -> dict[int, set[int]]:
    """The times of a backend that are kept, by the images in a call."""
    blocks = row.starts if paced else row.blocks
    calls = [np.empty(0, np.int64), *(block.calls_ns for block in blocks)]
    batches = {batch.size: _values(batch.calls_ns, _MEDIAN) for batch in row.batches}
    every = np.concatenate(calls)
    return batches | {_SINGLE: set(every.tolist()) if paced else _values(every, KEPT)}


def _block(block: Block, edges: Mapping[Any, set[int]]) -> Block:
    calls = block.calls_ns
    return replace(
        block,
        samples_ns=(),
        thinned_ns=_cells(calls, edges[_SINGLE] | _values(calls, _MEDIAN)),
        quarters_ns=block.first_and_last_ns,
        batches=tuple(_thinned(batch, edges.get(batch.size, set())) for batch in block.batches),
        callers=tuple(
            _thinned(one, edges.get((one.number, one.way), set())) for one in block.callers
        ),
    )


Timed = TypeVar("Timed", Batch, Callers)


def _thinned(timed: Timed, edges: set[int]) -> Timed:
    return replace(timed, samples_ns=(), thinned_ns=_cells(timed.calls_ns, edges))


def _values(calls: Times, percents: Iterable[float]) -> set[int]:
    """The calls that these percentiles are computed from: one or two each."""
    if not len(calls):
        return set()
    wanted = list(percents)
    below = np.percentile(calls, wanted, method="lower")
    above = np.percentile(calls, wanted, method="higher")
    return {int(ns) for ns in (*below, *above)}


def _cells(calls: Times, edges: set[int]) -> Thinned:
    """The time in place of the calls in each cell, and the number of these calls.

    A cell's time is its mean in whole nanoseconds. Some means are rounded up, so that the sum of
    all calls stays exact; the last cell may have two times for that.
    """
    ordered, between = np.sort(calls), np.array(sorted(edges), np.int64)
    cell = np.searchsorted(between, ordered, "left") + np.searchsorted(between, ordered, "right")
    inside = [ordered[cell == number] for number in np.unique(cell)]
    means = [divmod(int(one.sum()), len(one)) for one in inside]
    missing = sum(above for _, above in means)
    kept: list[tuple[int, int]] = []
    split: int | None = None
    for (mean, above), count in zip(means, map(len, inside), strict=True):
        up = bool(above) and count <= missing
        if above and not up:
            split = len(kept)
        kept.append((mean + up, count))
        missing -= count * up
    if missing and split is not None:
        mean, count = kept[split]
        kept[split : split + 1] = [(mean, count - missing), (mean + 1, missing)]
    return tuple(kept)
