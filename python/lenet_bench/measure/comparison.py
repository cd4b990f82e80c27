"""The run: every rung in a process of its own, checked, then timed in shuffled rounds.

The parent never computes or draws while a worker times: it sleeps until the worker answers.
"""

import json
import random
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from importlib.metadata import version
from itertools import islice

from ..errors import ResultError
from ..results import SCHEMA, Ended, Result, ResultFile, Rules
from ..weights import default_path, read_weights
from . import empty
from .disturbance import Watch
from .environment import read_environment
from .options import USUAL_BUDGET_S, CompareOptions, Entry
from .pinning import Cores, choose_cores, on_cores, thread_variables
from .row import Conditions, Row
from .schedule import (
    BATCH_ROUNDS,
    RESTARTED_S,
    Pace,
    StopRule,
    batch_pace,
    choose_pace,
    share_budget,
    shuffled,
    with_gaps,
)
from .statistics import CONFIDENCE, by_start, median_interval, relative_width
from .summary import medians_us, summarise
from .truth import ROTATING, Truth


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


class _Comparison:
    """One run."""

    def __init__(self, options: CompareOptions, progress: Callable[[Progress], None]) -> None:
        self._began = time.monotonic()
        self._started = datetime.now(timezone.utc).isoformat(timespec="seconds")
        self._options = options
        self._progress = progress
        entries, weights = options.entries(), read_weights(options.weights)
        self._file = ResultFile(options.output) if options.output is not None else None
        if self._file:
            self._file.check()
        self._machine = json.loads(json.dumps(read_environment().to_json()))  # lists, as in files
        self._cores = choose_cores(options.threads)
        self._watch = Watch(self._cores.worker)
        self._pace = choose_pace(None, None, rungs=1, start_s=0.0)  # until a start is timed
        self._rules = _rules(options, self._cores, weights.sha256, self._pace)
        singles_s, self._batches_s = share_budget(self._rules.budget_s, len(options.batches))
        self._stop = StopRule(singles_s, options.precision, options.rounds)
        conditions = Conditions(
            cores=self._cores,
            variables=self._rules.variables,
            threads=options.threads,
            weights=self._rules.weights,
            timeout_s=options.timeout_s,
            interval_s=options.interval_s,
            truth=Truth(weights, self._rules.seed),
        )
        floor = Entry(empty.NAME, factory=f"{empty.__name__}:Empty", checked=False)
        self._floor = Row(floor, conditions)
        self._rows = [Row(entry, conditions) for entry in entries]
        self._order: list[tuple[str, ...]] = []
        self._rounds_began: float | None = None

    def run(self) -> Result:
        """All of it; an interrupt ends it early."""
        ended: Ended = "interrupted"
        with suppress(KeyboardInterrupt), _interrupts(), on_cores(self._cores.parent):
            try:
                self._start_all()
                reached = self._time_rounds()
                self._ask_unforeseen()
                self._time_batches()
                ended = reached
            finally:
                for row in (self._floor, *self._rows):
                    row.close()
        return self._finish(ended)

    def _start_all(self) -> None:
        """Each in its turn, with all the checks; then it is known what a start takes."""
        for row in (self._floor, *self._rows):  # the empty one warms the files that all read
            self._tell(f"starting {row.name}")
            row.start()
        restarts_s = sum(row.cold_start_s for row in self._rows if self._is_restarted(row))
        rules, rungs = self._rules, max(1, len(self._live()))
        pace = choose_pace(self._stop.budget_s, rules.rounds, rungs, restarts_s)
        self._pace = with_gaps(pace, rules.interval_s)
        self._rules = replace(rules, **asdict(self._pace))

    def _time_rounds(self) -> Ended:
        """Rounds until the stop rule says so, the file up to date after each."""
        self._rounds_began = time.monotonic()
        rows = {row.name: row for row in (self._floor, *self._rows)}
        for number, order in enumerate(shuffled(list(rows), self._rules.seed)):
            elapsed_s = time.monotonic() - self._rounds_began
            starts = -(-number // self._pace.rounds_a_start)
            if ended := self._stop.reached(elapsed_s, number, starts, self._widest()):
                return ended
            if number and number % self._pace.rounds_a_start == 0:
                self._restart(rows[name] for name in order)
            if self._live() == [self._floor]:
                return "nothing to time"
            self._tell(f"round {number + 1}")
            timed = [name for name in order if rows[name].live]
            for name in timed:
                self._turn(rows[name], number)
            self._order.append(tuple(timed))
            self._save()
        raise AssertionError("rounds never run out")

    def _restart(self, rows: Iterable[Row]) -> None:
        for row in rows:
            if self._is_restarted(row):
                self._tell(f"starting {row.name} anew")
                row.start()

    def _is_restarted(self, row: Row) -> bool:
        return row.live and row is not self._floor and row.cold_start_s <= RESTARTED_S

    def _live(self) -> list[Row]:
        return [row for row in (self._floor, *self._rows) if row.live]

    def _turn(self, row: Row, number: int) -> None:
        assert self._rounds_began is not None
        at_s = time.monotonic() - self._rounds_began
        with self._watch.turn():
            cpu_s = row.turn(number, at_s, self._pace)
        self._watch.rung_used(cpu_s)

    def _ask_unforeseen(self) -> None:
        for row in self._rows:
            if row.live:
                row.ask_unforeseen()

    def _time_batches(self) -> None:
        """Throughput: every rung with every size, in shuffled rounds of their own."""
        sizes, rows = self._rules.batches, {row.name: row for row in self._rows}
        turns = [(name, size) for name in rows for size in sizes if rows[name].takes(size)]
        pace = batch_pace(self._batches_s, max(1, len(turns)))
        began = time.monotonic()
        for number, order in enumerate(islice(shuffled(turns, self._rules.seed), BATCH_ROUNDS)):
            if number and self._batches_s and time.monotonic() - began > self._batches_s:
                return
            for name, size in order:
                if rows[name].takes(size):
                    self._tell(f"{name}, batches of {size}")
                    rows[name].batch_turn(size, pace)
            self._save()

    def _widest(self) -> float:
        """The least known median, where precision is what ends the run."""
        if self._rules.precision is None:
            return float("inf")
        intervals = (
            median_interval(by_start(medians_us(row.turns), self._rules.rounds_a_start), seed=0)
            for row in self._rows
            if row.live
        )
        return max(map(relative_width, intervals), default=float("inf"))

    def _tell(self, doing: str) -> None:
        now, rounds = time.monotonic(), len(self._order)
        shares = [0.0]
        if self._rounds_began and self._rules.budget_s:
            shares.append((now - self._rounds_began) / self._rules.budget_s)
        if self._stop.rounds:
            shares.append(rounds / self._stop.rounds)
        self._progress(Progress(doing, now - self._began, rounds, min(1.0, max(shares))))

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


def _rules(options: CompareOptions, cores: Cores, weights_sha256: str, pace: Pace) -> Rules:
    budget_s = options.budget_s
    if budget_s is None and options.precision is None and options.rounds is None:
        budget_s = USUAL_BUDGET_S
    return Rules(
        seed=random.SystemRandom().getrandbits(32) if options.seed is None else options.seed,
        baseline=options.baseline,
        margin=options.margin,
        confidence=CONFIDENCE,
        budget_s=budget_s,
        precision=options.precision,
        rounds=options.rounds,
        timeout_s=options.timeout_s,
        **asdict(pace),
        interval_s=options.interval_s,
        batches=options.batches,
        images=ROTATING,
        threads=options.threads,
        worker_cores=cores.worker,
        parent_cores=cores.parent,
        variables=thread_variables(options.threads),
        weights=str(options.weights or default_path()),
        weights_sha256=weights_sha256,
    )


@contextmanager
def _interrupts() -> Iterator[None]:
    """A polite kill and a closed terminal end a run as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    polite = [
        number
        for number in (signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN  # nohup's wish
    ]
    before = {number: signal.signal(number, interrupt) for number in polite}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
