"""One block: a process is started, checked, warmed up, timed, checked again, ended."""

import time
from dataclasses import dataclass, field, replace
from typing import Any

from ..cost import installed_mib, lines_of_code
from ..probes import onednn_verbose
from ..results import Anatomy, Batch, Block, Experiment, Kernel
from ..results.portable import portable
from ..results.versioned import decode
from .gpu import open_meter, used
from .options import Entry
from .start import Conditions, Failed, Start
from .watch import Watch, mhz

_WARM_SHARE = 1 / 5  # of the timed time: caches refill within some calls, AVX-512's clocks in 1 ms
_TIMED_SHARE = 1 / 4  # of what the start took: starts differ more than the calls of one
_SHORTEST_S, _LONGEST_S = 0.05, 0.5
_BATCH_S = 0.05
_CALLS_AFTER_GAPS = 10
_EXPERIMENTS_S = 180.0  # that they may take longer than any other answer


@dataclass(frozen=True)
class Task:
    round: int
    at_s: float  # since the run began
    first: bool  # of this backend: its cache is probed too
    start_s: float | None  # what its first start took
    usual_ns: int | None = None  # what the known loop takes beside it on a quiet machine
    batches: tuple[int, ...] = ()  # sizes to time
    apart: bool = False  # the call is taken apart too
    prices: bool = False  # other networks are timed too


@dataclass
class _Measured:
    """The fields of a block so far."""

    doing: str = "while starting"
    facts: dict[str, Any] = field(default_factory=dict)

    def fail(self, failure: Failed) -> None:
        """End the block with this failure, and name the step in which it happened."""
        doing = "" if failure.status == "unavailable" else f"{self.doing}: "
        self.facts["status"] = failure.status
        self.facts["reason"] = portable(doing + failure.reason)
        self.facts["traceback"] = portable(failure.traceback) if failure.traceback else None


def measure_block(entry: Entry, conditions: Conditions, task: Task) -> Block:
    """Run the block. A failing backend gives a block with that status."""
    began = time.monotonic()
    measured = _Measured()
    start: Start | None = None
    try:
        start = Start(entry, conditions)
        _measure(start, conditions, task, measured)
    except Failed as failure:
        measured.fail(failure)
    finally:
        if start is not None:
            measured.facts["output"] = portable(start.child.output())
            measured.facts["difference"] = start.difference
            start.child.close()
    if task.first:
        measured.facts["lines_of_code"] = lines_of_code(entry.name)
        measured.facts["installed_mib"] = installed_mib(entry.name)
    return Block(
        backend=entry.name,
        round=task.round,
        at_s=task.at_s,
        took_s=time.monotonic() - began,
        **measured.facts,
    )


def _measure(start: Start, conditions: Conditions, task: Task, measured: _Measured) -> None:
    watch = Watch(conditions.cores.worker)
    cold_start = start.build()
    runs = {portable(name): portable(value) for name, value in start.runs.items()}
    measured.facts |= {"cold_start": cold_start, "runs": runs}
    start.check_parity()
    if task.first and start.entry.checked:
        measured.facts["cache_probe"] = start.check_cache()
    measured.doing = f"in round {task.round + 1}"
    timed_s = _timed_s(task.start_s or cold_start.total_s, conditions.interval_s)
    _time(start, conditions, timed_s, task.usual_ns, measured)
    steal, other = watch.shares(start.child.pid)
    measured.facts |= {"steal_share": steal, "other_share": other}
    measured.facts["mhz"] = mhz(conditions.cores.worker)
    start.check_images(conditions.truth.unforeseen)
    if start.entry.checked:
        measured.facts |= _time_batches(start, task.batches)
    if task.apart or task.prices:
        try:
            if task.apart and task.first:
                measured.facts["anatomy"] = decode(Anatomy, start.ask("dissect"))
            _experiment(start, measured, "take_apart" if task.apart else "price")
        except Failed as failure:  # the call is left whole
            measured.facts["whole"] = portable(failure.reason)


def _experiment(start: Start, measured: _Measured, do: str) -> None:
    """The experiments, or why they failed within the process; and what the engine says itself."""
    cores = start.conditions.cores.one_more
    answer = start.ask(do, longer_s=_EXPERIMENTS_S, cores=cores)
    measured.facts["experiments"] = tuple(Experiment(**one) for one in answer["experiments"])
    if reason := answer["whole"]:
        measured.facts["whole"] = portable(reason)
    if do == "take_apart":
        measured.facts |= _heard(start)


def _heard(start: Start) -> dict[str, Any]:
    """Times of the engine's profiler and, in another process, of the oneDNN in it."""
    found: list[Kernel] = []
    failures: list[str] = []
    for by, ask in (("engine", _of_engine), ("oneDNN", _of_onednn)):
        try:
            kernels, reason = ask(start)
            found += kernels
        except Failed as failure:
            reason = failure.reason
        if reason:
            failures.append(f"{by}: {portable(reason)}")
    return {"kernels": tuple(found), "unheard": "; ".join(failures) or None}


def _of_engine(start: Start) -> tuple[list[Kernel], str | None]:
    answer = start.ask("kernels", by="engine")
    return [Kernel(**one) for one in answer["kernels"]], answer["unheard"]


def _of_onednn(start: Start) -> tuple[list[Kernel], str | None]:
    """Times of oneDNN, from a new start: the library reads its verbose setting once."""
    entry = start.entry
    if entry.factory or entry.device == "gpu":
        return [], None
    if entry.name.partition(":")[0] not in onednn_verbose.HOLD_IT:
        return [], None
    variables = {**entry.variables, **onednn_verbose.VARIABLES}
    other = Start(replace(entry, variables=variables), start.conditions)
    try:
        other.build()
        other.ask("keep", images=start.conditions.truth.rotating)
        answer = other.ask("kernels", by="oneDNN")
        version = onednn_verbose.version_in(f"{other.child.output()} {other.runs.get('library')}")
    finally:
        other.child.close()
    return [Kernel(**{**one, "by": version}) for one in answer["kernels"]], answer["unheard"]


def _timed_s(start_s: float, interval_s: float | None) -> float:
    timed_s = min(_LONGEST_S, max(_SHORTEST_S, _TIMED_SHARE * start_s))
    return max(timed_s, _CALLS_AFTER_GAPS * interval_s) if interval_s else timed_s


def _time(
    start: Start,
    conditions: Conditions,
    timed_s: float,
    usual_ns: int | None,
    measured: _Measured,
) -> None:
    """The timed calls. With gaps there is no warm-up, since applications have none."""
    warm_s = 0.0 if conditions.interval_s else _WARM_SHARE * timed_s
    meter = open_meter(start.runs, start.child.pid) if start.entry.device == "gpu" else None
    if meter:
        start.warm(warm_s)
    before = meter.read() if meter else None
    answer = start.time(warm_s, timed_s, usual_ns)
    after = meter.read() if meter else None
    samples = tuple(answer.pop("samples_ns").tolist())
    slices = tuple(map(tuple, answer.pop("slices")))
    facts = {name: answer[name] for name in Block.__struct_fields__ if name in answer}
    facts |= {"samples_ns": samples, "slices": slices, "cores": tuple(answer["cores"])}
    measured.facts |= facts
    if start.entry.device == "gpu":
        name = meter.name if meter else start.runs.get("device", "GPU")
        profile = start.ask("profile")["profile_us"]
        measured.facts["gpu"] = used(name, before, after, len(samples), profile)


def _time_batches(start: Start, sizes: tuple[int, ...]) -> dict[str, Any]:
    """Throughput: a failure removes only this size, from this block on."""
    batches: list[Batch] = []
    refusals: dict[str, str] = {}
    for size in sizes:
        try:
            batches.append(start.time_batch(size, _WARM_SHARE * _BATCH_S, _BATCH_S))
        except Failed as failure:
            refusals[str(size)] = portable(failure.reason)
            if start.child.ended:
                break
    return {"batches": tuple(batches), "batch_refusals": refusals}
