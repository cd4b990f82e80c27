"""The run: shuffled rounds of blocks, each appended to the result file when it has ended.

The parent never computes or draws while a backend is timed: it sleeps until the process answers.
"""

import random
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path

from ..errors import ResultError
from ..results import (
    Block,
    End,
    Ended,
    Header,
    Listed,
    Log,
    Result,
    Rules,
    append,
    as_result,
    disturbed,
    go_on,
    read_log,
)
from ..results.portable import argument
from ..results.statistics import CONFIDENCE, FEWEST_STARTS
from ..results.versioned import check_place
from ..weights import default_path, read_weights
from . import planted
from .block import Task, measure_block
from .continuing import as_before, check_same
from .environment import read_machine
from .interrupts import interrupts
from .options import COLD_MB, CompareOptions, Entry
from .pinning import Cores, choose_cores, cpus_near_gpu, on_cores, thread_variables
from .plan import Costs, Plan, shuffled, to_repeat
from .start import Conditions
from .truth import ROTATING, Truth


@dataclass(frozen=True)
class Progress:
    """The progress of a run, between blocks."""

    doing: str
    elapsed_s: float
    rounds: int  # that are over
    left_s: float | None = None  # as far as it can be foreseen

    @property
    def share(self) -> float | None:
        if self.left_s is None:
            return None
        return self.elapsed_s / max(self.elapsed_s + self.left_s, 1e-9)


class NotSavedError(ResultError):
    """The run ended because its file could not be written; `result` has what was measured."""

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message)
        self.result = result


def compare(
    options: CompareOptions | None = None,
    progress: Callable[[Progress], None] = lambda _: None,
) -> Result:
    """Measure backends side by side.

    If a backend fails, the others are still measured. Ctrl-C ends the run, and the result has what
    was measured until then; so does the output file at any time. If that file already has such a
    run, the run is continued.
    """
    options = options or CompareOptions()
    options.check()
    return _Comparison(options, progress).run()


class _Comparison:
    """One run, or the rest of one."""

    def __init__(self, options: CompareOptions, progress: Callable[[Progress], None]) -> None:
        self._began = time.monotonic()
        self._progress = progress
        self._file = Path(options.output) if options.output is not None else None
        begun = self._file and self._file.is_file() and self._file.stat().st_size
        earlier = read_log(self._file) if self._file and begun else None
        self._options = options = as_before(options, earlier.header) if earlier else options
        entries, weights = options.entries(), read_weights(options.weights)
        cores = choose_cores(options.threads, cpus_near_gpu(entry.device for entry in entries))
        now = _header(options, entries, cores, weights.sha256)
        if earlier:
            check_same(earlier.header, now, options.output)
        elif self._file:
            check_place(self._file)
        self._goes_on = earlier is not None
        self._log = earlier or Log(now)
        self._blocks = list(self._log.blocks)
        if earlier:
            self._began -= as_result(earlier).elapsed_s
        rules = self._log.header.rules
        self._plan = Plan(options.budget_s, options.rounds, options.least_rounds)
        floor = Entry(planted.EMPTY, factory=f"{planted.__name__}:Empty", checked=False)
        self._entries = {entry.name: entry for entry in (floor, *entries)}
        self._conditions = Conditions(
            cores=cores,
            variables=rules.variables,
            threads=rules.threads,
            weights=str(options.weights or default_path()),
            timeout_s=options.timeout_s,
            truth=Truth(weights, rules.seed),
            interval_s=rules.interval_s,
            cold_mb=rules.cold_mb,
        )

    def run(self) -> Result:
        ended: Ended = "interrupted"
        unsaved: ResultError | None = None
        try:
            with suppress(KeyboardInterrupt), interrupts(), on_cores(self._conditions.cores.parent):
                if self._file and self._goes_on:
                    go_on(self._file, self._log)
                else:
                    self._append(self._log.header)
                ended = self._measure()
            self._append(end := End(ended, self._elapsed_s()))
        except ResultError as error:
            end, unsaved = End("full", self._elapsed_s()), error
        result = as_result(Log(self._log.header, tuple(self._blocks), end))
        if unsaved:
            raise NotSavedError(str(unsaved), result) from None
        return result

    def _measure(self) -> Ended:
        """Round after round, until the plan ends or no backend is left to time."""
        costs = Costs(self._blocks)
        done = {(block.backend, block.round) for block in self._blocks if block.status == "ok"}
        gone: set[str] = set()  # those that failed now; those that failed earlier are tried again
        orders = shuffled(list(self._entries), self._log.header.rules.seed)
        for number, order in enumerate(orders):
            names = [name for name in order if name not in gone]
            if not set(names) - {planted.EMPTY}:
                return "nothing to time"
            if self._plan.is_over(number, self._elapsed_s(), costs.of_round(names)):
                return "rounds"
            due = [name for name in names if (name, number) not in done]
            if not due:
                continue
            ran = self._round(number, due, costs)
            if not ran:
                return "budget"
            gone |= {block.backend for block in ran if block.status != "ok"}
            if number + 1 >= FEWEST_STARTS:
                self._repeat(number, [name for name in names if name not in gone], costs)
            if self._options.enough and self._options.enough(self._blocks) >= 1:
                return "enough"
        raise AssertionError("rounds never run out")

    def _round(self, number: int, names: Sequence[str], costs: Costs) -> list[Block]:
        """A block of each backend, except those that would exceed the budget."""
        ran = []
        for place, name in enumerate(names):
            if self._plan.fits(number, self._elapsed_s(), costs.of(name)):
                self._tell(name, number + place / len(names), costs.of_round(names))
                ran.append(self._block(name, number))
                costs.add(ran[-1])
        return ran

    def _repeat(self, number: int, names: Sequence[str], costs: Costs) -> None:
        """Repeat each block that ran on a disturbed machine once, as far as there is time."""
        timed = [block for block in self._blocks if block.status == "ok"]
        backends = [name for name in names if name != planted.EMPTY]
        for block in to_repeat(timed, disturbed(timed), backends):
            if self._plan.fits(number, self._elapsed_s(), costs.of(block.backend)):
                self._tell(f"{block.backend} again", number + 1, costs.of_round(names))
                costs.add(self._block(block.backend, block.round))

    def _block(self, name: str, number: int) -> Block:
        own = [block for block in self._blocks if block.backend == name]
        refused = {size for block in own for size in block.batch_refusals}
        starts = (block.cold_start.total_s for block in own if block.cold_start)
        task = Task(
            round=number,
            at_s=self._elapsed_s(),
            first=not own or own[-1].status != "ok",
            start_s=next(starts, None),
            usual_ns=min((ns for block in own for _, ns in block.slices), default=None),
            batches=tuple(n for n in self._log.header.rules.batches if str(n) not in refused),
            apart=self._log.header.rules.apart and name != planted.EMPTY,
            prices=self._log.header.rules.prices and name != planted.EMPTY,
        )
        block = measure_block(self._entries[name], self._conditions, task)
        self._blocks.append(block)
        self._append(block)
        return block

    def _tell(self, doing: str, rounds: float, round_s: float) -> None:
        elapsed_s = self._elapsed_s()
        left_s = self._plan.left_s(rounds, elapsed_s, round_s)
        self._progress(Progress(doing, elapsed_s, int(rounds), left_s))

    def _elapsed_s(self) -> float:
        return time.monotonic() - self._began

    def _append(self, line: Header | Block | End) -> None:
        if self._file:
            append(self._file, line)


def _header(
    options: CompareOptions, entries: Sequence[Entry], cores: Cores, weights_sha256: str
) -> Header:
    rules = Rules(
        seed=random.SystemRandom().getrandbits(32) if options.seed is None else options.seed,
        baseline=options.baseline,
        margin=options.margin,
        confidence=CONFIDENCE,
        budget_s=options.budget_s,
        rounds=options.rounds,
        timeout_s=options.timeout_s,
        images=ROTATING,
        threads=options.threads,
        worker_cores=cores.worker,
        parent_cores=cores.parent,
        variables=thread_variables(options.threads),
        weights=Path(options.weights or default_path()).name,
        weights_sha256=weights_sha256,
        interval_s=options.interval_s,
        cold_mb=COLD_MB if options.cold else None,
        batches=options.batches,
        apart=options.apart,
        prices=options.prices,
    )
    return Header(
        version=version("lenet-bench"),
        argv=tuple(map(argument, options.argv)),
        started=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        machine=read_machine(),
        rules=rules,
        backends=tuple(
            Listed(entry.name, entry.device, entry.tolerance if entry.checked else None)
            for entry in entries
        ),
        floor=planted.EMPTY,
    )
