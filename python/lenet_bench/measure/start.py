"""A start of a backend: its process is started, checked, warmed up, timed, checked again, ended.

`measure_block` does all of it, for a comparison. Other questions use a `Start`.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import repeat
from math import inf
from typing import Any

import msgspec
import numpy as np

from .. import units
from ..errors import without_middle
from ..network import LENET
from ..process import Child, Died
from ..registry import usable_cores, with_counterpart, wrong_version
from ..results import Anatomy, Batch, Block, CacheProbe, ColdStart, Experiment, Status
from ..results.machine import Words
from ..results.portable import portable
from ..weights import default_path
from .busy import at_work
from .empty import EMPTY
from .options import COLD_MB, CompareOptions, Entry
from .pinning import Cores, choose_cores, cpus_near_gpu, on_cores, thread_variables
from .reference_answers import STRETCHES, Floats, Known, ReferenceAnswers, reference_answers
from .stretch import Stretch, disagreement, joined, own_call_ns, slower
from .watch import cpu_times, delays_of, mhz, open_meter, shares, used

_PROBES = 3  # for a cache, before and after the timing: noise looks like one, but not three times
_PROVE = 2  # of them must be undisturbed, to prove anything
_PROBE_S = 0.5
_FLOOR_CALLS = 1000  # of the empty backend in a block: the time would allow half a million
_FEWEST_CALLS = 20  # of a block, however slow: a median needs so many
_PATIENCE = 4  # times as long as wanted, where the machine is disturbed
_LONGER = 5  # further stretches at most, each twice as long as the one before
_MOST_UNLIKELY = 3  # processes with unlikely times, after which the backend has failed
_PACED_CALLS, _FEWEST_PACED = 170, 10  # of a block: six have a 99th percentile
_PACED_S = 3.4  # that they take, unless even the fewest take longer
_STATUS: dict[str, Status] = {"missing": "unavailable", "late": "timeout", "dead": "crashed"}
_WARM_SHARE = 1 / 5  # of the timed time: caches refill within some calls, AVX-512's clocks in 1 ms
_TIMED_SHARE = 1 / 4  # of what the start took: starts differ more than the calls of one
_SHORTEST_S, _LONGEST_S = 0.05, 0.5
_BATCH_S = 0.05
_EXPERIMENTS_S = 180.0  # longer timeout than for any other answer
_GRACE_S = 2.0  # after the budget, to end a turn and to hear what it found
_LONGEST, _LONGEST_TRACEBACK = 1000, 16_000  # most characters kept of a backend's text


@dataclass(frozen=True)
class Conditions:
    """What is the same for all backends of a run."""

    options: CompareOptions
    cores: Cores
    reference: ReferenceAnswers
    until_s: float = inf  # by time.monotonic: the end of the budget

    @property
    def left_s(self) -> float:
        """Of the budget."""
        return self.until_s - time.monotonic()

    @property
    def variables(self) -> dict[str, str]:
        """Pinned in each process's environment."""
        return thread_variables(self.options.threads)

    @property
    def between(self) -> dict[str, Any]:
        """What is done before each call."""
        options = self.options
        return {
            "interval_s": options.interval_s,
            "cold_mb": COLD_MB if options.cold else None,
            "keep_warm_s": options.keep_warm_s,
        }

    @property
    def paced(self) -> int:
        """The paced calls of a stretch."""
        interval_s = self.options.interval_s
        calls = round(_PACED_S / interval_s) if interval_s else 0
        return max(_FEWEST_PACED, min(_PACED_CALLS, calls)) // STRETCHES


def conditions(
    options: CompareOptions,
    entries: Sequence[Entry],
    until_s: float = inf,
    tell: Callable[[str], None] = lambda _: None,
) -> Conditions:
    """Choose the cores, and compute the right answers; the options have a seed.

    `tell` hears what takes long.
    """
    count = options.cores or options.threads or usable_cores()
    cores = choose_cores(count, cpus_near_gpu(entry.device for entry in entries))
    reference = reference_answers(options, entries, cores, until_s, tell)
    return Conditions(options, cores, reference, until_s)


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
    def undisturbed_loop_ns(self) -> int | None:
        """The reference loop beside it on an undisturbed machine."""
        return min((ns for block in self.blocks for _, ns in block.slices), default=None)


class Failed(Exception):
    """The backend failed: its status, the reason and, where it raised, the traceback."""

    def __init__(self, status: Status, reason: str, traceback: str | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.traceback = traceback


class BudgetEnded(Failed):
    """The time of the run is over, which says nothing about the backend."""

    def __init__(self) -> None:
        super().__init__("timeout", "the budget ended before it answered")


class UnlikelyTimes(Failed):
    """Times that a disturbed machine can explain too, though hardly in several processes."""

    def __init__(self, reason: str) -> None:
        super().__init__("wrong", reason)


class Start:
    """A process of a backend. Every method may raise Failed, which ends it."""

    def __init__(self, entry: Entry, conditions: Conditions) -> None:
        self.entry = entry
        self.conditions = conditions
        self.difference: float | None = None  # the largest from the reference, so far
        self.runs: Mapping[str, str] = {}
        self._stretches: list[Stretch] = []
        if conditions.left_s <= 0:
            raise BudgetEnded
        with on_cores(conditions.cores.worker):
            try:
                self.child = Child(
                    "lenet_bench.measure.worker:serve",
                    python=entry.python,
                    variables={**conditions.variables, **entry.variables},
                )
            except Died as death:
                raise Failed(_STATUS[death.how], death.reason) from None

    def build(self) -> ColdStart:
        options, reference = self.conditions.options, self.conditions.reference
        answer = self.ask(
            "start",
            started_ns=self.child.started_ns,
            name=self.entry.name,
            factory=self.entry.factory,
            path=self.entry.path,
            threads=options.threads,
            weights=str(options.weights or default_path()),
            network=LENET if self.entry.factory else reference.network,
            model=None if self.entry.factory else reference.model,
            image=self._taken(reference.rotating.images[:1])[0],
        )
        try:
            self.runs = msgspec.convert(answer["runs"], Words)
        except msgspec.ValidationError as error:
            raise Failed("wrong", f"describe returned what no result can hold: {error}") from None
        return ColdStart(**answer["cold_start"])

    def check_parity(self) -> None:
        """Check the answers to the rotating images and to the edge cases."""
        reference = self.conditions.reference
        answer = self.ask("keep", images=self._taken(reference.rotating.images))
        if self.entry.checked:
            self.check(answer["answers"], reference.rotating.answers)
            answer = self.ask("check", images=self._taken(reference.edges.images))
            self.check(answer["answers"], reference.edges.answers)

    def _taken(self, images: Floats) -> Floats:
        if self.entry.factory:
            return images
        return self.conditions.reference.as_taken(self.entry.name, images)

    def check_cache(self) -> CacheProbe | None:
        """Fail a backend that remembers answers, before it is timed."""
        return self._probed(self.conditions.reference.new[:_PROBES], _PROBE_S, repeat(inf))

    def _probed(
        self, probes: Sequence[Known], seconds: float, calls_us: Iterable[float]
    ) -> CacheProbe | None:
        """Fail a backend that takes much longer for new images than for known ones, each time.

        `calls_us` is what its calls with known images take, before each probe.
        """
        undisturbed = 0
        for images, known_us in zip(probes, calls_us, strict=False):
            before = delays_of(self.child.pid)
            answer = self.ask("probe", images=images.images, seconds=seconds)
            lost = delays_of(self.child.pid).since(before).times
            answers = answer.pop("answers")
            self.check(answers, images.answers[: len(answers)])
            probe = CacheProbe(**answer)
            known_us = min(known_us, probe.repeated_us, probe.rotated_us)
            if not slower(probe.fresh_us, known_us):
                return probe
            # Where each new image may have waited for a core, slow ones prove nothing.
            undisturbed += lost < len(answers)
        if not probes:
            return None
        if undisturbed < _PROVE:
            return probe
        raise UnlikelyTimes(
            f"it remembers answers: {units.time(known_us)} for an input that it has seen, "
            f"{units.time(probe.fresh_us)} for a new one"
        )

    def warm(self, warm_s: float) -> None:
        between = self.conditions.between
        self.ask("warm", self._pauses_s(), warm_s=warm_s, most=self._most, **between)

    def time(
        self, warm_s: float, timed_s: float, undisturbed_loop_ns: int | None = None
    ) -> dict[str, Any]:
        """Time it, in stretches with images that are new to it; all that is reported is checked.

        Between two stretches the parent does nothing that could wait.
        """
        self.warm(warm_s)
        options, cores = self.conditions.options, self.conditions.cores
        limits: dict[str, Any] = {
            "gaps": True,
            "patience": 1 if options.beside else _PATIENCE,
            "fewest": _FEWEST_CALLS // STRETCHES,
        }
        if options.interval_s:
            timed_s = 0.0
            limits |= {"fewest": self.conditions.paced, "most": self.conditions.paced}
        with at_work(options.beside, {*cores.worker, *cores.parent}):
            for images in self.conditions.reference.timed:
                limits["undisturbed_loop_ns"] = undisturbed_loop_ns
                stretch = self._stretch(images, timed_s / STRETCHES, **limits)
                for _, loop_ns in stretch.answer["slices"]:
                    undisturbed_loop_ns = min(loop_ns, undisturbed_loop_ns or loop_ns)
                self._stretches.append(stretch)
        answer = joined([stretch.answer for stretch in self._stretches])
        timed_ns = sum(stretch.timed_ns for stretch in self._stretches)
        return answer | self.ask("resources", timed_ns=timed_ns)

    def check_timing(self) -> None:
        """Fail a backend whose timed calls cannot be believed."""
        if self.entry.checked:
            for stretch in self._stretches:
                self._check_answers(stretch.answer, stretch.images)
            self._check_times()
            self._probed(self.conditions.reference.new[_PROBES:], 0.0, self._calls_us())

    def _check_times(self) -> None:
        """Fail a backend whose times the parent's clock contradicts.

        On a busy machine both wait for a core, and the parent for more than the calls. So one
        stretch that agrees is enough, and longer ones are asked for where none does. Calls with
        pauses say nothing.
        """
        calls_us = next(self._calls_us())
        judged = [] if any(self.conditions.between.values()) else list(self._stretches)
        own_ns = own_call_ns()
        for longer in range(_LONGER):
            if any(stretch.agrees(calls_us, own_ns) for stretch in judged):
                return
            judged.append(self._stretch(self._stretches[0].images, _SHORTEST_S * 2**longer))
        if not judged[-1].agrees(calls_us, own_ns):
            raise UnlikelyTimes(disagreement(judged, own_ns))

    def _calls_us(self) -> Iterator[float]:
        """The quickest stretch; then each time anew, as the machine may have become slower."""
        yield min(stretch.median_us for stretch in self._stretches)
        while True:
            yield self._stretch(self._stretches[0].images, _SHORTEST_S).median_us

    def _stretch(self, images: Known, seconds: float, **limits: Any) -> Stretch:
        most = self._most and self._most // STRETCHES
        otherwise = {"gaps": False, "patience": 1, "fewest": 1, "undisturbed_loop_ns": None}
        before, asked_ns = delays_of(self.child.pid), time.perf_counter_ns()
        answer = self.ask(
            "time",
            self._pauses_s(),
            images=self._taken(images.images),
            seconds=seconds,
            **{**otherwise, "most": most, **limits},
        )
        heard_ns, after = time.perf_counter_ns(), delays_of(self.child.pid)
        began_ns, now_ns = answer["began_ns"], answer["now_ns"]
        # All processes share one clock, so the backend's times must lie between two of ours.
        if not asked_ns <= began_ns <= began_ns + answer["wall_ns"] <= now_ns <= heard_ns:
            raise Failed("wrong", "it changed the clock of its process")
        stretch = Stretch(answer, images, heard_ns - asked_ns, after.since(before))
        if stretch.timed_ns > stretch.waited_ns:
            raise Failed("wrong", disagreement([stretch]))
        return stretch

    def time_batch(self, size: int, warm_s: float, timed_s: float) -> Batch:
        answer = self.ask("batch", size=size, warm_s=warm_s, timed_s=timed_s)
        if refusal := answer.get("refused"):
            raise Failed("wrong", refusal)
        self._check_answers(answer, self.conditions.reference.rotating)
        slices = tuple(map(tuple, answer["slices"]))
        return Batch(size, tuple(answer["samples_ns"].tolist()), slices)

    def _check_answers(self, answer: Mapping[str, Any], images: Known) -> None:
        self.check(answer["answers"], images.answers[answer["answered"]])

    def ask(
        self, do: str, longer_s: float = 0.0, grace_s: float = 0.0, **rest: Any
    ) -> dict[str, Any]:
        """Ask a question of `worker.Built`; `longer_s` is added to the default timeout.

        The end of the budget ends the process, after `grace_s` where it is about to answer.
        """
        timeout_s = self.conditions.options.timeout_s + longer_s
        left_s = max(0.0, self.conditions.left_s) + grace_s
        try:
            answer: dict[str, Any] = self.child.ask({"do": do, **rest}, min(timeout_s, left_s))
        except Died as death:
            if death.how == "late" and left_s < timeout_s:
                raise BudgetEnded from None
            # The wrong version of a package may explain it.
            wrong = None if self.entry.factory else wrong_version(self.entry.name, death.reason)
            raise Failed(_STATUS[death.how], wrong or death.reason) from None
        if failure := answer.get("failure"):
            self.child.end()
            if failure["status"] == "unavailable" and not self.entry.factory:
                failure["reason"] = with_counterpart(self.entry.name, failure["reason"])
            raise Failed(**failure)
        return answer

    @property
    def _most(self) -> int | None:
        """Calls of the warm-up, or of all stretches."""
        return None if self.entry.checked else _FLOOR_CALLS

    def _pauses_s(self) -> float:
        return 2 * self.conditions.paced * (self.conditions.options.interval_s or 0.0)

    def check(self, answers: Floats, expected: Floats) -> None:
        """Raise Failed unless the answers equal the reference's within the tolerance."""
        reference = self.conditions.reference
        difference = reference.difference(answers, expected)
        allowed = reference.allowed(self.entry.tolerance)
        if not np.isfinite(difference):
            raise Failed("wrong", f"its {reference.said} are not finite, or of another shape")
        self.difference = max(self.difference or 0.0, difference)
        if difference > allowed:
            raise Failed(
                "wrong",
                f"its {reference.said} differ from {reference.judge} by {difference:.2g}, "
                f"more than the allowed {allowed:.0e}",
            )


@contextmanager
def started(entry: Entry, conditions: Conditions) -> Iterator[Start]:
    """The backend's process, until the end of the `with`."""
    start = Start(entry, conditions)
    try:
        yield start
    finally:
        start.child.close()


def measure_block(task: Task, conditions: Conditions) -> Block | None:
    """Run the block. A failing backend gives a block with that status.

    There is none where the budget ends before the calls are timed and checked; after that, the
    block is without what was not measured any more.
    Unlikely times fail it only if each of some processes has them.
    """
    for _ in range(_MOST_UNLIKELY):
        block, is_unlikely = _one_process(task, conditions)
        if not is_unlikely:
            break
    return block


def _one_process(task: Task, conditions: Conditions) -> tuple[Block | None, bool]:
    """The block, and whether it failed for unlikely times."""
    cores = conditions.cores.worker
    is_unlikely = False
    began = time.monotonic()
    block: dict[str, Any] = {}
    doing = "while starting: "
    start: Start | None = None
    try:
        start = Start(task.entry, conditions)
        before = cpu_times(cores)
        block["cold_start"] = start.build()
        block["runs"] = {portable(name): portable(value) for name, value in start.runs.items()}
        start.check_parity()
        if task.first and task.entry.checked:
            block["cache_probe"] = start.check_cache()
        doing = f"in round {task.round + 1}: "
        starts = (one.cold_start.total_s for one in task.blocks if one.cold_start)
        block |= _timed(start, task, next(starts, block["cold_start"].total_s))
        block["steal_share"], block["other_share"] = shares(cores, before, start.child.pid)
        block["mhz"] = mhz(cores)
        start.check_timing()
        if task.entry.checked:
            block |= _batches(start, task)
        if conditions.options.breakdown and task.entry.name != EMPTY:
            block |= _taken_apart(start, task)
    except BudgetEnded:
        return None, False
    except Failed as failure:
        is_unlikely = isinstance(failure, UnlikelyTimes)
        doing = "" if failure.status in ("unavailable", "unsupported") else doing
        block["status"] = failure.status
        hint = "" if failure.status == "wrong" else conditions.reference.hint(task.entry.name)
        block["reason"] = _said(doing + failure.reason + hint)
        block["traceback"] = _said(failure.traceback or "", _LONGEST_TRACEBACK) or None
    finally:
        if start is not None:
            block["output"] = portable(start.child.output())
            block["difference"] = start.difference
            start.child.close()
            block["left"] = tuple(map(portable, start.child.left))
    took_s = time.monotonic() - began
    name = task.entry.name
    made = Block(backend=name, round=task.round, at_s=task.at_s, took_s=took_s, **block)
    return made, is_unlikely


def _said(text: str, longest: int = _LONGEST) -> str:
    """What a backend said, as a result keeps it: without folders, the middle cut out if long."""
    return portable(without_middle(text, longest))


def _timed(start: Start, task: Task, start_s: float) -> dict[str, Any]:
    """The timed calls. With an interval there is no warm-up, since applications have none.

    Beside busy processes all of them count, however slow the known loop.
    """
    options = start.conditions.options
    timed_s = min(_LONGEST_S, max(_SHORTEST_S, _TIMED_SHARE * start_s))
    warm_s = 0.0 if options.interval_s else _WARM_SHARE * timed_s
    on_gpu = start.entry.device == "gpu"
    meter = open_meter(start.runs, start.child.pid) if on_gpu else None
    if meter:
        start.warm(warm_s)
    before = meter.read() if meter else None
    answer = start.time(warm_s, timed_s, task.undisturbed_loop_ns)
    after = meter.read() if meter else None
    found = {name: answer[name] for name in Block.__struct_fields__ if name in answer}
    found["samples_ns"] = samples = tuple(answer["samples_ns"].tolist())
    found["slices"] = () if options.beside else tuple(map(tuple, answer["slices"]))
    found["cores"] = tuple(answer["cores"])
    if on_gpu:
        name = meter.name if meter else start.runs.get("device", "GPU")
        profile = start.ask("profile")["profile_us"]
        found["gpu"] = used(name, before, after, len(samples), profile)
    return found


def _batches(start: Start, task: Task) -> dict[str, Any]:
    """Throughput: a failure removes only this size, from this block on."""
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


def _taken_apart(start: Start, task: Task) -> dict[str, Any]:
    """The experiments of `why`, or the reason why there are none."""
    found: dict[str, Any] = {}
    cores = start.conditions.cores.one_more
    limits = {"longer_s": _EXPERIMENTS_S, "grace_s": _GRACE_S}
    try:
        if task.first:
            found["anatomy"] = msgspec.convert(start.ask("dissect"), Anatomy)
        task.tell("building its experiments", 0.0)
        turns = start.ask("build_experiments", longer_s=_EXPERIMENTS_S)
        began = time.monotonic()
        while turns["most"] > turns["done"]:
            now = time.monotonic()
            if now >= task.until_s:
                break
            turn_s = (now - began) / turns["done"] if turns["done"] else 0.0
            task.tell(said_of_turns(turns), turn_s * (turns["most"] - turns["done"]))
            turns = start.ask("turn_of_experiments", **limits, seconds=task.until_s - now)
        if turns["most"] and not turns["done"]:
            raise Failed("timeout", "the budget ended before each experiment had a turn")
        if time.monotonic() >= task.until_s:
            cores = ()
        answer = start.ask("experiments", **limits, cores=cores)
        found["experiments"] = tuple(Experiment(**one) for one in answer["experiments"])
    except Failed as failure:
        found["no_experiments_reason"] = _said(failure.reason)
    return found


def said_of_turns(turns: Mapping[str, int]) -> str:
    number, most = turns["done"] + 1, turns["most"]
    if number > turns["enough"]:
        return f"waiting for a quiet machine, turn {number} of at most {most} of its experiments"
    return f"turn {number} of {most} of its experiments"
