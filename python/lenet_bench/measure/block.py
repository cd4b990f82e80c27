"""A block: a start of a backend that is checked, warmed up, timed, checked again, and ended."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from math import inf
from typing import Any

from ..errors import without_middle
from ..registry import find
from ..registry.environments import newer_than
from ..results import Anatomy, Batch, Block, Callers, Experiment, Gil, Way
from ..results.portable import portable
from ..subjects.subject import Prepared
from ..undisturbed import Loops, quickest
from ..units import counted
from . import messages
from .calls import clock
from .empty import EMPTY
from .judged import SHORTEST_S, Judged, UnlikelyTimes
from .options import Entry
from .start import BudgetEnded, Conditions, Failed, held
from .watch import cpu_times, mhz, open_meter, shares, used

_MOST_UNLIKELY = 3  # processes with unlikely times, after which the backend has failed
_WARM_SHARE = 1 / 5  # of the timed time: caches refill within some calls, AVX-512's clocks in 1 ms
_TIMED_SHARE = 1 / 4  # of what the start took: starts differ more than the calls of one
_LONGEST_S = 0.5  # that calls are timed for
_BATCH_S = 0.05
_QUOTA_S = 1.0  # at least, under a quota: ten of its periods
_AHEAD_S = 0.05  # that callers are told when to begin
_EXPERIMENTS_S = 180.0  # longer timeout than for any other answer
_TURNS_S = 120.0  # for the turns of a start after the first one
_GRACE_S = 2.0  # after the budget, to end a turn and to hear what it found
_LONGEST, _LONGEST_TRACEBACK = 1000, 16_000  # most characters kept of a backend's text


@dataclass(frozen=True)
class Task:
    """One block of one backend."""

    entry: Entry
    round: int
    at_s: float  # since the run began
    blocks: Sequence[Block]  # of this backend, so far
    tell: Callable[[str, float], None]  # of what takes long, and how many seconds still
    until_s: float = inf  # by time.monotonic: when its experiments end

    @property
    def first(self) -> bool:
        """Whether none succeeded before: its cache is probed too."""
        return not self.blocks or self.blocks[-1].status != "ok"

    @property
    def undisturbed_ns(self) -> Loops:
        """The known loops beside it on an undisturbed machine."""
        return quickest(loops for block in self.blocks for _, *loops in block.slices)


def measure_block(task: Task, conditions: Conditions, known: Prepared) -> Block | None:
    """Run the block. A failing backend gives a block with that status.

    There is none where the budget ends before the calls are timed and checked; after that, the
    block is without what was not measured any more.
    Unlikely times fail it only if each of some processes has them.
    """
    for _ in range(_MOST_UNLIKELY):
        block, is_unlikely = _one_process(task, conditions, known)
        if not is_unlikely:
            break
    return block


def _one_process(task: Task, conditions: Conditions, known: Prepared) -> tuple[Block | None, bool]:
    """The block, and whether it failed for unlikely times."""
    began = time.monotonic()
    found: dict[str, Any] = {}
    failure: Failed | None = None
    start: Judged | None = None
    try:
        start = Judged(task.entry, conditions, known)
        for phase in (_built, _right, _timed, _believed, _batches, _callers, _gil, _taken_apart):
            found |= phase(start, task)
    except BudgetEnded:
        return None, False
    except Failed as raised:
        failure = raised
        when = f"in round {task.round + 1}: " if "cache_probe" in found else "while starting: "
        printed = start.child.output() if start else ""
        hint = known.subject.hint(task.entry.backend, failure.reason, printed)
        hint = "" if failure.status == "wrong" else hint
        found |= _failed(failure, when, hint + _too_old(task.entry.backend))
    finally:
        if start is not None:
            found |= _ended(start)
    took_s = time.monotonic() - began
    name = task.entry.name
    block = Block(backend=name, round=task.round, at_s=task.at_s, took_s=took_s, **found)
    return block, isinstance(failure, UnlikelyTimes)


def _failed(failure: Failed, when: str, hint: str) -> dict[str, Any]:
    when = "" if failure.status in ("unavailable", "unsupported") else when
    hint += "; give a larger --timeout" if failure.status == "timeout" else ""
    return {
        "status": failure.status,
        "reason": _said(when + failure.reason + hint),
        "traceback": _said(failure.traceback or "", _LONGEST_TRACEBACK) or None,
    }


def _too_old(name: str) -> str:
    """Which versions lenet-bench is for, of one below them."""
    asked = newer_than(find(name)[0]) if "==" in name else ""
    return f"; lenet-bench is for {asked}" if asked else ""


def _ended(start: Judged) -> dict[str, Any]:
    """What is known of a process in any case, and at last; it is ended here."""
    found = {
        "runs": {portable(name): portable(value) for name, value in start.runs.items()},
        "output": portable(start.child.output()),
        "difference": start.difference,
    }
    start.close()
    return {**found, "left": tuple(map(portable, start.child.left))}


def _said(text: str, longest: int = _LONGEST) -> str:
    """What a backend said, as a result keeps it: without folders, the middle cut out if long."""
    return portable(without_middle(text, longest))


def _built(start: Judged, _: Task) -> dict[str, Any]:
    """The steps of the start."""
    start.build(start.known.rotating.inputs)
    return {"cold_start": start.cold_start}


def _right(start: Judged, task: Task) -> dict[str, Any]:
    """Its answers are checked, and in its first block whether it remembers them."""
    start.check_parity()
    is_probed = task.first and task.entry.checked
    return {"cache_probe": start.check_cache() if is_probed else None}


def _timed(start: Judged, task: Task) -> dict[str, Any]:
    """The calls, and what else used their cores meanwhile."""
    cores = start.conditions.cores.worker
    under = start.quota.filled() if start.quota else None
    before = cpu_times(cores, start.child.pid)
    found = _calls(start, task)
    if start.quota and under:
        found["throttled"] = start.quota.throttled().since(under)
    found["steal_share"], found["other_share"] = shares(cores, before, start.child.pid)
    found["mhz"] = mhz(cores)
    return found


def _believed(start: Judged, _: Task) -> dict[str, Any]:
    """The calls are checked. Those of a backend that fails here are kept with its block."""
    start.check_timing()
    return {}


def _calls(start: Judged, task: Task) -> dict[str, Any]:
    """The timed calls. With an interval there is no warm-up, since applications have none.

    With `--beside` and `--quota` no call is discarded.
    """
    starts = (block.cold_start for block in task.blocks if block.cold_start)
    start_s = next(starts, start.cold_start).total_s  # the same in each block
    timed_s = min(_LONGEST_S, max(SHORTEST_S, _TIMED_SHARE * start_s))
    warm_s = 0.0 if start.conditions.between.interval_s else _WARM_SHARE * timed_s
    if start.quota:
        timed_s = max(timed_s, _QUOTA_S)
    on_gpu = start.entry.device == "gpu"
    meter = open_meter(start.runs, start.child.pid) if on_gpu else None
    start.warm(warm_s)
    before = meter.read() if meter else None
    found = start.time(timed_s, task.undisturbed_ns)
    after = meter.read() if meter else None
    if start.conditions.options.keeps_all:
        found["slices"] = ()
    if on_gpu:
        name = meter.name if meter else start.runs.get("device", "GPU")
        profile_us = start.ask(messages.Profile()).profile_us
        calls = 0 if any(vars(start.conditions.between).values()) else found["made"]
        found["gpu"] = used(name, before, after, calls, profile_us)
    return found


def _batches(start: Judged, task: Task) -> dict[str, Any]:
    """Throughput: a failure removes only this size, from this block on."""
    if not task.entry.checked:
        return {}
    batches: list[Batch] = []
    refusals: dict[str, str] = {}
    refused = {size for block in task.blocks for size in block.batch_refusals}
    for size in start.conditions.options.batches:
        if str(size) in refused:
            continue
        try:
            batches.append(start.time_batch(size, _WARM_SHARE * _BATCH_S, _BATCH_S))
        except BudgetEnded:
            break
        except Failed as failure:
            refusals[str(size)] = _said(failure.reason)
            if start.child.ended:
                break
    return {"batches": tuple(batches), "batch_refusals": refusals}


def _callers(start: Judged, task: Task) -> dict[str, Any]:
    """Several callers at once: a failure removes only this number of them, from this block on."""
    found: list[Callers] = []
    refusals: dict[str, str] = {}
    refused = {key for block in task.blocks for key in block.callers_refused}
    options = start.conditions.options
    timed_s = min(_LONGEST_S, max(SHORTEST_S, _TIMED_SHARE * start.cold_start.total_s))
    for number in options.callers:
        for way in _ways(task.entry, number, options.callers_in):
            key = f"{number} {way}"
            if key in refused or start.child.ended:
                continue
            try:
                found.append(_together(start, number, way, timed_s))
            except BudgetEnded:
                return {"callers": tuple(found), "callers_refused": refusals}
            except Failed as failure:
                under = f"{failure.status} under {counted(number, 'caller')}"
                refusals[key] = _said(f"{under}: {failure.reason}")
    return {"callers": tuple(found), "callers_refused": refusals}


def _ways(entry: Entry, number: int, place: str) -> Sequence[Way]:
    """How so many callers are tried."""
    if number == 1:
        return ("each",)
    if place == "processes":
        return ("process",)
    return ("one", "each") if entry.is_shared else ("each",)


def _together(start: Judged, number: int, way: Way, timed_s: float) -> Callers:
    """All begin and end at the same moments, in one process or in several."""
    times = {"warm_s": _WARM_SHARE * timed_s, "timed_s": timed_s}
    with ExitStack() as others:
        every = [start]
        for _ in range(number - 1 if way == "process" else 0):
            other = Judged(start.entry, start.conditions, start.known)
            others.callback(other.close)
            other.build(start.known.rotating.inputs)
            other.check_parity()
            every.append(other)
        begin_ns = clock() + round((2 * times["warm_s"] + _AHEAD_S) * 1e9)
        threads = number // len(every)
        question = messages.TimeCallers(threads, way == "one", **times, begin_ns=begin_ns)
        with ThreadPoolExecutor(len(every)) as pool:
            try:
                found = list(pool.map(lambda one: one.time_callers(question), every))
            except KeyboardInterrupt:
                for one in every:  # or the pool waits for their answers
                    one.child.kill()
                raise
    memory = [one.rss_mib for one in found if one.rss_mib is not None]
    return Callers(
        number,
        way,
        calls_per_s(found),
        sum(memory) if len(memory) == len(every) else None,
        tuple(ns for one in found for ns in one.samples_ns.tolist()),
    )


def calls_per_s(found: Sequence[messages.CallersTimed]) -> float:
    """Of all callers: the sum of each one's, from the first one's beginning to its own end.

    So whoever is late has a longer time, and who ends before the others' last calls does not.
    """
    began_ns = min(one.began_ns for one in found)
    every = (caller for one in found for caller in one.ended)
    return sum(made / max(1, ended_ns - began_ns) for made, ended_ns in every) * 1e9


def _gil(start: Judged, task: Task) -> dict[str, Any]:
    """How much of a call holds the GIL, if another core can ask for it; a failure says nothing."""
    options, cores = start.conditions.options, start.conditions.cores
    wanted = options.callers or options.breakdown
    several = len({*cores.worker, *cores.parent}) > 1 or not cores.worker
    if not (wanted and task.entry.checked and several) or start.child.ended:
        return {}
    elsewhere = [cpu for cpu in cores.one_more if cpu not in cores.worker]
    try:
        asked = start.ask(messages.AskForGil(_LONGEST_S, elsewhere))
        return {"gil": held(vars(asked), Gil, "asking for the GIL found")}
    except Failed:
        return {}


def _taken_apart(start: Judged, task: Task) -> dict[str, Any]:
    """The experiments of `why`, or the reason why there are none."""
    if not start.conditions.options.breakdown or task.entry.name == EMPTY:
        return {}
    found: dict[str, Any] = {}
    cores = start.conditions.cores.one_more
    limits = {"longer_s": _EXPERIMENTS_S, "grace_s": _GRACE_S}
    try:
        if task.first:
            dissected = start.ask(messages.Dissect())
            found["anatomy"] = held(dissected.anatomy, Anatomy, "taking it apart found")
        task.tell("building its experiments", 0.0)
        turns = start.ask(messages.BuildExperiments(), longer_s=_EXPERIMENTS_S)
        began = time.monotonic()
        while turns.most > turns.done:
            now = time.monotonic()
            end_s = min(task.until_s, began + _TURNS_S if turns.done else inf)
            if now >= end_s:
                break
            turn_s = (now - began) / turns.done if turns.done else 0.0
            left_s = turn_s * (turns.most - turns.done)
            task.tell(said_of_turns(turns), min(left_s, end_s - now))
            turns = start.ask(messages.TurnOfExperiments(end_s - now), **limits)
        if turns.most and not turns.done:
            raise Failed("timeout", "the budget ended before each experiment had a turn")
        if time.monotonic() >= task.until_s:
            cores = ()
        made = start.ask(messages.AskExperiments(cores), **limits)
        found["experiments"] = held(
            made.experiments, tuple[Experiment, ...], "its experiments found"
        )
    except Failed as failure:
        found["no_experiments_reason"] = _said(failure.reason)
    return found


def said_of_turns(turns: messages.Turns) -> str:
    number, most = turns.done + 1, turns.most
    if number > turns.enough:
        return f"waiting for a quiet machine, turn {number} of at most {most} of its experiments"
    return f"turn {number} of {most} of its experiments, which end after {_TURNS_S:g} s"
