"""Warnings about a result: what disturbed it, and what to do about it."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import ceil, inf
from statistics import median_low

import numpy as np

from ..units import counted, named_cores, percent, time
from .machine import HARMLESS
from .model import BackendResult, Disturbance, Result
from .statistics import (
    DECIDED,
    FEWEST_STARTS,
    UNBOUNDED,
    correlation,
    fewest,
    paired_ratio,
    show,
    spread,
    start_medians_us,
    starts_to_decide,
    two_modes,
)

# Limits: a quiet machine is above the first and below the rest.
_QUIET = 0.9  # of the timed time
_STEAL = 0.02
_OTHER = 0.03
_PREEMPTED_PER_S = 20
_CLOCK_CHANGE = 0.05
_UNSTABLE = 0.10
_WARMING = 0.05
_SPINNING = 0.05
_NEAR_FLOOR = 0.10
_MISSED = 0.02  # of the calls at an interval; a block may lack its last
_REPEATING = 0.3  # a correlation, where it is also beyond chance
_MANY = 1000
_SCATTERING = 0.002  # an interval that is too narrow by half does not matter below

#: What ends the spinning of an API's idle threads, as results/production shows.
REMEDIES = {
    "numpy": "; set OPENBLAS_THREAD_TIMEOUT=4",
    "onnxruntime": "; set session.intra_op.allow_spinning to 0, since it ignores OMP_WAIT_POLICY",
    "torch": "; set OMP_WAIT_POLICY=passive",
}
_ONE_THREAD = "; with --threads 1 no API that was measured does so"

_UNFINISHED = {
    "interrupted": "the run was interrupted",
    "running": "the run has not ended, or was killed",
}

_NAMED = 4  # a warning names the worst backends; the file has the figures of all


def warnings_about(result: Result) -> Iterator[str]:
    """Warnings, the gravest first, each a sentence that ends with what to do.

    One sentence names all backends that it is about.
    """
    timed = [row for row in result.backends if row.status == "ok" and row.blocks]
    yield from _of_the_run(result, timed)
    if timed:
        yield from _of_the_machine(result)
        yield from _of_the_backends(timed, result)


def _of_the_run(result: Result, timed: Sequence[BackendResult]) -> Iterator[str]:
    rules = result.rules
    if ended := _UNFINISHED.get(result.ended):
        yield f"{ended}; the same command with -o and its file goes on with it"
    if not timed and any(row.status == "unmeasured" for row in result.backends):
        if rules.budget_s and result.ended != "interrupted":
            yield (
                f"the budget of {rules.budget_s:g} s ended before anything was timed; give a "
                "longer one (--budget)"
            )
    elif rules.baseline and result.backend(rules.baseline).status != "ok":
        did = "failed in its last start" if result.backend(rules.baseline).starts else "did not run"
        yield f"the baseline {rules.baseline} {did}, so there are no ratios; choose another"
    if few := [row for row in timed if len(row.blocks) < FEWEST_STARTS]:
        what = "an interval" if rules.apart else "a verdict"
        waiting = any(row.status == "unmeasured" for row in result.backends)
        everyone = len(few) == len(timed) and not waiting
        yield _too_few(few, what, everyone=everyone, advice=_longer(result))
    if rules.interval_s and (calls := _without_p99(timed)):
        named = _listed({name: f"{count:,}" for name, count in calls.items()})
        long_s = needed_s(result)
        advice = f", which take {long_s} s (--budget {long_s}s)" if long_s else ""
        yield f"too few calls for a p99: {named}; {fewest(99):,} are needed{advice}"
    if result.ended != "decided" and (near := _near(timed, result)):
        said = {name: _about(starts) for name, starts in near.items()}
        yield f"without a verdict: {_listed(said)}; measure longer ({_until_decided(near, result)})"
    if failed := [row.name for row in timed if row.failures]:
        yield (
            f"failed once, then ran: {', '.join(failed)}; the result file has each failed block "
            "with its reason"
        )
    if not rules.worker_cores:
        yield "this system cannot pin processes to cores, so backends may have moved between them"
    elif (cores := len(rules.worker_cores)) < rules.threads:
        yield (
            f"{rules.threads} threads share {counted(cores, 'core')} and wait for each other; "
            f"give --threads {cores} or fewer"
        )


def _near(timed: Sequence[BackendResult], result: Result) -> dict[str, float | None]:
    """The backends without a verdict, and about how many starts each needs in all.

    None is for a backend that was timed in too few rounds with the baseline.
    """
    found: dict[str, float | None] = {}
    for row in timed:
        verdict, starts = row.summary and row.summary.verdict, len(row.beside_us)
        if verdict == "ambiguous":
            ratio = paired_ratio(start_medians_us(row.starts), row.beside_us, DECIDED)
            found[row.name] = max(starts_to_decide(ratio, result.rules.margin), starts + 1)
        elif not verdict and result.baseline and starts < FEWEST_STARTS <= len(row.blocks):
            found[row.name] = None
    return found


def _about(starts: float | None) -> str:
    if starts is None:
        return "in too few rounds with the baseline"
    return f"about {starts:.0f} starts" if starts < _MANY else "many starts"


def _until_decided(near: Mapping[str, float | None], result: Result) -> str:
    """The options that lead to a verdict, with a budget for the starts that can be made.

    Of a run that goes on, the budget has what it took until now.
    """
    rounds = max((len(row.blocks) for row in result.backends), default=0)
    needed = [starts or FEWEST_STARTS for starts in near.values()]
    most = max((starts for starts in needed if starts < _MANY), default=0)
    budget_s = _with_room(result.elapsed_s * max(most / rounds, 1)) if most else 0
    return f"--until decided --budget {budget_s}s" if budget_s else "--until decided"


def _with_room(seconds: float) -> int:
    """A fifth more, up to the next ten seconds."""
    return ceil(1.2 * seconds / 10) * 10


def _too_few(few: Sequence[BackendResult], what: str, *, everyone: bool, advice: str) -> str:
    """A warning: these backends have too few starts for that; the options that they need."""
    counts = {len(row.blocks) for row in few}
    if everyone and len(counts) == 1:
        times = counts.pop()
        who = f"each backend started {'once' if times == 1 else f'{times} times'}"
    else:
        who = f"started too rarely: {_listed({row.name: str(len(row.blocks)) for row in few})}"
    advice = f"; try {advice}" if advice else ""
    return f"too few starts for {what}: {who}, and {FEWEST_STARTS} starts are needed{advice}"


def _longer(result: Result) -> str:
    """The options of a run with starts enough: whichever limit ended this one is raised."""
    rules, seconds = result.rules, needed_s(result) or 0
    fewer = rules.rounds is not None and rules.rounds < FEWEST_STARTS
    options = [f"--rounds {FEWEST_STARTS}"] if fewer else []
    if seconds > (rules.budget_s or inf if fewer else 0):
        options.append(f"--budget {seconds}s")
    return " ".join(options)


def needed_s(result: Result) -> int | None:
    """How long a run must be for an interval of each backend: its rounds, and a fifth more.

    At an interval also for each backend's p99. A backend that was not measured is assumed to take
    as long as the others on average.
    """
    rows = (*result.backends, result.floor)
    took = [[block.took_s for block in row.blocks] for row in rows]
    known = [float(np.median(seconds)) for seconds in took if seconds]
    waiting = sum(row.status == "unmeasured" for row in rows)
    round_s = sum(known) * (1 + waiting / len(known)) if known else 0.0
    rounds = FEWEST_STARTS
    if result.rules.interval_s:
        starts = {row.name: len(row.blocks) for row in result.backends}
        few = _without_p99(result.backends).items()
        rounds = max([rounds, *(ceil(fewest(99) * starts[name] / count) for name, count in few)])
    seconds = round_s * rounds
    least = min((len(row.blocks) for row in result.backends if row.blocks), default=0)
    if 0 < least < rounds and 1.2 * seconds <= result.elapsed_s:  # blocks were repeated, or waited
        seconds = result.elapsed_s * rounds / least
    return _with_room(seconds) or None


def _without_p99(rows: Sequence[BackendResult]) -> dict[str, int]:
    """The backends with too few calls for a p99, and their number."""
    calls = {row.name: sum(block.calls for block in row.blocks) for row in rows}
    return {name: count for name, count in calls.items() if count and not show(count, 99)}


def _of_the_machine(result: Result) -> Iterator[str]:
    seen, cores = result.disturbance, named_cores(result.rules.worker_cores)
    if said := disturbance(seen):
        yield f"{said}; close other programs, and repeat"
    limit = result.machine.processor.quota
    if limit is not None and limit < len(result.rules.worker_cores):
        unit = "core" if limit == 1 else "cores"
        yield (
            f"a control group, as a container's, has the CPU time of {limit:g} {unit} and stops "
            f"what takes more, so times on {cores} may be too long; give it more"
        )
    if seen.steal_share is not None and seen.steal_share > _STEAL:
        yield (
            f"the hypervisor took {_whole(seen.steal_share)} of {cores} while backends ran, "
            "so high percentiles are too long; repeat on a machine with dedicated cores"
        )
    if busy := list(_busy(result, cores)):
        yield (
            f"{'; '.join(busy)}, so high percentiles are too long; if you need them, close other "
            "programs and repeat"
        )
    own = (*result.rules.variables, *HARMLESS)
    found = result.machine.software.variables.items()
    if changed := [f"{name}={value}" for name, value in found if name not in own]:
        yield f"the environment sets {', '.join(changed)}, which may change times; unset and repeat"
    if seen.mhz_low and seen.mhz_high and seen.mhz_high > seen.mhz_low * (1 + _CLOCK_CHANGE):
        yield (
            f"the clock frequency varied between {seen.mhz_low:.0f} and {seen.mhz_high:.0f} MHz; "
            "fix it (cpupower frequency-set -g performance), or compare ratios, not times"
        )


def disturbance(seen: Disturbance) -> str | None:
    """How much of the time the machine was quiet, where that was too little."""
    if seen.quiet_share is None or seen.quiet_share > _QUIET:
        return None
    said = (
        f"the machine was disturbed: it was quiet for only {_whole(seen.quiet_share)} of the time, "
        "and only calls in that time count"
    )
    if seen.disturbed:
        said += f"; {seen.disturbed} of {seen.blocks} blocks had too few such calls"
    return f"{said}, and {seen.repeated} were measured again" if seen.repeated else said


def _busy(result: Result, cores: str) -> Iterator[str]:
    """Signs that other programs used the backends' cores."""
    seen, rules = result.disturbance, result.rules
    cores_of_ours = len({*rules.worker_cores, *rules.parent_cores}) or 1
    if seen.load_before is not None and seen.load_before > cores_of_ours:
        yield f"the machine was busy before the run began (load {seen.load_before:.1f})"
    if rules.beside:  # which the following signs cannot tell from others
        return
    if seen.other_share is not None and seen.other_share > _OTHER:
        yield f"other programs used {_whole(seen.other_share)} of {cores} while backends ran"
    lost = [_preempted_per_s(row) for row in result.backends if row.blocks]
    if lost and median_low(lost) > _PREEMPTED_PER_S:  # other programs interrupt all backends alike
        yield f"other programs interrupted the measurement {median_low(lost):.0f} times a second"


def _preempted_per_s(row: BackendResult) -> float:
    wall_ns = sum(block.wall_ns for block in row.blocks)
    return sum(block.preempted for block in row.blocks) / wall_ns * 1e9 if wall_ns else 0.0


def _of_the_backends(rows: Sequence[BackendResult], result: Result) -> Iterator[str]:
    """Each figure of a backend with what it must not exceed, and what is said of those that do."""
    rules, cores = result.rules, named_cores(result.rules.worker_cores)
    own = set(rules.worker_cores)
    floor = result.floor.p50_us or 0.0
    several = any(row.threads is not None for row in rows)
    many = several or rules.threads != 1
    asked = "were asked for" if several else f"the {rules.threads} asked for"
    if modes := in_two_modes(rows):
        yield modes
    if alike := _repeating(rows):
        yield alike
    judged: list[tuple[Callable[[BackendResult], float], float, Callable[[float], str], str]] = [
        (
            _moves,
            _UNSTABLE,
            _whole,
            "the median differs between starts (interquartile range): {}; read the interval, or "
            "narrow it with a longer --budget",
        ),
        (
            _warming,
            _WARMING,
            _whole,
            "still getting faster while they were timed: {}; their times are too long",
        ),
        (
            lambda row: _threads_too_many(row, rules.threads_of(row)),
            0,
            "{:.0f}".format,
            f"ran more threads than {asked}: {{}}; {_shared(cores)}",
        ),
        (
            lambda row: max((len({*block.cores} - own) for block in row.blocks), default=0),
            0 if own else inf,
            "{:.0f} more".format,
            f"ran on other cores too, although pinned to {cores}: {{}}; do not compare their "
            "times with the others'",
        ),
        *(
            (
                partial(_idles, remedy),
                _SPINNING,
                lambda share: f"{_whole(share)} of a core",
                "used CPU time between calls: {}" + remedy * (many or remedy != _ONE_THREAD),
            )
            for remedy in dict.fromkeys((*REMEDIES.values(), _ONE_THREAD))
        ),
        (
            partial(_missed, rules.interval_s),
            _MISSED,
            _whole,
            "calls that were due did not begin, since the process was stopped or a call took "
            "longer, and are in no figure: {}",
        ),
        (
            lambda row: floor / (row.p50_us or inf),
            _NEAR_FLOOR,
            _whole,
            f"the harness itself takes much of the time (an empty backend takes {time(floor)}): "
            "{}; subtract it before comparing",
        ),
    ]
    for figure, most, spell, said in judged:
        if named := _those(rows, figure, most, spell):
            yield said.format(named)
    if left := {row.name: ", ".join(names) for row in rows if (names := _left(row))}:
        yield (
            f"started processes that did not end with it, so lenet-bench ended them: "
            f"{_listed(left)}; what they did is not in the times"
        )


def _missed(interval_s: float | None, row: BackendResult) -> float:
    """The share of the calls at an interval that were due and did not begin."""
    if not interval_s:
        return 0.0
    due = sum(int(block.wall_ns / 1e9 / interval_s) for block in row.blocks)
    return 1 - sum(block.made or block.calls for block in row.blocks) / due if due else 0.0


def _idles(remedy: str, row: BackendResult) -> float:
    """The share of a core that it uses between calls, if that is what ends this."""
    api = re.split("[:/=]", row.name)[0] if row.device == "cpu" else ""
    return (row.idle_share or 0.0) if REMEDIES.get(api, _ONE_THREAD) == remedy else 0.0


def _whole(share: float) -> str:
    return percent(share, places=0)


def _those(
    rows: Sequence[BackendResult],
    figure: Callable[[BackendResult], float],
    most: float,
    spell: Callable[[float], str],
) -> str:
    """The backends whose figure exceeds the limit, the worst first: torch (12 %)."""
    figures = {row.name: figure(row) for row in rows}
    worst = sorted((name for name in figures if figures[name] > most), key=lambda n: -figures[n])
    return _listed({name: spell(figures[name]) for name in worst})


def _listed(said: Mapping[str, str]) -> str:
    """The first few names, each with its figure."""
    named = [f"{name} ({figure})" for name, figure in said.items()]
    if len(named) > _NAMED + 1:  # one more takes as much room as "and 1 more"
        return f"{', '.join(named[:_NAMED])} and {len(named) - _NAMED} more"
    return ", ".join(named)


def _repeating(rows: Sequence[BackendResult]) -> str | None:
    """The backends whose ratio in one round tells the next one's."""
    said: dict[str, str] = {}
    for row in rows:
        starts = start_medians_us(row.starts)
        low, high = (row.summary.ratio_low, row.summary.ratio_high) if row.summary else UNBOUNDED
        found = correlation(starts, row.beside_us) or 0.0
        scatters = low and high and high / low > 1 + _SCATTERING
        if scatters and found > max(_REPEATING, 2 / len(row.beside_us) ** 0.5):
            said[row.name] = f"{found:.2f}"
    if not said:
        return None
    return (
        "the ratios of neighbouring rounds are alike, so their intervals may be too narrow: "
        f"{_listed(said)}, as a correlation; measure again on another day"
    )


def in_two_modes(rows: Sequence[BackendResult]) -> str | None:
    """The backends whose starts fall into two clusters, with the median of each."""
    found = {row.name: two_modes(_medians_us(row)) for row in rows}
    said = {
        name: " or ".join(
            f"{time(float(np.median(mode)))} in {counted(len(mode), 'start')}" for mode in modes
        )
        for name, modes in found.items()
        if modes
    }
    if not said:
        return None
    return f"starts fall into two groups: {_listed(said)}; read both figures, not the median"


def _medians_us(row: BackendResult) -> list[float]:
    return list(start_medians_us(row.blocks).values())


def _moves(row: BackendResult) -> float:
    """The spread of its starts; 0 if they fall into two clusters, which `in_two_modes` reports."""
    medians = _medians_us(row)
    return spread(medians) if len(medians) >= FEWEST_STARTS and not two_modes(medians) else 0.0


def _threads_too_many(row: BackendResult, asked: int) -> int:
    """How many threads it ran, where those are more than asked for."""
    running = row.threads_running or 0
    return running if asked and running > asked else 0


def _left(row: BackendResult) -> list[str]:
    """The names of the daemons that it started."""
    return sorted({name for block in row.blocks for name in block.left})


def _shared(cores: str) -> str:
    """The effect of extra threads on the time of a call."""
    if not cores:
        return "they may have used more cores than the others; compare with care"
    return (
        f"they share {cores}, so a call may include a switch between threads; that is part of "
        "what the API costs"
    )


def _warming(row: BackendResult) -> float:
    """How much faster a block's last quarter is than its first; the median over the blocks."""
    gains = []
    for block in row.blocks:
        if quarters := block.first_and_last_ns:
            first, last = quarters
            gains.append(first / max(1.0, last) - 1)
    return float(np.median(gains)) if len(gains) >= FEWEST_STARTS else 0.0
