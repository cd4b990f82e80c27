"""From blocks to rows: figures, intervals and verdicts for each backend."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from math import ceil, inf
from statistics import fmean, geometric_mean, median
from typing import Any

import numpy as np
from msgspec import structs

from ..registry import without_threads
from ..texts import printable
from ..undisturbed import quickest, undisturbed_calls
from .log import Log, read_log
from .model import (
    BackendResult,
    Batch,
    Block,
    Callers,
    Disturbance,
    Gpu,
    Header,
    Listed,
    Result,
    Rules,
    Summary,
    Together,
    Way,
)
from .statistics import (
    FEWEST_STARTS,
    UNBOUNDED,
    Ratio,
    beside_us,
    judge,
    median_interval,
    paired_ratio,
    percentile,
    percentile_interval,
    show,
    start_medians_us,
    undisturbed,
)
from .warnings import warnings_about

_FEWEST_QUIET = 5  # with fewer quiet calls, all calls of a block count
_FEWEST_CALLS = 20  # of all blocks of a backend together, for a median
_FEWEST_BATCHES = 3
_GAIN = 0.6  # both loops decide if the starts' scatter by their number is at most so many times
_FINEST = 1e-6  # no scatter is less
DEFAULT_BASELINE = "onednn"  # the library that most frameworks call, and a steady one


def read_result(path: str | os.PathLike[str]) -> Result:
    """Read a result file; ResultError says what is wrong with it."""
    return as_result(read_log(path))


def as_result(log: Log) -> Result:
    header = log.header
    log = replace(log, blocks=settled(log.blocks, header.floor))
    rows, floor = unsummarised(log)
    base = _baseline(rows, header)
    again = started_again(log)
    last = max(log.blocks, key=lambda block: block.at_s, default=None)
    result = Result(
        schema=header.schema,
        version=header.version,
        started=header.started,
        ended=log.end.ended if log.end else "running",
        elapsed_s=log.end.elapsed_s if log.end else last.at_s + last.took_s if last else 0,
        machine=header.machine,
        rules=header.rules,
        rounds=1 + max((block.round for block in log.blocks), default=-1),
        floor=_summarised(floor, None, header),
        backends=tuple(_summarised(_beside(row, base, again), base, header) for row in rows),
        disturbance=_disturbance(log),
    )
    cut_off = ("the file's last line is incomplete and was ignored",) if log.cut_off else ()
    return replace(result, warnings=(*cut_off, *warnings_about(result)))


def settled(blocks: Sequence[Block], floor: str) -> tuple[Block, ...]:
    """Each block with the calls that count, made while the machine was quiet, and their share.

    A backend may itself slow a loop down, so the time of a quiet loop is found for each backend. It
    is the least: few of its blocks may have seen a quiet machine. Which loops decide is found for
    all of them, but for the floor: one that counts calls beside slow caches would be slower than
    one that does not.
    """
    usual: dict[str, Sequence[float]] = {}
    fewest: dict[str, int] = {}
    gains = []
    for name in {block.backend for block in blocks if block.slices}:
        own = [block for block in blocks if block.backend == name and block.slices]
        rounds = len({block.round for block in own})
        fewest[name] = max(_FEWEST_QUIET, ceil(_FEWEST_CALLS / rounds))
        usual[name] = quickest(loops for block in own for _, *loops in block.slices)
        if name != floor and rounds >= FEWEST_STARTS:
            by_both, by_first = (
                _scatter(own, usual[name][:loops], fewest[name]) for loops in (None, 1)
            )
            gains.append(by_both / by_first if by_both < inf else inf)
    loops = None if gains and geometric_mean(gains) <= _GAIN else 1
    return tuple(
        _settled(block, usual[block.backend][:loops], fewest[block.backend])
        if block.slices
        else block
        for block in blocks
    )


def _scatter(own: Sequence[Block], usual: Sequence[float], fewest: int) -> float:
    """How far the starts scatter that have calls enough, by their number."""
    calls = {block.round: _undisturbed(block, usual, fewest) for block in own}
    starts = [median(some) for some in calls.values() if some]
    if len(starts) < FEWEST_STARTS:
        return inf
    return max(float(np.std(np.log(starts))), _FINEST) / len(starts)


def _undisturbed(timed: Block | Batch, usual: Sequence[float], fewest: int) -> Sequence[int]:
    return undisturbed_calls(timed.samples_ns, timed.slices, usual, fewest)


def _settled(block: Block, usual: Sequence[float], fewest: int) -> Block:
    quiet = _undisturbed(block, usual, fewest)
    batches = (
        structs.replace(
            batch,
            samples_ns=_undisturbed(batch, usual, _FEWEST_BATCHES) or batch.samples_ns,
            slices=(),
        )
        for batch in block.batches
    )
    return structs.replace(
        block,
        samples_ns=quiet or block.samples_ns,
        slices=(),
        quiet_share=len(quiet) / (block.made or len(block.samples_ns)),
        batches=tuple(batches),
    )


def unsummarised(log: Log) -> tuple[list[BackendResult], BackendResult]:
    """From settled blocks: each backend and the empty one, with its starts that count."""
    rows = [_row(listed, log.blocks) for listed in log.header.backends]
    return rows, _row(Listed(log.header.floor), log.blocks)


def started_again(log: Log) -> list[BackendResult]:
    """The baseline as it was started again within rounds."""
    return [_row(Listed(name), log.blocks) for name in log.header.again or ()]


def _beside(
    row: BackendResult, base: BackendResult | None, again: Sequence[BackendResult]
) -> BackendResult:
    """The row, with the baseline's time near each start that counts for the two."""
    if base is None or row.name == base.name:
        return replace(row, beside_us=start_medians_us(row.blocks))
    own = (one.starts for one in again if one.name.startswith(f"{base.name} #"))
    return replace(row, beside_us=beside_us(row.starts, [*base.starts, *chain(*own)]))


def medians(log: Log) -> Iterator[tuple[BackendResult, float]]:
    """Each timed backend and its median, us, which needs no resampling."""
    rows, _ = unsummarised(replace(log, blocks=settled(log.blocks, log.header.floor)))
    for row in rows:
        p50_us = _p50_us(row)
        if row.status == "ok" and p50_us is not None:
            yield row, p50_us


def ratios(log: Log, confidence: float) -> tuple[str | None, dict[str, Ratio]]:
    """The baseline, and the ratio to it of each other backend that was timed."""
    log = replace(log, blocks=settled(log.blocks, log.header.floor))
    rows, _ = unsummarised(log)
    base = _baseline(rows, log.header)
    if base is None:
        return None, {}
    again = started_again(log)
    ran = [row for row in rows if row.status == "ok" and row.blocks and row is not base]
    return base.name, {
        row.name: paired_ratio(
            start_medians_us(row.starts), _beside(row, base, again).beside_us, confidence
        )
        for row in ran
    }


def disturbed(blocks: Sequence[Block], floor: str) -> set[int]:
    """The indices of blocks with too little quiet time."""
    return {n for n, block in enumerate(settled(blocks, floor)) if block.quiet_share == 0}


def _row(listed: Listed, every: Sequence[Block]) -> BackendResult:
    blocks = [block for block in every if block.backend == listed.name]
    if not blocks:
        return BackendResult(
            listed.name, "unmeasured", listed.device, listed.tolerance, listed.threads
        )
    last, timed = blocks[-1], _timed(blocks)
    starts = _starts(timed)
    quiet = undisturbed(starts)
    idle = [block.idle_share for block in timed if block.idle_share is not None]
    refused = {size: why for block in blocks for size, why in block.batch_refusals.items()}
    return BackendResult(
        name=listed.name,
        status=last.status,
        device=listed.device,
        tolerance=listed.tolerance,
        threads=listed.threads,
        reason=printable(last.reason) if last.reason else None,
        traceback=printable(last.traceback) if last.traceback else None,
        output=printable(last.output),
        runs=_last(block.runs for block in blocks),
        difference=_most(block.difference for block in blocks),
        cold_starts=tuple(block.cold_start for block in blocks if block.cold_start),
        threads_running=_most(block.threads_running for block in timed),
        throttled_share=_throttled_share(timed),
        gil_share=_gil_share(timed),
        idle_share=median(idle) if idle else None,
        peak_rss_mib=_most(block.peak_rss_mib for block in timed),
        gpu=_gpu(timed),
        lines_of_code=_last(block.lines_of_code for block in blocks),
        installed_mib=_last(block.installed_mib for block in blocks),
        converter_mib=_last(block.converter_mib for block in blocks),
        conversion_s=_last(block.conversion_s for block in blocks),
        file_mib=_last(block.file_mib for block in blocks),
        batches=tuple(batch for batch in _batches(timed) if str(batch.size) not in refused),
        batch_refusals={size: printable(why) for size, why in refused.items()},
        callers_refused={
            key: printable(why) for block in blocks for key, why in block.callers_refused.items()
        },
        anatomy=_last(block.anatomy for block in blocks),
        starts=tuple(starts),
        blocks=tuple(quiet if len(quiet) >= FEWEST_STARTS else starts),
        failures=sum(block.status != "ok" for block in blocks[:-1]),
    )


def _timed(blocks: Sequence[Block]) -> list[Block]:
    return [b for b in blocks if b.status == "ok" and (b.samples_ns or b.thinned_ns)]


def _starts(timed: Sequence[Block]) -> list[Block]:
    """One block for each round: among repeated ones, that with the most quiet time."""
    best: dict[int, Block] = {}
    for block in timed:
        other = best.get(block.round)
        if other is None or (block.quiet_share or 0.0) >= (other.quiet_share or 0.0):
            best[block.round] = block
    return [best[number] for number in sorted(best)]


def _baseline(rows: Sequence[BackendResult], header: Header) -> BackendResult | None:
    """The requested backend; else the default or, if that did not run, the fastest."""
    ran = {row.name: row for row in rows if row.status == "ok" and row.blocks}
    if wanted := header.rules.baseline:
        return ran.get(wanted)
    for row in ran.values():
        if without_threads(row.name) == DEFAULT_BASELINE:
            return row
    return min(
        ran.values(), key=lambda row: median(start_medians_us(row.blocks).values()), default=None
    )


def _p50_us(row: BackendResult) -> float | None:
    """The median of its starts' medians, if there are enough calls."""
    enough = show(sum(block.calls for block in row.blocks), 50)
    return median(start_medians_us(row.blocks).values()) if enough else None


def _ratio_to(row: BackendResult, base: BackendResult, confidence: float) -> Ratio | None:
    """The ratio to the baseline; None where they share no round, or have no median."""
    if _p50_us(row) is None or not _p50_us(base) or not row.beside_us:
        return None
    return paired_ratio(start_medians_us(row.starts), row.beside_us, confidence)


def _summarised(row: BackendResult, base: BackendResult | None, header: Header) -> BackendResult:
    if not row.blocks:
        return row
    rules = header.rules
    calls_ns = np.concatenate([block.calls_ns for block in row.blocks])
    samples = calls_ns / 1000
    medians_us = list(start_medians_us(row.blocks).values())
    low, high = median_interval(medians_us, rules.seed) or UNBOUNDED
    ratio = _ratio_to(row, base, rules.confidence) if base else None
    ratio_low, ratio_high = ratio.bounds if ratio else UNBOUNDED
    verdict = judge(ratio, rules.margin) if ratio_low and row.status == "ok" else None
    paced = _paced(row.blocks, rules, within_s) if (within_s := rules.paced_within_s) else {}
    summary = Summary(
        samples=len(samples),
        rounds=len(row.blocks),
        starts=len(row.blocks),
        minimum_us=float(samples.min()),
        mean_us=float(calls_ns.mean()) / 1000,
        p50_us=_p50_us(row),
        p90_us=percentile(samples, 90),
        p95_us=percentile(samples, 95),
        p99_us=percentile(samples, 99),
        p999_us=percentile(samples, 99.9),
        p50_low_us=low,
        p50_high_us=high,
        ratio=ratio.value if ratio else None,
        ratio_low=ratio_low,
        ratio_high=ratio_high,
        verdict="baseline" if base and row.name == base.name else verdict,
        **paced,
    )
    return replace(row, summary=summary, together=tuple(_together(row)))


def _together(row: BackendResult) -> Iterator[Together]:
    """What several callers get; the gain is over one, whichever way that one was timed."""
    found: dict[tuple[int, Way], dict[int, Callers]] = {}
    for block in row.blocks:
        for one in block.callers:
            found.setdefault((one.number, one.way), {})[block.round] = one
    rates = {key: {n: one.calls_per_s for n, one in own.items()} for key, own in found.items()}
    alone = next((rates[key] for key in sorted(rates) if key[0] == 1), None)
    for (number, way), own in sorted(found.items()):
        if f"{number} {way}" in row.callers_refused:
            continue
        rate = median(rates[number, way].values())
        gain = paired_ratio(rates[number, way], alone) if alone else None
        low, high = gain.bounds if gain else UNBOUNDED
        calls_us = np.concatenate([one.calls_ns for one in own.values()]) / 1000
        yield Together(
            number,
            way,
            rate,
            percentile(calls_us, 50),
            percentile(calls_us, 99),
            gain.value if gain else None,
            low,
            high,
            _most(one.rss_mib for one in own.values()),
        )


def _paced(blocks: Sequence[Block], rules: Rules, within_s: float) -> dict[str, float | None]:
    """What else is said of calls at an interval."""
    starts = [block.calls_ns for block in blocks]
    calls_ns = np.concatenate(starts)
    low, high = percentile_interval(starts, 99, rules.seed) or UNBOUNDED
    limits_s = {"deadline": within_s, "1ms": 0.001, "5ms": 0.005, "20ms": 0.02}
    over = {f"over_{name}": float((calls_ns > s * 1e9).mean()) for name, s in limits_s.items()}
    return {"p99_low_us": low and low / 1000, "p99_high_us": high and high / 1000, **over}


def _gpu(timed: Sequence[Block]) -> Gpu | None:
    """Means over the blocks; clocks from the first to the last."""
    seen = [block.gpu for block in timed if block.gpu]
    if not seen:
        return None
    watts = [gpu.power_w for gpu in seen if gpu.power_w is not None]
    energy = [gpu.energy_mj for gpu in seen if gpu.energy_mj is not None]
    return Gpu(
        seen[-1].name,
        memory_mib=seen[-1].memory_mib,
        power_w=fmean(watts) if watts else None,
        energy_mj=fmean(energy) if len(energy) == len(seen) else None,
        mhz_before=seen[0].mhz_before,
        mhz_after=seen[-1].mhz_after,
        profile_us=_last(gpu.profile_us for gpu in seen),
    )


def _gil_share(timed: Sequence[Block]) -> float | None:
    """Of all moments at which the GIL was asked for, those at which it was held."""
    seen = [block.gil for block in timed if block.gil]
    return sum(one.held for one in seen) / sum(one.asked for one in seen) if seen else None


def _throttled_share(timed: Sequence[Block]) -> float | None:
    seen = [block.throttled for block in timed if block.throttled]
    periods = sum(one.periods for one in seen)
    return sum(one.throttled for one in seen) / periods if periods else None


def _batches(timed: Sequence[Block]) -> list[Batch]:
    samples: dict[int, list[int]] = {}
    for block in timed:
        for batch in block.batches:
            samples.setdefault(batch.size, []).extend(batch.calls_ns.tolist())
    return [Batch(size, tuple(samples[size])) for size in sorted(samples) if samples[size]]


def _disturbance(log: Log) -> Disturbance:
    """The disturbances, from settled blocks."""
    timed = [b for b in log.blocks if b.calls and b.backend != log.header.floor]
    clocks = [block.mhz for block in timed if block.mhz is not None]
    load = log.header.machine.load
    return Disturbance(
        steal_share=_mean_share(timed, lambda block: block.steal_share),
        other_share=_mean_share(timed, lambda block: block.other_share),
        load_before=load[0] if load else None,
        mhz_low=min(clocks, default=None),
        mhz_high=max(clocks, default=None),
        quiet_share=_mean_share(timed, lambda block: block.quiet_share),
        disturbed=sum(block.quiet_share == 0 for block in timed),
        repeated=len(timed) - len({(block.backend, block.round) for block in timed}),
        blocks=len(timed),
    )


def _mean_share(timed: Sequence[Block], share: Callable[[Block], float | None]) -> float | None:
    """Mean over the blocks, weighted by their timed spans."""
    known = [(s, block.wall_ns) for block in timed if (s := share(block)) is not None]
    total = sum(wall for _, wall in known)
    return sum(s * wall for s, wall in known) / total if total else None


def _last(values: Iterable[Any]) -> Any:
    return next((value for value in reversed(list(values)) if value is not None), None)


def _most(values: Iterable[Any]) -> Any:
    return max((value for value in values if value is not None), default=None)
