"""A start of a backend: its process is started, checked, warmed up, timed, checked again, ended.

`measure_block` does all of it, for a comparison. Other questions use a `Start`.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from .. import units
from ..errors import without_middle
from ..network import LENET
from ..process import Child, Died
from ..registry import find, with_counterpart, wrong_version
from ..results import Anatomy, Batch, Block, CacheProbe, ColdStart, Experiment, Status
from ..results.portable import portable
from ..results.versioned import decode
from ..weights import default_path
from .busy import at_work
from .options import Entry
from .pinning import Cores, choose_cores, cpus_near_gpu, on_cores, thread_variables
from .stretch import Stretch, disagreement, joined, slower
from .truth import STRETCHES, Floats, Known, Truth, truth_of
from .watch import Watch, mhz, open_meter, used

_PROBES = 3  # for a cache, before and after the timing: noise looks like one, but not three times
_PROBE_S = 0.5
_TIMEOUT_S = 120.0  # outside of a comparison
_FLOOR_CALLS = 1000  # of the empty backend in a block: the time would allow half a million
_FEWEST_CALLS = 20  # of a block, however slow: a median needs so many
_PATIENCE = 4  # times as long as wanted, where the machine is disturbed
_LONGER = 5  # further stretches at most, each twice as long as the one before
_PACED_CALLS, _FEWEST_PACED = 170, 10  # of a block: six have a 99th percentile
_PACED_S = 3.4  # that they take, unless even the fewest take longer
_STATUS: dict[str, Status] = {"missing": "unavailable", "late": "timeout", "dead": "crashed"}
_WARM_SHARE = 1 / 5  # of the timed time: caches refill within some calls, AVX-512's clocks in 1 ms
_TIMED_SHARE = 1 / 4  # of what the start took: starts differ more than the calls of one
_SHORTEST_S, _LONGEST_S = 0.05, 0.5
_BATCH_S = 0.05
_EXPERIMENTS_S = 180.0  # longer timeout than for any other answer
_LONGEST, _LONGEST_TRACEBACK = 1000, 16_000  # most characters kept of a backend's text
_MOST_FACTS = 64


@dataclass(frozen=True)
class Conditions:
    """The conditions that are the same for all backends."""

    cores: Cores
    variables: Mapping[str, str]
    threads: int
    weights: str
    timeout_s: float
    truth: Truth
    network: str = LENET
    interval_s: float | None = None
    cold_mb: int | None = None
    keep_warm_s: float | None = None
    beside: int = 0

    @property
    def paced(self) -> int:
        """The paced calls of a stretch."""
        calls = round(_PACED_S / self.interval_s) if self.interval_s else 0
        return max(_FEWEST_PACED, min(_PACED_CALLS, calls)) // STRETCHES


@dataclass(frozen=True)
class Task:
    round: int
    at_s: float  # since the run began
    first: bool  # of this backend: its cache is probed too
    start_s: float | None  # duration of its first start
    quiet_loop_ns: int | None = None  # the reference loop beside it on a quiet machine
    batches: tuple[int, ...] = ()  # sizes to time
    apart: bool = False  # the call is taken apart too


class Failed(Exception):
    """The backend failed: its status, the reason and, where it raised, the traceback."""

    def __init__(self, status: Status, reason: str, traceback: str | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.traceback = traceback


class Start:
    """A process of a backend. Every method may raise Failed, which ends it."""

    def __init__(self, entry: Entry, conditions: Conditions) -> None:
        self.entry = entry
        self.difference: float | None = None  # the largest from the reference, so far
        self.runs: Mapping[str, str] = {}
        self._stretches: list[Stretch] = []
        self.conditions = conditions
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
        c = self.conditions
        answer = self.ask(
            "start",
            started_ns=self.child.started_ns,
            name=self.entry.name,
            factory=self.entry.factory,
            path=self.entry.path,
            threads=c.threads,
            weights=c.weights,
            network=LENET if self.entry.factory else c.network,
            model=None if self.entry.factory else c.truth.model,
            image=self._taken(c.truth.rotating.images[:1])[0],
        )
        self.runs = _description(answer["runs"])
        return ColdStart(**answer["cold_start"])

    def check_parity(self) -> None:
        """Check the answers to the rotating images and to the edge cases."""
        truth = self.conditions.truth
        answer = self.ask("keep", images=self._taken(truth.rotating.images))
        if self.entry.checked:
            self.check(answer["answers"], truth.rotating.probabilities)
            self.check_images(truth.edges)

    def check_images(self, known: Known) -> None:
        """Check its answers to these images against the reference's."""
        if self.entry.checked:
            answer = self.ask("check", images=self._taken(known.images))
            self.check(answer["answers"], known.probabilities)

    def _taken(self, images: Floats) -> Floats:
        """As this backend takes them."""
        return (
            images
            if self.entry.factory
            else self.conditions.truth.taken_by(self.entry.name, images)
        )

    def check_cache(self) -> CacheProbe | None:
        """Fail a backend that remembers answers: new images take it much longer than known ones."""
        if not self.conditions.truth.new:
            return None
        for images in self.conditions.truth.new[:_PROBES]:
            probe = self._probe(images, _PROBE_S)
            if not _remembers(probe):
                return probe
        raise _remembering(probe)

    def warm(self, warm_s: float) -> None:
        self.ask("warm", self._pauses_s(), warm_s=warm_s, most=self._most, **self._between())

    def time(
        self, warm_s: float, timed_s: float, quiet_loop_ns: int | None = None
    ) -> dict[str, Any]:
        """Time it, in stretches with images that are new to it; all that is reported is checked.

        Between two stretches the parent does nothing that could wait.
        """
        self.warm(warm_s)
        c, stretches = self.conditions, list[Stretch]()
        patience = 1 if c.beside else _PATIENCE
        options: dict[str, Any] = {
            "gaps": True,
            "patience": patience,
            "fewest": _FEWEST_CALLS // STRETCHES,
        }
        if c.interval_s:
            timed_s = 0.0
            options |= {"fewest": c.paced, "most": c.paced}
        with at_work(c.beside, {*c.cores.worker, *c.cores.parent}):
            for images in c.truth.timed:
                stretch = self._stretch(images, timed_s / STRETCHES, quiet_loop_ns, **options)
                for _, loop_ns in stretch.answer["slices"]:
                    quiet_loop_ns = min(loop_ns, quiet_loop_ns or loop_ns)
                stretches.append(stretch)
        answer = joined([stretch.answer for stretch in stretches])
        self._stretches = stretches
        timed_ns = sum(stretch.timed_ns for stretch in stretches)
        return answer | self.ask("resources", timed_ns=timed_ns)

    def check_timing(self) -> None:
        """Fail a backend whose timed calls cannot be believed."""
        if self.entry.checked:
            for stretch in self._stretches:
                self._check_answers(stretch.answer, stretch.images)
            self._check_times(self._stretches)
            self._check_memory(self._stretches)

    def _check_times(self, stretches: list[Stretch]) -> None:
        """Fail a backend whose times the parent's clock contradicts.

        On a busy machine the parent waits for more than the calls, so one stretch that agrees is
        enough, and longer ones are asked for where none does. Calls with pauses say nothing.
        """
        calls_us = min(stretch.median_us for stretch in stretches)
        judged = [] if any(self._between().values()) else list(stretches)
        for longer in range(_LONGER):
            if any(stretch.agrees(calls_us) for stretch in judged):
                return
            judged.append(self._stretch(stretches[0].images, _SHORTEST_S * 2**longer))
        if not judged[-1].agrees(calls_us):
            raise Failed("wrong", disagreement(judged))

    def _check_memory(self, stretches: Sequence[Stretch]) -> None:
        """Fail a backend that answered timed calls from memory: new images take much longer."""
        if not self.conditions.truth.new:
            return
        calls_us = min(stretch.median_us for stretch in stretches)
        for images in self.conditions.truth.new[_PROBES:]:
            probe = self._probe(images, 0.0)
            known_us = min(probe.rotated_us, calls_us)
            probe = CacheProbe(probe.repeated_us, known_us, probe.fresh_us)
            if not _remembers(probe):
                return
            # The machine may have become slower since.
            calls_us = self._stretch(stretches[0].images, _SHORTEST_S).median_us
        raise _remembering(probe)

    def _stretch(
        self, images: Known, seconds: float, quiet_loop_ns: int | None = None, **options: Any
    ) -> Stretch:
        most = self._most and self._most // STRETCHES
        asked_ns = time.perf_counter_ns()
        answer = self.ask(
            "time",
            self._pauses_s(),
            images=self._taken(images.images),
            seconds=seconds,
            quiet_loop_ns=quiet_loop_ns,
            **{"gaps": False, "patience": 1, "fewest": 1, "most": most, **options},
        )
        heard_ns = time.perf_counter_ns()
        began_ns, now_ns = answer["began_ns"], answer["now_ns"]
        # All processes share one clock, so the backend's times must lie between two of ours.
        if not asked_ns <= began_ns <= began_ns + answer["wall_ns"] <= now_ns <= heard_ns:
            raise Failed("wrong", "it changed the clock of its process")
        stretch = Stretch(answer, images, heard_ns - asked_ns)
        if stretch.timed_ns > stretch.waited_ns:
            raise Failed("wrong", disagreement([stretch]))
        return stretch

    def _probe(self, images: Known, seconds: float) -> CacheProbe:
        answer = self.ask("probe", images=images.images, seconds=seconds)
        answers = answer.pop("answers")
        self.check(answers, images.probabilities[: len(answers)])
        return CacheProbe(**answer)

    def time_batch(self, size: int, warm_s: float, timed_s: float) -> Batch:
        answer = self.ask("batch", size=size, warm_s=warm_s, timed_s=timed_s)
        if refusal := answer.get("refused"):
            raise Failed("wrong", refusal)
        self._check_answers(answer, self.conditions.truth.rotating)
        slices = tuple(map(tuple, answer["slices"]))
        return Batch(size, tuple(answer["samples_ns"].tolist()), slices)

    def _check_answers(self, answer: Mapping[str, Any], images: Known) -> None:
        self.check(answer["answers"], images.probabilities[answer["answered"]])

    def ask(self, do: str, longer_s: float = 0.0, **rest: Any) -> dict[str, Any]:
        """Ask a question of `worker.Built`; `longer_s` is added to the default timeout."""
        try:
            timeout_s = self.conditions.timeout_s + longer_s
            answer: dict[str, Any] = self.child.ask({"do": do, **rest}, timeout_s)
        except Died as death:
            raise Failed(_STATUS[death.how], self._explained(death.reason)) from None
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

    def _between(self) -> dict[str, Any]:
        names = ("interval_s", "cold_mb", "keep_warm_s")
        return {name: getattr(self.conditions, name) for name in names}

    def _pauses_s(self) -> float:
        return 2 * self.conditions.paced * (self.conditions.interval_s or 0.0)

    def check(self, answers: Floats, expected: Floats) -> None:
        """Raise Failed unless the answers equal the reference's within the tolerance."""
        truth = self.conditions.truth
        difference = truth.difference(answers, expected)
        allowed = truth.allowed(self.entry.tolerance)
        if not np.isfinite(difference):
            raise Failed("wrong", f"its {truth.said} are not finite, or of another shape")
        self.difference = max(self.difference or 0.0, difference)
        if difference > allowed:
            raise Failed(
                "wrong",
                f"its {truth.said} differ from {truth.judge} by {difference:.2g}, "
                f"more than the allowed {allowed:.0e}",
            )

    def _explained(self, reason: str) -> str:
        """The reason; or the wrong version of a package, which explains it."""
        if self.entry.factory:
            return reason
        return wrong_version(find(self.entry.name)[0], self.entry.name, reason) or reason


def _remembers(probe: CacheProbe) -> bool:
    return slower(probe.fresh_us, min(probe.repeated_us, probe.rotated_us))


def _remembering(probe: CacheProbe) -> Failed:
    known_us = min(probe.repeated_us, probe.rotated_us)
    return Failed(
        "wrong",
        f"it remembers answers: {units.time(known_us)} for an image that it has seen, "
        f"{units.time(probe.fresh_us)} for a new one",
    )


def default_conditions(
    devices: Iterable[str],
    threads: int = 1,
    weights: str | PathLike[str] | None = None,
    network: str = LENET,
) -> Conditions:
    """Conditions for starts outside of a comparison, on these devices."""
    return Conditions(
        cores=choose_cores(threads, cpus_near_gpu(devices)),
        variables=thread_variables(threads),
        threads=threads,
        weights=str(weights or default_path()),
        timeout_s=_TIMEOUT_S,
        truth=truth_of(network, weights, seed=0),
        network=network,
    )


def measure_block(entry: Entry, conditions: Conditions, task: Task) -> Block:
    """Run the block. A failing backend gives a block with that status."""
    began = time.monotonic()
    facts: dict[str, Any] = {}
    doing = "while starting: "
    start: Start | None = None
    try:
        start = Start(entry, conditions)
        watch = Watch(conditions.cores.worker)
        _check(start, task, facts)
        doing = f"in round {task.round + 1}: "
        _measure(start, task, watch, facts)
    except Failed as failure:
        doing = "" if failure.status in ("unavailable", "unsupported") else doing
        facts["status"] = failure.status
        facts["reason"] = _said(doing + failure.reason)
        facts["traceback"] = _said(failure.traceback or "", _LONGEST_TRACEBACK) or None
    finally:
        if start is not None:
            facts["output"] = portable(start.child.output())
            facts["difference"] = start.difference
            start.child.close()
            facts["left"] = tuple(map(portable, start.child.left))
    took_s = time.monotonic() - began
    return Block(backend=entry.name, round=task.round, at_s=task.at_s, took_s=took_s, **facts)


def _check(start: Start, task: Task, facts: dict[str, Any]) -> None:
    """Build the backend, and check its answers before anything is timed."""
    facts["cold_start"] = start.build()
    facts["runs"] = {portable(name): portable(value) for name, value in start.runs.items()}
    start.check_parity()
    if task.first and start.entry.checked:
        facts["cache_probe"] = start.check_cache()


def _description(described: Any) -> dict[str, str]:
    """A backend's description of itself; raise Failed unless it is a dict of few, short texts."""
    if not isinstance(described, dict):
        kind = type(described).__name__
        raise Failed("wrong", f"describe returned {kind}, expected a dictionary of texts")
    for text in (text for item in described.items() for text in item):
        if not isinstance(text, str):
            kind = type(text).__name__
            raise Failed("wrong", f"describe returned a dictionary with {kind}, expected texts")
        if len(text) > _LONGEST:
            length = f"{len(text)} characters"
            raise Failed("wrong", f"describe returned {length} in one text, expected {_LONGEST}")
    if len(described) > _MOST_FACTS:
        raise Failed("wrong", f"describe returned {len(described)} texts, expected {_MOST_FACTS}")
    return described


def _said(text: str, longest: int = _LONGEST) -> str:
    """What a backend said, as a result keeps it: without folders, the middle cut out if long."""
    return portable(without_middle(text, longest))


def _measure(start: Start, task: Task, watch: Watch, facts: dict[str, Any]) -> None:
    cores = start.conditions.cores
    _time(start, task.start_s or facts["cold_start"].total_s, task.quiet_loop_ns, facts)
    facts["steal_share"], facts["other_share"] = watch.shares(start.child.pid)
    facts["mhz"] = mhz(cores.worker)
    start.check_timing()
    if start.entry.checked:
        facts |= _time_batches(start, task.batches)
    if not task.apart:
        return
    try:
        if task.first:
            facts["anatomy"] = decode(Anatomy, start.ask("dissect"))
        answer = start.ask("run_experiments", longer_s=_EXPERIMENTS_S, cores=cores.one_more)
        facts["experiments"] = tuple(Experiment(**one) for one in answer["experiments"])
        if answer["no_experiments_reason"]:
            facts["no_experiments_reason"] = _said(answer["no_experiments_reason"])
    except Failed as failure:  # the block has no experiments then
        facts["no_experiments_reason"] = _said(failure.reason)


def _time(start: Start, start_s: float, quiet_loop_ns: int | None, facts: dict[str, Any]) -> None:
    """The timed calls. With an interval there is no warm-up, since applications have none.

    Beside busy processes all of them count, however slow the known loop.
    """
    c = start.conditions
    timed_s = min(_LONGEST_S, max(_SHORTEST_S, _TIMED_SHARE * start_s))
    warm_s = 0.0 if c.interval_s else _WARM_SHARE * timed_s
    on_gpu = start.entry.device == "gpu"
    meter = open_meter(start.runs, start.child.pid) if on_gpu else None
    if meter:
        start.warm(warm_s)
    before = meter.read() if meter else None
    answer = start.time(warm_s, timed_s, quiet_loop_ns)
    after = meter.read() if meter else None
    samples = tuple(answer.pop("samples_ns").tolist())
    facts |= {name: answer[name] for name in Block.__struct_fields__ if name in answer}
    facts |= {"samples_ns": samples, "cores": tuple(answer["cores"])}
    facts["slices"] = () if c.beside else tuple(map(tuple, answer["slices"]))
    if on_gpu:
        name = meter.name if meter else start.runs.get("device", "GPU")
        profile = start.ask("profile")["profile_us"]
        facts["gpu"] = used(name, before, after, len(samples), profile)


def _time_batches(start: Start, sizes: tuple[int, ...]) -> dict[str, Any]:
    """Throughput: a failure removes only this size, from this block on."""
    batches: list[Batch] = []
    refusals: dict[str, str] = {}
    for size in sizes:
        try:
            batches.append(start.time_batch(size, _WARM_SHARE * _BATCH_S, _BATCH_S))
        except Failed as failure:
            refusals[str(size)] = _said(failure.reason)
            if start.child.ended:
                break
    return {"batches": tuple(batches), "batch_refusals": refusals}
