"""One rung while it is measured: its process, the checks that it must pass, and its turns."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..backends import find, wrong_version
from ..cost import installed_mib, lines_of_code
from ..results import Batch, CacheProbe, ColdStart, Gpu, Resources, RungResult, Status, Turn
from .gpu import GpuUse
from .loadgen import AtHand, Test
from .options import Entry
from .pinning import Cores
from .process import WorkerError, WorkerProcess
from .protocol import Message, decode, encode
from .schedule import CALLS_AFTER_GAPS, Pace
from .truth import Floats, Truth

_CACHED = 1.5  # a new image takes so many times what a known one does
_CACHED_AT_LEAST_US = 1.0
_PROBES = 3  # all must say so, since a noisy machine may say it once
_FLOOR_CALLS = 1000  # of the empty rung in a turn: the time would allow half a million


@dataclass(frozen=True)
class Conditions:
    """What is the same for all rungs."""

    cores: Cores
    variables: Mapping[str, str]
    threads: int
    weights: str
    timeout_s: float
    interval_s: float | None
    truth: Truth


class Row:
    """A rung from its first start to its row in the result."""

    def __init__(self, entry: Entry, conditions: Conditions) -> None:
        self.entry = entry
        self._conditions = conditions
        self._worker: WorkerProcess | None = None
        self._status: Status = "unmeasured"
        self._reason: str | None = None
        self._traceback: str | None = None
        self._output = ""
        self._runs: Mapping[str, str] | None = None
        self._difference: float | None = None
        self._cold_starts: list[ColdStart] = []
        self._cache_probe: CacheProbe | None = None
        self.turns: list[Turn] = []
        self._batches: dict[int, Batch] = {}
        self._batch_refusals: dict[int, str] = {}
        self._threads_alive: int | None = None
        self._threads_running: int | None = None
        self._peak_rss_mib: float | None = None
        self._gpu_name: str | None = None
        self._gpu_use = GpuUse()
        self._profile_us: Mapping[str, float] | None = None
        self._idle_ns = self._idle_cpu_ns = 0
        self._checked = False  # in this run, with all the checks

    @property
    def name(self) -> str:
        """As in the result."""
        return self.entry.name

    @property
    def live(self) -> bool:
        """Whether it may be timed."""
        return self._worker is not None and self._status == "ok"

    @property
    def hopeful(self) -> bool:
        """Whether it has not failed yet."""
        return self._status in ("ok", "unmeasured")

    @property
    def pid(self) -> int | None:
        """Its process's."""
        return self._worker.pid if self._worker else None

    @property
    def restarts(self) -> int:
        """How often it was started again, in all."""
        return len(self._cold_starts) - 1

    def has_run(self, round: int) -> bool:
        """Whether it was timed in this round."""
        return bool(self.turns) and self.turns[-1].round >= round

    @property
    def cold_start_s(self) -> float:
        """What its last start took, up to the first answer."""
        return self._cold_starts[-1].total_s

    def start(self) -> None:
        """A new process, parity and, the first time, whether it remembers answers.

        The old process ends only once the new one stands, so that this one's memory is not the
        old one's again: where the weights lie is half of a rung's luck.
        """
        first, old = not self._checked, self._worker
        try:
            c = self._conditions
            self._worker = WorkerProcess(
                self.entry.python, {**c.variables, **self.entry.variables}, c.cores
            )
            self._build(self._worker.spawned_ns)
            self._check_parity(whole=first)
            if first and self.entry.checked:
                self._check_cache()
            self._status, self._checked = "ok", True
        except WorkerError as failure:
            when = "while starting" if first else f"in start {len(self._cold_starts) + 1}"
            self._fail(failure, when if failure.status != "unavailable" else "")
        finally:
            if old is not None and old is not self._worker:  # an interrupt may come before the new
                old.close()

    def turn(self, round: int, at_s: float, pace: Pace) -> float:
        """Be timed; the CPU seconds it used. Answers are checked: it might cheat only now."""
        most = None if self.entry.checked else _FLOOR_CALLS
        try:
            times = {"warm_s": pace.warm_s, "timed_s": pace.timed_s}
            reply = self._ask("turn", **times, most=most, interval_s=self._conditions.interval_s)
            if self.entry.checked:
                self._check(reply, self._conditions.truth.of_rotating(reply["answered"]))
        except WorkerError as failure:
            self._fail(failure, f"in round {round + 1}")
            return 0.0
        found = {f.name: reply[f.name] for f in fields(Turn) if f.name in reply}
        found["samples_ns"] = tuple(reply["samples_ns"])
        self.turns.append(Turn(round=round, at_s=at_s, start=len(self._cold_starts), **found))
        self._threads_alive = _most(self._threads_alive, reply["threads_alive"])
        self._threads_running = _most(self._threads_running, reply["threads_running"])
        self._peak_rss_mib = _most(self._peak_rss_mib, reply["peak_rss_mib"])
        if reply["gpu"]:
            self._gpu_use.add(reply["gpu"], calls=len(reply["samples_ns"]))
        self._idle_ns += reply["idle_ns"]
        self._idle_cpu_ns += reply["idle_cpu_ns"]
        return float(reply["turn_cpu_ns"]) / 1e9

    def takes(self, size: int) -> bool:
        """Whether it may be timed with batches of that size: it has not refused one yet."""
        return self._status == "ok" and self.entry.checked and size not in self._batch_refusals

    def batch_rounds(self, size: int) -> int:
        """In how many rounds it was timed with that size."""
        return self._batches[size].rounds if size in self._batches else 0

    def batch_turn(self, size: int, pace: Pace) -> None:
        """Be timed with so many images a call; what goes wrong costs this size only."""
        if not self.live:  # an earlier size ended the process
            self.start()
        if not self.live:
            return
        try:
            reply = self._ask("batch", size=size, warm_s=pace.warm_s, timed_s=pace.timed_s)
            if refusal := reply.get("refused"):
                raise WorkerError("wrong", refusal)
            self._check(reply, self._conditions.truth.of_rotating(reply["answered"]))
        except WorkerError as failure:
            self._batches.pop(size, None)
            self._batch_refusals[size] = failure.reason
            if self._worker and self._worker.ended:
                self.close()
            return
        before = self._batches.get(size, Batch(size, ()))
        samples = (*before.samples_ns, *reply["samples_ns"])
        self._batches[size] = replace(before, samples_ns=samples, rounds=before.rounds + 1)

    def set_aside(self) -> None:
        """End the process, to start again when there is room."""
        self._status = "unmeasured"
        self.close()

    def take_over(self, before: RungResult, *, retry: bool) -> None:
        """What an earlier run measured of it; where it failed, that is so unless it may `retry`."""
        failed = before.status not in ("ok", "unmeasured")
        if failed and not retry:
            self._status, self._reason = before.status, before.reason
            self._traceback, self._output = before.traceback, before.output
        self._runs, self._difference = before.runs, before.difference
        self._cold_starts = list(before.cold_starts)
        self._cache_probe = before.cache_probe
        self.turns = list(before.turns)
        if before.gpu:
            self._gpu_name, self._profile_us = before.gpu.name, before.gpu.profile_us
            self._gpu_use.take_over(before.gpu, self.turns)
        self._batches = {batch.size: batch for batch in before.batches}
        if not retry:
            self._batch_refusals = {int(n): why for n, why in before.batch_refusals.items()}
        if before.resources and self.turns:
            self._threads_alive = before.resources.threads_alive
            self._threads_running = before.resources.threads_running
            self._peak_rss_mib = before.resources.peak_rss_mib
            self._idle_ns = int(self.turns[-1].at_s * 1e9)
            self._idle_cpu_ns = int(self._idle_ns * before.resources.idle_share)

    def ask_unforeseen(self) -> None:
        """Images that nobody could foresee: it must still compute."""
        if not self.entry.checked:
            return
        images = self._conditions.truth.unforeseen
        try:
            self._check(self._ask("check", images=encode(images)), self._truth_of(images))
        except WorkerError as failure:
            self._fail(failure, "after the last round")

    def ask_profile(self) -> None:
        """Where a call on a GPU spends its time: a run of its own, after all that is timed."""
        if self.entry.device != "gpu":
            return
        try:
            self._profile_us = self._ask("profile")["profile_us"]
        except WorkerError as failure:
            self._fail(failure, "while it was profiled")

    def dissect(self, seconds: float) -> Message | None:
        """What a call is made of; None where it failed or never ran."""
        if not self.live:
            return None
        try:
            return self._ask("dissect", seconds=seconds)
        except WorkerError as failure:
            self._fail(failure, "while a call was taken apart")
            return None

    def loadgen(
        self, images: Floats, folder: Path, test: Test, at_hand: AtHand, longer_s: float
    ) -> Message | None:
        """Be asked by MLPerf's LoadGen, whose logs go to the folder; None where it failed.

        It says nothing until it ends, and is waited for so much longer.
        """
        rest = {"folder": str(folder.resolve()), "test": asdict(test), "parents": asdict(at_hand)}
        try:
            return self._ask("loadgen", longer_s, images=encode(images), **rest)
        except WorkerError as failure:
            self._fail(failure, "" if failure.status == "unavailable" else "asked by LoadGen")
            return None

    def close(self) -> None:
        """End the worker and keep what it printed."""
        if self._worker is not None:
            self._output = self._worker.output()
            self._worker.close()
            self._worker = None

    def result(self) -> RungResult:
        """The row as it stands."""
        return RungResult(
            name=self.name,
            status=self._status,
            reason=self._reason,
            traceback=self._traceback,
            output=self._worker.output() if self._worker else self._output,
            python=self.entry.python,
            runs=self._runs,
            tolerance=self.entry.tolerance if self.entry.checked else None,
            difference=self._difference,
            cold_starts=tuple(self._cold_starts),
            cache_probe=self._cache_probe,
            resources=self._resources() if self.turns else None,
            device=self.entry.device,
            gpu=self._gpu(),
            lines_of_code=lines_of_code(self.name),
            installed_mib=installed_mib(self.name),
            batches=tuple(self._batches[size] for size in sorted(self._batches)),
            batch_refusals={str(size): self._batch_refusals[size] for size in self._batch_refusals},
            turns=tuple(self.turns),
        )

    def _fail(self, failure: WorkerError, when: str) -> None:
        """The row ends here."""
        self._status, self._traceback = failure.status, failure.traceback
        reason = f"{when}: {failure.reason}" if when else failure.reason
        if failure.status in ("crashed", "timeout") and not self.entry.factory:
            reason = wrong_version(find(self.name)[0], self.name, reason) or reason
        self._reason = reason
        self.close()

    def _build(self, spawned_ns: int) -> None:
        c = self._conditions
        reply = self._ask(
            "start",
            spawned_ns=spawned_ns,
            name=self.name,
            factory=self.entry.factory,
            path=self.entry.path,
            device=self.entry.device,
            threads=c.threads,
            weights=c.weights,
            image=encode(c.truth.rotating[0]),
        )
        self._cold_starts.append(ColdStart(**reply["cold_start"]))
        self._runs = reply["runs"]
        self._gpu_name = reply["gpu"] or reply["runs"].get("device")

    def _check_parity(self, whole: bool) -> None:
        """The images that will rotate and, where the check is to be whole, the edge cases."""
        truth = self._conditions.truth
        reply = self._ask("keep", images=encode(truth.rotating))
        if not self.entry.checked:
            return
        self._check(reply, truth.of_rotating(list(range(len(truth.rotating)))))
        if whole:
            reply = self._ask("check", images=encode(truth.edges))
            self._check(reply, self._truth_of(truth.edges))

    def _check_cache(self) -> None:
        """A rung that is much slower on new images than on those that it knows has kept answers."""
        for _ in range(_PROBES):
            self._cache_probe = probe = CacheProbe(**self._ask("probe"))
            known = min(probe.repeated_us, probe.rotated_us)
            if probe.fresh_us < known * _CACHED + _CACHED_AT_LEAST_US:
                return
        raise WorkerError(
            "wrong",
            f"it remembers answers: {known:.3g} us for an image that it has seen, "
            f"{probe.fresh_us:.3g} us for a new one",
        )

    def _check(self, reply: Message, expected: Floats) -> None:
        """Raise WorkerError unless the answers are the reference's within the tolerance."""
        answers = decode(reply["answers"], -1, expected.shape[1])
        difference = float(np.abs(answers - expected).max(initial=0))
        if not np.isfinite(difference):
            raise WorkerError("wrong", "its probabilities are not finite")
        self._difference = max(self._difference or 0.0, difference)
        if difference > self.entry.tolerance:
            raise WorkerError(
                "wrong",
                f"its probabilities differ from the reference's by {difference:.2g}, "
                f"and {self.entry.tolerance:.0e} is allowed",
            )

    def _truth_of(self, images: Floats) -> Floats:
        return self._conditions.truth.of(images)

    def _ask(self, do: str, longer_s: float = 0.0, **rest: Any) -> Message:
        assert self._worker is not None
        timeout_s = self._conditions.timeout_s + longer_s + self._idle_s() * (do == "turn")
        return self._worker.ask(do, timeout_s, **rest)

    def _idle_s(self) -> float:
        """What a turn spends on gaps, twice that to be safe: a rung is not to blame for them."""
        return 2 * CALLS_AFTER_GAPS * (self._conditions.interval_s or 0.0)

    def _gpu(self) -> Gpu | None:
        if self.entry.device != "gpu" or self._gpu_name is None:
            return None
        return self._gpu_use.total(self._gpu_name, self._profile_us)

    def _resources(self) -> Resources:
        return Resources(
            threads_alive=self._threads_alive,
            threads_running=self._threads_running,
            idle_share=self._idle_cpu_ns / self._idle_ns if self._idle_ns else 0.0,
            peak_rss_mib=self._peak_rss_mib,
        )


def _most(one: Any, other: Any) -> Any:
    known = [value for value in (one, other) if value is not None]
    return max(known, default=None)
