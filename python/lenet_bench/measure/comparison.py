"""The run: every rung in a process of its own, checked, then timed in shuffled rounds.

The parent never computes or draws while a worker times: it sleeps until the worker answers.
"""

import json
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from datetime import datetime, timezone
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends import load
from ..errors import ResultError
from ..results import (
    SCHEMA,
    CacheProbe,
    ColdStart,
    Ended,
    Resources,
    Result,
    ResultFile,
    Rules,
    RungResult,
    Status,
    Turn,
)
from ..weights import default_path, read_weights
from . import empty, inputs
from .disturbance import Watch
from .environment import read_environment
from .options import USUAL_BUDGET_S, CompareOptions, Entry
from .pinning import choose_cores, on_cores, thread_variables
from .process import WorkerError, WorkerProcess
from .protocol import Message, decode, encode
from .schedule import StopRule, shuffled_rounds, turn_length
from .statistics import CONFIDENCE, median_interval, relative_width
from .summary import medians_us, summarise

Floats = NDArray[np.float32]

_ROTATING = 10
_FLOOR_CALLS = 1000  # of the empty rung in a turn: the time would allow half a million
_ASKED_AFTERWARDS = 4  # images that no rung has seen before the timing is over
_CACHED = 1.5  # a new image takes so many times what a known one does
_CACHED_AT_LEAST_US = 1.0
_PROBES = 3  # all must say so, since a noisy machine may say it once


@dataclass(frozen=True)
class Progress:
    """Where a run stands; told between turns only."""

    doing: str
    elapsed_s: float
    rounds: int
    share: float | None = None  # of the way to the end, where the stop rule tells


class NotSavedError(ResultError):
    """Measured, but the file could not be written; `result` holds it all."""

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message)
        self.result = result


def compare(
    options: CompareOptions | None = None,
    progress: Callable[[Progress], None] = lambda _: None,
) -> Result:
    """Measure the rungs side by side.

    A rung that fails costs its own row. Ctrl-C ends the run, and the result holds what was
    measured until then; so does the output file at any moment.
    """
    options = options or CompareOptions()
    options.check()
    return _Comparison(options, progress).run()


@dataclass
class _Row:
    """A rung while it is measured."""

    entry: Entry
    worker: WorkerProcess | None = None
    status: Status = "unmeasured"
    reason: str | None = None
    traceback: str | None = None
    output: str = ""
    runs: dict[str, str] | None = None
    difference: float | None = None
    cold_start: ColdStart | None = None
    cache_probe: CacheProbe | None = None
    turns: list[Turn] = field(default_factory=list)
    threads_alive: int | None = None
    threads_running: int | None = None
    peak_rss_mib: float | None = None
    idle_ns: int = 0
    idle_cpu_ns: int = 0

    @property
    def live(self) -> WorkerProcess | None:
        """Its worker, where it may be timed."""
        return self.worker if self.status == "ok" else None

    def fail(self, failure: WorkerError, when: str) -> None:
        """The row ends here."""
        self.status, self.traceback = failure.status, failure.traceback
        self.reason = f"{when}: {failure.reason}" if when else failure.reason
        self.close()

    def close(self) -> None:
        """Keep the worker's output and end it."""
        if self.worker is not None:
            self.output = self.worker.output()
            self.worker.close()
            self.worker = None

    def result(self) -> RungResult:
        """The row as it stands."""
        timed = bool(self.turns)
        return RungResult(
            name=self.entry.name,
            status=self.status,
            reason=self.reason,
            traceback=self.traceback,
            output=self.worker.output() if self.worker else self.output,
            python=self.entry.python,
            runs=self.runs,
            tolerance=self.entry.tolerance if self.entry.checked else None,
            difference=self.difference,
            cold_start=self.cold_start,
            cache_probe=self.cache_probe,
            resources=self._resources() if timed else None,
            turns=tuple(self.turns),
        )

    def _resources(self) -> Resources:
        return Resources(
            threads_alive=self.threads_alive,
            threads_running=self.threads_running,
            idle_share=self.idle_cpu_ns / self.idle_ns if self.idle_ns else 0.0,
            peak_rss_mib=self.peak_rss_mib,
        )


class _Comparison:
    """One run."""

    def __init__(self, options: CompareOptions, progress: Callable[[Progress], None]) -> None:
        self._began = time.monotonic()
        self._started = datetime.now(timezone.utc).isoformat(timespec="seconds")
        self._options = options
        self._progress = progress
        self._rows = [_Row(entry) for entry in options.entries()]
        floor = Entry(empty.NAME, factory=f"{empty.__name__}:Empty", checked=False)
        self._floor = _Row(floor)
        self._everyone = [self._floor, *self._rows]

        self._weights = read_weights(options.weights)
        self._file = ResultFile(options.output) if options.output is not None else None
        if self._file:
            self._file.check()
        self._cores = choose_cores(options.threads)
        self._watch = Watch(self._cores.worker)
        self._rules = self._make_rules()
        self._stop = StopRule(self._rules.budget_s, options.precision, options.rounds)
        self._order: list[tuple[str, ...]] = []
        self._rounds_began: float | None = None
        self._machine = json.loads(json.dumps(read_environment().to_json()))  # lists, as in files
        self._images = inputs.strokes(_ROTATING, seed=0)
        self._expected = self._reference(self._images)

    def run(self) -> Result:
        """All of it; an interrupt ends it early."""
        ended: Ended = "interrupted"
        try:
            with _interrupts(), on_cores(self._cores.parent):
                for row in self._everyone:
                    self._start(row)
                ended = self._time_rounds()
                self._ask_afterwards()
        except KeyboardInterrupt:
            ended = "interrupted"
        finally:
            for row in self._everyone:
                row.close()
        return self._finish(ended)

    def _start(self, row: _Row) -> None:
        """Cold start, parity, and whether it remembers answers: all before any clock counts."""
        self._tell(f"starting {row.entry.name}")
        entry = row.entry
        try:
            row.worker = WorkerProcess(entry.python, self._rules.variables, self._cores)
            self._build(row, row.worker)
            if entry.checked:
                edges = inputs.edge_cases(seed=0)
                self._check(row, self._ask(row, "keep", images=encode(self._images)), self._images)
                self._check(row, self._ask(row, "check", images=encode(edges)), edges)
                self._probe(row)
            else:
                self._ask(row, "keep", images=encode(self._images))
            row.status = "ok"
        except WorkerError as failure:
            row.fail(failure, "" if failure.status == "unavailable" else "while starting")

    def _build(self, row: _Row, worker: WorkerProcess) -> None:
        reply = self._ask(
            row,
            "start",
            spawned_ns=worker.spawned_ns,
            name=row.entry.name,
            factory=row.entry.factory,
            path=row.entry.path,
            threads=self._options.threads,
            weights=self._rules.weights,
            image=encode(self._images[0]),
        )
        row.cold_start = ColdStart(**reply["cold_start"])
        row.runs = reply["runs"]

    def _probe(self, row: _Row) -> None:
        """A rung that is much slower on new images than on those that it knows has kept answers."""
        for _ in range(_PROBES):
            row.cache_probe = probe = CacheProbe(**self._ask(row, "probe"))
            known = min(probe.repeated_us, probe.rotated_us)
            if probe.fresh_us < known * _CACHED + _CACHED_AT_LEAST_US:
                return
        raise WorkerError(
            "wrong",
            f"it remembers answers: {known:.3g} us for an image that it has seen, "
            f"{probe.fresh_us:.3g} us for a new one",
        )

    def _time_rounds(self) -> Ended:
        """Rounds until the stop rule says so, the file up to date after each."""
        self._rounds_began = time.monotonic()
        names = [row.entry.name for row in self._everyone]
        rows = {row.entry.name: row for row in self._everyone}
        for number, order in enumerate(shuffled_rounds(names, self._rules.seed)):
            if not any(row.live for row in self._rows):
                return "nothing to time"
            elapsed_s = time.monotonic() - self._rounds_began
            if ended := self._stop.reached(elapsed_s, number, self._widest()):
                return ended
            self._tell(f"round {number + 1}")
            timed = [name for name in order if rows[name].live]
            for name in timed:
                self._turn(rows[name], number)
            self._order.append(tuple(timed))
            self._save()
        raise AssertionError("rounds never run out")

    def _turn(self, row: _Row, number: int) -> None:
        """One rung's turn; its answers are checked too, since it might cheat only when timed."""
        assert self._rounds_began is not None
        at_s = time.monotonic() - self._rounds_began
        try:
            with self._watch.turn():
                most = None if row.entry.checked else _FLOOR_CALLS
                length = {"warm_s": self._rules.warm_s, "timed_s": self._rules.timed_s}
                reply = self._ask(row, "turn", **length, most=most)
            self._watch.rung_used(reply["turn_cpu_ns"] / 1e9)
            if row.entry.checked:
                answered = reply["answered"]
                self._check(row, reply, self._images[answered], self._expected[answered])
            found = {f.name: reply[f.name] for f in fields(Turn) if f.name in reply}
            found["samples_ns"] = tuple(reply["samples_ns"])
            row.turns.append(Turn(round=number, at_s=at_s, **found))
            row.threads_alive = reply["threads_alive"]
            row.threads_running = _most(row.threads_running, reply["threads_running"])
            row.peak_rss_mib = reply["peak_rss_mib"]
            row.idle_ns += reply["idle_ns"]
            row.idle_cpu_ns += reply["idle_cpu_ns"]
        except WorkerError as failure:
            row.fail(failure, f"in round {number + 1}")

    def _ask_afterwards(self) -> None:
        """Images that nobody could foresee: a rung must still compute."""
        images = inputs.strokes(_ASKED_AFTERWARDS, seed=self._rules.seed)
        expected = self._reference(images)
        for row in self._rows:
            if row.live:
                try:
                    reply = self._ask(row, "check", images=encode(images))
                    self._check(row, reply, images, expected)
                except WorkerError as failure:
                    row.fail(failure, "after the last round")

    def _ask(self, row: _Row, do: str, **rest: Any) -> Message:
        assert row.worker is not None
        return row.worker.ask(do, self._options.timeout_s, **rest)

    def _check(
        self, row: _Row, reply: Message, images: Floats, expected: Floats | None = None
    ) -> None:
        """Raise WorkerError unless the answers are the reference's within the tolerance."""
        expected = self._reference(images) if expected is None else expected
        differences = np.abs(decode(reply["answers"], -1, expected.shape[1]) - expected)
        difference = float(differences.max(initial=0))
        if not np.isfinite(difference):
            raise WorkerError("wrong", "its probabilities are not finite")
        row.difference = max(row.difference or 0.0, difference)
        if difference > row.entry.tolerance:
            raise WorkerError(
                "wrong",
                f"its probabilities differ from the reference's by {difference:.2g}, "
                f"and {row.entry.tolerance:.0e} is allowed",
            )

    def _reference(self, images: Floats) -> Floats:
        return load("reference", weights=self._weights).infer(images)

    def _widest(self) -> float:
        """The worst known median, where precision is what ends the run."""
        if self._options.precision is None:
            return float("inf")
        seed = self._rules.seed
        live = [list(medians_us(row.turns).values()) for row in self._rows if row.live]
        return max(relative_width(median_interval(medians, seed)) for medians in live)

    def _tell(self, doing: str) -> None:
        now, rounds = time.monotonic(), len(self._order)
        shares = []
        if self._rounds_began and self._stop.budget_s:
            shares.append((now - self._rounds_began) / self._stop.budget_s)
        if self._rounds_began and self._stop.rounds:
            shares.append(rounds / self._stop.rounds)
        share = min(1.0, max(shares)) if shares else None
        self._progress(Progress(doing, now - self._began, rounds, share))

    def _save(self) -> None:
        """Between rounds a full disk is no reason to stop; at the end it is said."""
        if self._file:
            with suppress(ResultError):
                self._file.write(self._result("running"), last=False)

    def _finish(self, ended: Ended) -> Result:
        result = summarise(self._result(ended))
        if self._file:
            try:
                self._file.write(result)
            except ResultError as error:
                raise NotSavedError(str(error), result) from None
        return result

    def _result(self, ended: Ended) -> Result:
        return Result(
            schema=SCHEMA,
            version=version("lenet-bench"),
            argv=self._options.argv,
            started=self._started,
            ended=ended,
            elapsed_s=time.monotonic() - self._began,
            machine=self._machine,
            rules=self._rules,
            order=tuple(self._order),
            floor=self._floor.result(),
            rungs=tuple(row.result() for row in self._rows),
            disturbance=self._watch.seen(),
            warnings=(),
        )

    def _make_rules(self) -> Rules:
        options = self._options
        budget_s = options.budget_s
        if budget_s is None and options.precision is None and options.rounds is None:
            budget_s = USUAL_BUDGET_S
        length = turn_length(budget_s, len(self._everyone))
        seed = random.SystemRandom().getrandbits(32) if options.seed is None else options.seed
        return Rules(
            seed=seed,
            baseline=options.baseline,
            margin=options.margin,
            confidence=CONFIDENCE,
            budget_s=budget_s,
            precision=options.precision,
            rounds=options.rounds,
            timeout_s=options.timeout_s,
            warm_s=length.warm_s,
            timed_s=length.timed_s,
            images=_ROTATING,
            threads=options.threads,
            worker_cores=self._cores.worker,
            parent_cores=self._cores.parent,
            variables=thread_variables(options.threads),
            weights=str(options.weights or default_path()),
            weights_sha256=self._weights.sha256,
        )


@contextmanager
def _interrupts() -> Iterator[None]:
    """A polite kill and a closed terminal end a run as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = {
        number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _most(one: int | None, other: int | None) -> int | None:
    known = [value for value in (one, other) if value is not None]
    return max(known, default=None)
