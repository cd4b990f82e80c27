"""The run: every rung in a process of its own, checked, then timed in shuffled rounds.

The parent never computes or draws while a worker times: it sleeps until the worker answers.
"""

import json
import random
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from importlib.metadata import version
from itertools import islice

from ..errors import ResultError
from ..results import SCHEMA, Ended, Result, ResultFile, Resumption, Rules, read_result
from ..weights import default_path, read_weights
from . import empty
from .disturbance import Watch
from .environment import read_environment
from .groups import Groups, bridge
from .interrupts import interrupts
from .medians import times_by_start
from .memory import Memory
from .options import USUAL_BUDGET_S, CompareOptions, Entry
from .pinning import Cores, choose_cores, on_cores, thread_variables
from .resume import as_before, check_same
from .row import Conditions, Row
from .schedule import (
    BATCH_ROUNDS,
    RESTARTED_S,
    Pace,
    StopRule,
    batch_pace,
    choose_pace,
    choose_restarts,
    restart_is_due,
    share_budget,
    shuffled,
    with_gaps,
)
from .statistics import CONFIDENCE, median_interval, relative_width
from .summary import summarise
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
    """One run, or what is left to do of one."""

    def __init__(self, options: CompareOptions, progress: Callable[[Progress], None]) -> None:
        self._began = time.monotonic()
        self._started = datetime.now(timezone.utc).isoformat(timespec="seconds")
        earlier = read_result(options.resume) if options.resume is not None else None
        self._argv = options.argv
        self._options = options = as_before(options, earlier) if earlier else options
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
        self._singles_s, self._batches_s = share_budget(self._rules.budget_s, len(options.batches))
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
        self._groups = Groups(Memory(options.memory_bytes), self._all())
        self._resumed: tuple[Resumption, ...] = ()
        self._before_s = 0.0  # that an earlier run took in all
        self._rounds_began: float | None = None
        self._ask_at, self._found = 0.0, 0.0  # whether there is enough, and how much there is
        if earlier:
            check_same(options, earlier, self._result("running"))
            self._take_over(earlier)

    def run(self) -> Result:
        """All of it; an interrupt ends it early."""
        ended: Ended = "interrupted"
        with suppress(KeyboardInterrupt), interrupts(), on_cores(self._cores.parent):
            try:
                ended = self._measure_groups()
            finally:
                for row in self._all():
                    row.close()
        return self._finish(ended)

    def _take_over(self, earlier: Result) -> None:
        """All that was measured before the interruption, and where it stopped."""
        for row, before in zip(self._all(), (earlier.floor, *earlier.rungs), strict=True):
            if before is not None:
                row.take_over(before, retry=self._options.retry)
        self._argv = earlier.argv
        self._started, self._before_s = earlier.started, earlier.elapsed_s
        self._order = list(earlier.order)
        self._watch.take_over(earlier.disturbance, self._timed_before_s())
        now = datetime.now(timezone.utc).isoformat(timespec="seconds")
        resumption = Resumption(now, self._options.argv, len(self._order))
        self._resumed = (*earlier.resumed, resumption)
        if self._order:
            rules = earlier.rules
            self._rules = replace(rules, memory_bytes=self._rules.memory_bytes)
            self._pace = Pace(rules.warm_s, rules.timed_s, rules.rounds_a_start)
            self._groups.take_over(rules.groups)
            self._rounds_began = time.monotonic() - self._timed_before_s()

    def _timed_before_s(self) -> float:
        return max((t.at_s + t.wall_ns / 1e9 for r in self._all() for t in r.turns), default=0.0)

    def _measure_groups(self) -> Ended:
        """All rungs at once or, where memory is too small for that, one group after the other."""
        waiting = [row for row in self._rows if row.hopeful]
        waiting.sort(key=lambda row: row.name != self._rules.baseline)  # it is in each group
        waiting = self._groups.unfinished(waiting)
        everyone = len(waiting)
        self._start(self._floor)
        reached: Ended = "nothing to time"
        while waiting:
            group, waiting = self._groups.fill(waiting, self._start)
            self._rules = replace(self._rules, groups=self._groups.names)
            self._choose_pace(group, everyone)
            reached = self._time_rounds(group, len(group) / everyone)
            self._ask_unforeseen(group)
            self._time_batches(group, len(group) / everyone)
            if waiting:
                stays = bridge(group, self._rules.baseline)
                for row in group:
                    if row is not stays:
                        row.close()
                waiting = [row for row in (stays, *waiting) if row]
        return reached

    def _start(self, row: Row) -> None:
        self._tell(f"starting {row.name}")
        row.start()

    def _choose_pace(self, group: Sequence[Row], everyone: int) -> None:
        """Now it is known what a start takes. A run that goes on keeps its pace."""
        if self._order:
            return
        share, rules = len(group) / everyone, self._rules
        budget_s = None if self._singles_s is None else self._singles_s * share
        slow_s = sum(row.cold_start_s for row in group if row.live and not _is_quick(row))
        restarts = self._options.restarts
        if restarts is None:
            restarts = choose_restarts(budget_s, slow_s)
        quick_s = sum(row.cold_start_s for row in group if row.live and _is_quick(row))
        left_s = None if budget_s is None else budget_s - restarts * slow_s
        pace = choose_pace(left_s, rules.rounds, max(1, len(self._live(group))), quick_s)
        self._pace = with_gaps(pace, rules.interval_s)
        self._rules = replace(rules, **asdict(self._pace), restarts=restarts)

    def _time_rounds(self, group: Sequence[Row], share: float) -> Ended:
        """Rounds until the stop rule says so, the file up to date after each."""
        rows = {row.name: row for row in (self._floor, *self._rows)}
        taking_part = [self._floor, *group]
        if self._rounds_began is None:
            self._rounds_began = time.monotonic()
        budget_s = None if self._singles_s is None else self._singles_s * share
        stop = StopRule(budget_s, self._rules.precision, self._rules.rounds)
        first, began = self._begin_of(group)
        done = len(self._order)
        orders = shuffled(list(rows), self._rules.seed)
        for number, order in islice(enumerate(orders), done, None):
            elapsed_s = time.monotonic() - began
            starts = -(-(number - first) // self._pace.rounds_a_start)
            ended = stop.reached(elapsed_s, number - first, starts, self._widest(group))
            if ended:
                return ended
            if number > done and number % self._pace.rounds_a_start == 0:
                if self._has_enough():
                    return "precision"
                so_far = stop.progress(elapsed_s, number - first)
                self._restart([row for name in order if (row := rows[name]) in group], so_far)
            if not self._live(group):
                return "nothing to time"
            self._tell(f"round {number + 1}")
            timed = [name for name in order if rows[name].live and rows[name] in taking_part]
            for name in timed:
                if not rows[name].has_run(number):  # before an interruption
                    self._turn(rows[name], number)
            self._order.append(tuple(timed))
            self._save()
        raise AssertionError("rounds never run out")

    def _begin_of(self, group: Sequence[Row]) -> tuple[int, float]:
        """The first round of those that run in no other group, and when it began."""
        assert self._rounds_began is not None
        turns = [turn for row in self._groups.alone(group) for turn in row.turns]
        if not turns:
            return len(self._order), time.monotonic()
        first = min(turns, key=lambda turn: turn.round)
        return first.round, self._rounds_began + first.at_s

    def _restart(self, rows: Iterable[Row], progress: float | None) -> None:
        """New processes; for rungs that are slow to start only as often as was chosen."""
        for row in rows:
            if not row.live:
                continue
            due = restart_is_due(row.restarts, self._rules.restarts, progress)
            if _is_quick(row) or due:
                self._tell(f"starting {row.name} anew")
                row.start()

    def _live(self, group: Iterable[Row]) -> list[Row]:
        return [row for row in group if row.live]

    def _all(self) -> list[Row]:
        return [self._floor, *self._rows]

    def _turn(self, row: Row, number: int) -> None:
        assert self._rounds_began is not None
        at_s = time.monotonic() - self._rounds_began
        with self._watch.turn():
            cpu_s = row.turn(number, at_s, self._pace)
        self._watch.rung_used(cpu_s)

    def _ask_unforeseen(self, group: Iterable[Row]) -> None:
        for row in group:
            if row.live:
                row.ask_unforeseen()
            if row.live:
                row.ask_profile()

    def _time_batches(self, group: Iterable[Row], share: float) -> None:
        """Throughput: every rung with every size, in shuffled rounds of their own."""
        sizes, rows = self._rules.batches, {row.name: row for row in group}
        turns = [(name, size) for name in rows for size in sizes if rows[name].takes(size)]
        budget_s = None if self._batches_s is None else self._batches_s * share
        pace = batch_pace(budget_s, max(1, len(turns)))
        began = time.monotonic()
        for number, order in enumerate(islice(shuffled(turns, self._rules.seed), BATCH_ROUNDS)):
            if number and budget_s and time.monotonic() - began > budget_s:
                return
            for name, size in order:
                if rows[name].takes(size) and rows[name].batch_rounds(size) <= number:
                    self._tell(f"{name}, batches of {size}")
                    rows[name].batch_turn(size, pace)
            self._save()

    def _widest(self, group: Iterable[Row]) -> float:
        """The least known median, where precision is what ends the run."""
        if self._rules.precision is None:
            return float("inf")
        intervals = (
            median_interval(times_by_start(row.turns, self._rules.rounds_a_start), seed=0)
            for row in group
            if row.live
        )
        return max(map(relative_width, intervals), default=float("inf"))

    def _has_enough(self) -> bool:
        """Asked ever more rarely, since to answer takes the longer the more was measured."""
        rounds = len(self._order)
        if self._options.enough is None or rounds < self._ask_at:
            return False
        self._ask_at = 1.05 * rounds
        self._found = self._options.enough(self._result("running"))
        return self._found >= 1

    def _tell(self, doing: str) -> None:
        now, rounds = time.monotonic(), len(self._order)
        shares = [self._found]
        if self._rounds_began and self._rules.budget_s:
            shares.append((now - self._rounds_began) / self._rules.budget_s)
        if self._rules.rounds:
            shares.append(rounds / self._rules.rounds / max(1, len(self._groups.names)))
        elapsed_s = self._before_s + now - self._began
        self._progress(Progress(doing, elapsed_s, rounds, min(1.0, max(shares))))

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
            argv=self._argv,
            started=self._started,
            ended=ended,
            elapsed_s=self._before_s + time.monotonic() - self._began,
            machine=self._machine,
            rules=self._rules,
            order=tuple(self._order),
            floor=self._floor.result(),
            rungs=tuple(row.result() for row in self._rows),
            disturbance=self._watch.seen(),
            warnings=(),
            resumed=self._resumed,
        )


def _is_quick(row: Row) -> bool:
    return row.cold_start_s <= RESTARTED_S


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
        memory_bytes=options.memory_bytes,
        images=ROTATING,
        threads=options.threads,
        worker_cores=cores.worker,
        parent_cores=cores.parent,
        variables=thread_variables(options.threads),
        weights=str(options.weights or default_path()),
        weights_sha256=weights_sha256,
    )
