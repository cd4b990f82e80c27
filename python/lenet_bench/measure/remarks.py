"""What a reader must know before believing a result: what disturbed it, and what to do about it."""

from collections.abc import Callable, Iterator, Sequence
from statistics import median_low

import numpy as np

from ..numerals import counted
from ..results import Result, RungResult
from .medians import times_by_start
from .schedule import RESTARTED_S
from .statistics import FEWEST_STARTS, spread

# What a quiet machine stays under.
_STEAL = 0.02
_OTHER = 0.03
_PREEMPTED_PER_S = 20
_CLOCK_CHANGE = 0.05
_UNSTABLE = 0.10
_WARMING = 0.05
_SPINNING = 0.05
_NEAR_FLOOR = 0.10

_NAMED = 4  # of the rungs that a warning is of, the worst; the result file has the others' figures


def remarks(result: Result) -> Iterator[str]:
    """Warnings, the gravest first, each a sentence that ends with what to do.

    What several rungs have in common is one sentence that names them.
    """
    yield from _of_the_run(result)
    yield from _of_the_machine(result)
    yield from _of_the_rungs([r for r in result.rungs if r.status == "ok" and r.turns], result)


def _of_the_run(result: Result) -> Iterator[str]:
    rules = result.rules
    if result.ended == "interrupted":
        rounds = counted(len(result.order), "round")
        yield f"the run was interrupted after {rounds}; what it measured is here"
    if rules.baseline and result.rung(rules.baseline).status != "ok":
        yield f"the baseline {rules.baseline} did not run, so there are no ratios; choose another"
    if len(rules.groups) > 1:
        bridge = set.intersection(*map(set, rules.groups))
        yield (
            f"memory is too small for all rungs at once, so they ran in {len(rules.groups)} groups"
            f"{''.join(f', {name} in each' for name in bridge)}: across groups compare ratios "
            "rather than times, or free some memory, or name fewer rungs"
        )
    starts = -(-len(result.order) // rules.rounds_a_start)
    if 0 < starts < FEWEST_STARTS:
        yield (
            f"an interval needs {FEWEST_STARTS} starts of the workers and this run had "
            f"{starts}, so every verdict is ambiguous; name fewer rungs, or give a longer --budget "
            "or more --rounds"
        )
    if not rules.worker_cores:
        yield "this system cannot pin processes to cores, so they may have moved while timed"
    elif (cores := len(rules.worker_cores)) < rules.threads:
        yield (
            f"{rules.threads} threads share {counted(cores, 'core')}: figures are of an overloaded "
            f"machine; give --threads {cores} or fewer"
        )


def _of_the_machine(result: Result) -> Iterator[str]:
    seen, cores = result.disturbance, _spell(result.rules.worker_cores)
    if seen.steal_share is not None and seen.steal_share > _STEAL:
        yield (
            f"the hypervisor took {seen.steal_share:.0%} of {cores} while rungs were timed "
            "(steal), so tails are too long; repeat on a machine with dedicated cores"
        )
    if busy := list(_busy(result, cores)):
        yield (
            f"{'; '.join(busy)}: tails are too long, so close what else runs, or give the rungs a "
            "core that nothing else uses (isolcpus), and repeat"
        )
    if seen.mhz_low and seen.mhz_high and seen.mhz_high > seen.mhz_low * (1 + _CLOCK_CHANGE):
        yield (
            f"the clock moved between {seen.mhz_low:.0f} and {seen.mhz_high:.0f} MHz; fix it "
            "(cpupower frequency-set -g performance), or read the ratios rather than the times"
        )


def _busy(result: Result, cores: str) -> Iterator[str]:
    """The signs that the rungs had to share their cores."""
    seen = result.disturbance
    if seen.load_before is not None and seen.load_before > _free_cores(result):
        yield f"the machine was busy before the run began (load {seen.load_before:.1f})"
    if seen.other_share is not None and seen.other_share > _OTHER:
        yield f"other processes used {seen.other_share:.0%} of {cores} while rungs were timed"
    lost = [_preempted_per_s(rung) for rung in result.rungs if rung.turns]
    if lost and median_low(lost) > _PREEMPTED_PER_S:  # others fall on all alike, own threads do not
        yield f"rungs lost their core {median_low(lost):.0f} times a second while they were timed"


def _preempted_per_s(rung: RungResult) -> float:
    return sum(t.preempted for t in rung.turns) / sum(t.wall_ns for t in rung.turns) * 1e9


def _of_the_rungs(rungs: Sequence[RungResult], result: Result) -> Iterator[str]:
    threads = result.rules.threads
    floor = result.floor.summary.p50_us if result.floor and result.floor.summary else None
    if found := _those(rungs, lambda rung: _moves(rung, result), _UNSTABLE, "{:.0%}"):
        yield (
            f"unstable, the median moves from one start to the next (quartiles): {found}; "
            "read the interval, and narrow it with a longer --budget"
        )
    if found := _those(rungs, lambda rung: _start_s(rung, result), 0.0, "{:.1f} s"):
        few = 1 + result.rules.restarts
        yield (
            f"started only {'once' if few == 1 else f'{few} times'}, since that takes over "
            f"{RESTARTED_S:g} s: {found}; the interval leaves out some of what differs between "
            f"processes, so give a longer --budget, or --restarts {FEWEST_STARTS - 1}"
        )
    if found := _those(rungs, _warming, _WARMING, "by {:.0%}"):
        yield (
            f"still getting faster within their turns: {found}; these figures are pessimistic, so "
            "give a longer --budget, which makes turns longer"
        )
    if found := _those(rungs, _threads, threads, "{:.0f}"):
        yield (f"ran more threads than the {threads} asked for: {found}; {_shared(result)}")
    if found := _those(rungs, _idle_share, _SPINNING, "{:.0%} of a core"):
        yield (
            f"at work between their turns, which disturbs the others (spinning threads): {found}; "
            "set OMP_WAIT_POLICY=passive"
        )
    if floor and (found := _those(rungs, lambda r: floor / _p50(r), _NEAR_FLOOR, "{:.0%}")):
        yield (
            f"much of what these show is the harness itself (an empty rung takes {floor:.2f} us): "
            f"{found}; take it off before comparing"
        )


def _those(
    rungs: Sequence[RungResult], figure: Callable[[RungResult], float], most: float, spelt: str
) -> str:
    """The rungs whose figure is above the most that is right, the worst first: torch (1.9 s)."""
    figures = {rung.name: figure(rung) for rung in rungs}
    worst = sorted((name for name in figures if figures[name] > most), key=lambda n: -figures[n])
    named = [f"{name} ({spelt.format(figures[name])})" for name in worst]
    if len(named) > _NAMED + 1:  # one more takes as much room as "and 1 more"
        return f"{', '.join(named[:_NAMED])} and {len(named) - _NAMED} more"
    return ", ".join(named)


def _moves(rung: RungResult, result: Result) -> float:
    """How far apart its starts are."""
    medians = times_by_start(rung.turns, result.rules.rounds_a_start)
    return spread(medians) if len(medians) >= FEWEST_STARTS else 0.0


def _start_s(rung: RungResult, result: Result) -> float:
    """What a start took; 0 where it was started often enough, or as often as the others."""
    others = -(-len(rung.turns) // result.rules.rounds_a_start)
    few = len(rung.cold_starts) < min(FEWEST_STARTS, others)
    return rung.cold_start_s or 0.0 if few else 0.0


def _threads(rung: RungResult) -> float:
    return (rung.resources and rung.resources.threads_running) or 0


def _shared(result: Result) -> str:
    """What more threads mean: on a pinned core they take turns, a graph and its caller."""
    if cores := result.rules.worker_cores:
        return (
            f"they share {_spell(cores)}, so a call may include the hand-over from thread to "
            "thread: take it as part of what the API costs"
        )
    return "they may have used more cores than the others, so compare them with care"


def _idle_share(rung: RungResult) -> float:
    return rung.resources.idle_share if rung.resources else 0.0


def _p50(rung: RungResult) -> float:
    return (rung.summary and rung.summary.p50_us) or float("inf")


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
