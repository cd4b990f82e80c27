"""What a reader must know before believing a result: what disturbed it, and what to do about it."""

from collections.abc import Iterator

import numpy as np

from ..results import Result, RungResult
from .statistics import FEWEST_STARTS, by_start, spread

# What a quiet machine stays under.
_STEAL = 0.02
_OTHER = 0.03
_PREEMPTED_PER_S = 20
_CLOCK_CHANGE = 0.05
_UNSTABLE = 0.10
_WARMING = 0.05
_SPINNING = 0.05
_NEAR_FLOOR = 0.10


def remarks(result: Result) -> Iterator[str]:
    """Warnings, the gravest first, each a sentence that ends with what to do."""
    yield from _of_the_run(result)
    yield from _of_the_machine(result)
    for rung in result.rungs:
        if rung.status == "ok" and rung.turns:
            yield from _of_a_rung(rung, result)


def _of_the_run(result: Result) -> Iterator[str]:
    rules = result.rules
    if result.ended == "interrupted":
        yield f"the run was interrupted after {len(result.order)} rounds; what it measured is here"
    if rules.baseline and result.rung(rules.baseline).status != "ok":
        yield f"the baseline {rules.baseline} did not run, so there are no ratios; choose another"
    starts = -(-len(result.order) // rules.rounds_a_start)
    if 0 < starts < FEWEST_STARTS:
        yield (
            f"{starts} starts of the workers are too few for intervals, and every verdict is "
            f"ambiguous; give a --budget or --rounds that allows {FEWEST_STARTS}"
        )
    if not rules.worker_cores:
        yield "this system cannot pin processes to cores, so they may have moved while timed"
    elif len(rules.worker_cores) < rules.threads:
        yield (
            f"{rules.threads} threads share {len(rules.worker_cores)} cores: figures are of an "
            f"overloaded machine; give --threads {len(rules.worker_cores)} or fewer"
        )


def _of_the_machine(result: Result) -> Iterator[str]:
    seen, cores = result.disturbance, _spell(result.rules.worker_cores)
    if seen.steal_share is not None and seen.steal_share > _STEAL:
        yield (
            f"the hypervisor took {seen.steal_share:.0%} of {cores} while rungs were timed "
            "(steal), so tails are too long; repeat on a machine with dedicated cores"
        )
    if seen.other_share is not None and seen.other_share > _OTHER:
        yield (
            f"other processes used {seen.other_share:.0%} of {cores} while rungs were timed, so "
            "tails are too long; close them and repeat"
        )
    timed_s = sum(t.wall_ns for rung in result.rungs for t in rung.turns) / 1e9
    preempted = sum(t.preempted for rung in result.rungs for t in rung.turns)
    if timed_s and preempted / timed_s > _PREEMPTED_PER_S:
        yield (
            f"rungs lost their core {preempted} times in {timed_s:.1f} s of timing; close what "
            "else runs, or give them a core that nothing else uses (isolcpus)"
        )
    if seen.load_before is not None and seen.load_before > _free_cores(result):
        yield (
            f"the machine was busy before the run began (load {seen.load_before:.1f}); "
            "wait until it is idle and repeat"
        )
    if seen.mhz_low and seen.mhz_high and seen.mhz_high > seen.mhz_low * (1 + _CLOCK_CHANGE):
        yield (
            f"the clock moved between {seen.mhz_low:.0f} and {seen.mhz_high:.0f} MHz; fix it "
            "(cpupower frequency-set -g performance), or read the ratios rather than the times"
        )


def _of_a_rung(rung: RungResult, result: Result) -> Iterator[str]:
    rounds = {turn.round: float(np.median(turn.samples_ns)) for turn in rung.turns}
    starts = by_start(rounds, result.rules.rounds_a_start)
    if len(starts) >= FEWEST_STARTS and (apart := spread(starts)) > _UNSTABLE:
        yield (
            f"{rung.name} is unstable: from one start to the next its median moves by {apart:.0%} "
            "(quartiles); read its interval, and narrow it with a longer --budget"
        )
    if len(rung.cold_starts) == 1 < len(starts):
        yield (
            f"{rung.name} was started only once since that takes {rung.cold_start_s:.1f} s, so "
            "its interval leaves out what differs between processes; compare several runs"
        )
    if (gain := _warming(rung)) > _WARMING:
        yield (
            f"{rung.name} was still getting faster within its turns (by {gain:.0%}); its figures "
            "are pessimistic, so give a longer --budget, which makes turns longer"
        )
    resources, threads = rung.resources, result.rules.threads
    if resources and resources.threads_running and resources.threads_running > threads:
        yield (
            f"{rung.name} ran {resources.threads_running} threads although {threads} was asked "
            "for; it disregards the count, so compare it with care"
        )
    if resources and resources.idle_share > _SPINNING:
        yield (
            f"{rung.name} used {resources.idle_share:.0%} of a core between its turns, which "
            "disturbs the others (spinning threads); set OMP_WAIT_POLICY=passive"
        )
    floor = result.floor.summary.p50_us if result.floor and result.floor.summary else None
    p50 = rung.summary.p50_us if rung.summary else None
    if floor and p50 and floor > _NEAR_FLOOR * p50:
        yield (
            f"{floor / p50:.0%} of what {rung.name} shows is the harness itself (an empty rung "
            f"takes {floor:.2f} us); take it off before comparing"
        )


def _warming(rung: RungResult) -> float:
    """How much faster the last quarter of a turn is than the first, over the turns."""
    gains = []
    for turn in rung.turns:
        quarter = len(turn.samples_ns) // 4
        if quarter:
            first, last = turn.samples_ns[:quarter], turn.samples_ns[-quarter:]
            gains.append(float(np.median(first) / np.median(last)) - 1)
    return float(np.median(gains)) if len(gains) >= FEWEST_STARTS else 0.0


def _free_cores(result: Result) -> int:
    """Those that a load may take without disturbing anyone."""
    return len(set(result.rules.worker_cores) | set(result.rules.parent_cores)) or 1


def _spell(cores: tuple[int, ...]) -> str:
    numbers = ", ".join(map(str, cores))
    return f"core {numbers}" if len(cores) == 1 else f"cores {numbers}"
