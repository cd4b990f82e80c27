"""The run: shuffled rounds of blocks, each appended to the result file when it has ended.

The parent never computes or draws while a backend is timed: it sleeps until the process answers.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from importlib.metadata import version
from math import inf
from pathlib import Path
from statistics import fmean

from msgspec import UNSET, structs

from ..cost import disk_mib, lines_of_code
from ..registry import why_absent
from ..results import (
    Appended,
    Block,
    End,
    Ended,
    Header,
    Listed,
    Log,
    Result,
    Rules,
    as_read,
    as_result,
    disturbed,
)
from ..results.portable import argument
from ..results.statistics import CONFIDENCE, DECIDED, FEWEST_STARTS
from ..subjects.subject import Prepared
from ..texts import printable
from . import empty
from .block import Task, measure_block
from .decided import Undecided, bounded, is_look
from .empty import EMPTY
from .environment import read_machine
from .interrupts import interrupts
from .judged import prepared
from .options import DEFAULT_S, CompareOptions, Entry, as_before, check_same
from .pinning import on_cores, thread_variables
from .rounds import again_in, baseline_of, shuffled, with_baseline
from .start import Conditions, conditions

_MOST_REPEATED = 0.25  # share of the blocks


@dataclass(frozen=True)
class Progress:
    """The progress of a run, between timed calls."""

    doing: str
    elapsed_s: float
    rounds: int  # completed
    left_s: float | None = None  # an estimate; None while unknown

    @property
    def share(self) -> float | None:
        if self.left_s is None:
            return None
        return self.elapsed_s / max(self.elapsed_s + self.left_s, 1e-9)


def compare(
    options: CompareOptions | None = None, progress: Callable[[Progress], None] = lambda _: None
) -> Result:
    """Measure backends side by side.

    If a backend fails, the others are still measured. Ctrl-C ends the run, and the result has what
    was measured until then; so does the output file at any time, also where ResultError says that
    it cannot be written any more. If that file already has such a run, the run is continued.
    """
    options = options or CompareOptions()
    options.check()
    output = options.output
    with nullcontext() if output is None else Appended(Path(output)) as file:
        return _Comparison(options, file, progress).run()


@dataclass(frozen=True)
class Plan:
    """The length of a run; the default length without budget and rounds."""

    budget_s: float | None = None
    rounds: int | None = None
    least: int = 0  # rounds that are completed whatever the budget

    def is_over(self, rounds: int, elapsed_s: float, round_s: float) -> bool:
        """Whether no further round begins. Within a budget, `fits` decides about each block."""
        if self.rounds is not None or self.budget_s is not None:
            return self.rounds is not None and rounds >= self.rounds
        return rounds >= FEWEST_STARTS and elapsed_s + round_s / 2 >= DEFAULT_S

    def fits(self, number: int, elapsed_s: float, takes_s: float) -> bool:
        """Whether a block of this round with this duration fits the budget."""
        if self.budget_s is None or number < self.least:
            return True
        return elapsed_s + takes_s <= self.budget_s

    def left_s(self, rounds: float, elapsed_s: float, round_s: float) -> float | None:
        """The remaining time; None while it is unknown. `rounds` may be fractional."""
        ends = []
        if self.budget_s is not None:
            ends.append(self.budget_s - elapsed_s)
        if self.rounds is not None and round_s:
            ends.append((self.rounds - rounds) * round_s)
        if self.budget_s is None and self.rounds is None and round_s:
            ends.append(max(DEFAULT_S - elapsed_s, (FEWEST_STARTS - rounds) * round_s))
        return max(0.0, min(ends)) if ends else None


def to_repeat(blocks: Sequence[Block], disturbed: set[int], backends: Sequence[str]) -> list[Block]:
    """Blocks to repeat after a disturbance: once each, and not too many."""
    seen = Counter((block.backend, block.round) for block in blocks)
    repeated = len(blocks) - len(seen)
    room = max(0, int(_MOST_REPEATED * len(seen)) - repeated)
    wanted = [
        block
        for number, block in enumerate(blocks)
        if number in disturbed
        and seen[block.backend, block.round] == 1
        and block.backend in backends
    ]
    return wanted[:room]


class _Comparison:
    """One run, or the rest of one."""

    def __init__(
        self,
        options: CompareOptions,
        file: Appended | None,
        progress: Callable[[Progress], None],
    ) -> None:
        self._began = options.began_s or time.monotonic()
        self._progress = progress
        self._file = file
        earlier = file.log if file else None
        earlier_s = as_result(earlier).elapsed_s if earlier else None
        if options.until_decided:
            options = bounded(options, earlier_s)
        options = as_before(options, earlier.header) if earlier else options
        if options.seed is None:
            options = replace(options, seed=random.SystemRandom().getrandbits(32))
        self._plan = Plan(options.budget_s, options.rounds, options.least_rounds)
        self._until_decided, self._open = options.until_decided, ""
        entries = options.entries()
        budget_s = inf if options.budget_s is None else options.budget_s
        # Rounds that are completed whatever the budget need their right answers, whatever it is.
        until_s = inf if options.least_rounds else self._began + budget_s
        before = conditions(options, entries, until_s)
        self._known = prepared(before, entries, self._tell_before)
        base = baseline_of(options, entries)
        now = _header(before, self._known, entries, again_in(options, base, len(entries)))
        if earlier:
            check_same(earlier.header, now, options.output)
            self._began -= earlier_s or 0.0
        self._conditions = replace(before, until_s=self._began + budget_s)
        self._log = earlier or Log(now)
        floor = Entry(EMPTY, factory=f"{empty.__name__}:Empty", checked=False)
        self._entries = {entry.name: entry for entry in (floor, *entries)}
        self._base, self._again = base, self._log.header.again or ()
        # Counted before the run, since it reads files: nothing but timing happens later.
        self._costs = {
            name: {
                "lines_of_code": lines_of_code(name) if options.subject.is_by_hand else None,
                **disk_mib(name, converts=not options.subject.is_by_user),
                **self._known.costs.get(entry.backend, {}),
            }
            for name, entry in self._entries.items()
        }

    def run(self) -> Result:
        ended: Ended = "interrupted"
        if self._file:
            self._file.begin(self._log.header)
        with suppress(KeyboardInterrupt), interrupts(), on_cores(self._conditions.cores.parent):
            ended = self._measure()
        self._tell_missing()
        end = End(ended, self._elapsed_s())
        self._append(end)
        return as_result(Log(self._log.header, self._log.blocks, end))

    def _measure(self) -> Ended:
        """Round after round, until the plan ends or no backend is left to time."""
        done = {(block.backend, block.round) for block in self._log.blocks if block.status == "ok"}
        # What lacks in earlier rounds would be compared with starts of another session.
        first = max((block.round for block in self._log.blocks), default=0)
        gone: set[str] = set()  # failed in this session; earlier failures are tried again
        orders = shuffled(list(self._entries), self._log.header.rules.seed)
        wanted: Container[str] = self._entries
        for number, order in enumerate(orders):
            if self._until_decided and is_look(number):
                undecided = Undecided(self._log)
                if undecided.baseline and not undecided.starts:
                    return "decided" if undecided.judged else "nothing to time"
                # Without a baseline nothing will be decided, and the run goes on to its end.
                wanted = undecided if undecided.baseline else self._entries
                says = undecided.says(self._starts_left(order, wanted, number))
                self._open = f"; {says}" if undecided.starts else ""
            names = [name for name in order if name not in gone and name in wanted]
            if not set(names) - {EMPTY}:
                return "nothing to time"
            if self._plan.is_over(number, self._elapsed_s(), sum(self._each_s(names, {}))):
                return "rounds"
            names = with_baseline(names, self._base, self._again)
            due = [name for name in names if (name, number) not in done]
            if number < first or not due:
                continue
            ran = self._round(number, due)
            only_empty = {block.backend for block in ran} <= {EMPTY} < set(due)
            if not ran or only_empty or (len(ran) < len(due) and self._conditions.left_s <= 0):
                return "budget"
            gone |= {block.backend for block in ran if block.status != "ok"}
            if number + 1 >= FEWEST_STARTS:
                self._repeat(number, [name for name in names if name not in gone])
        raise AssertionError("rounds never run out")

    def _starts_left(self, names: Sequence[str], wanted: Container[str], rounds: int) -> float:
        """How many starts each wanted backend can have in all, as far as is known."""
        most = [inf if self._plan.rounds is None else self._plan.rounds]
        round_s = sum(self._each_s([name for name in names if name in wanted], {}))
        if self._plan.budget_s is not None and round_s:
            most.append(rounds + (self._plan.budget_s - self._elapsed_s()) / round_s)
        return min(most)

    def _round(self, number: int, names: Sequence[str]) -> list[Block]:
        """A block of each backend, except those that would exceed the budget."""
        ran = []
        for place, name in enumerate(names):
            if self._plan.fits(number, self._elapsed_s(), self._took_s.get(name, 0.0)):
                self._tell(name, number, place, names)
                block = self._block(name, number, to_go=len(names) - place)
                if block is None:
                    break
                ran.append(block)
        return ran

    def _repeat(self, number: int, names: Sequence[str]) -> None:
        """Repeat each block that ran on a disturbed machine once, as far as there is time."""
        timed = [block for block in self._log.blocks if block.status == "ok"]
        backends = [name for name in names if name != EMPTY]
        for block in to_repeat(timed, disturbed(timed, EMPTY), backends):
            if self._plan.fits(number, self._elapsed_s(), self._took_s.get(block.backend, 0.0)):
                self._tell(f"{block.backend} again", number + 1, names.index(block.backend), names)
                self._block(block.backend, block.round)

    def _block(self, name: str, number: int, to_go: int = 1) -> Block | None:
        """One of so many that are to go in this round; None where the budget ended in it."""
        own = [block for block in self._log.blocks if block.backend == name]
        now, until_s = time.monotonic(), self._conditions.until_s
        if number < self._plan.least:
            until_s = inf
        again, conditions = name in self._again, self._conditions
        if again:  # of the baseline's, only the single calls
            options = replace(conditions.options, batches=(), callers=())
            conditions = replace(conditions, options=options)
        task = Task(
            self._entries[(self._base or name) if again else name],
            number,
            self._elapsed_s(),
            own,
            self._tell_more,
            # Others in a first round, of which nobody knows how long they take, have their share.
            until_s if own else now + (until_s - now) / to_go,
        )
        block = measure_block(task, replace(conditions, until_s=until_s), self._known)
        if block is None:
            return None
        if again:
            block = structs.replace(block, backend=name)
        elif task.first:
            block = structs.replace(block, **self._costs[name])
        return self._keep(block)

    def _tell_missing(self) -> None:
        """A block for each backend that was not reached and is not installed, with the reason."""
        reached = {block.backend for block in self._log.blocks}
        for name, entry in self._entries.items():
            if name in reached or entry.factory:
                continue
            if reason := why_absent(entry.backend, self._log.header.rules.network):
                block = Block(backend=name, round=0, at_s=self._elapsed_s(), reason=reason)
                self._keep(structs.replace(block, status="unavailable"))

    def _keep(self, block: Block) -> Block:
        block = as_read(block, self._log.header)
        self._log = replace(self._log, blocks=(*self._log.blocks, block))
        self._append(block)
        return block

    @property
    def _took_s(self) -> dict[str, float]:
        """The duration of a block of each backend, by the last one; none before the first."""
        return {block.backend: block.took_s for block in self._log.blocks}

    def _each_s(self, names: Sequence[str], block_s: Mapping[str, float]) -> list[float]:
        """What a block of each takes, by the last one or as given; unknown ones as the others."""
        took_s = {**self._took_s, **block_s}
        known = [took_s[name] for name in names if name in took_s]
        return [took_s.get(name, fmean(known)) for name in names] if known else []

    def _tell(self, doing: str, number: int, place: int, names: Sequence[str]) -> None:
        """That this block of the round begins."""
        self._doing, self._at = doing, (number, place, names)
        self._block_began = time.monotonic()
        self._tell_now(doing)

    def _tell_more(self, more: str, left_s: float) -> None:
        """What the block does now, and how long that takes still; 0: unknown."""
        _, place, names = self._at
        so_far_s, earlier_s = time.monotonic() - self._block_began, self._took_s.get(names[place])
        known = left_s or earlier_s
        block_s = max(earlier_s or 0.0, so_far_s + left_s) if known else None
        self._tell_now(f"{self._doing}, {more}", so_far_s, block_s)

    def _tell_now(self, doing: str, so_far_s: float = 0.0, block_s: float | None = None) -> None:
        number, place, names = self._at
        each_s = self._each_s(names, {names[place]: block_s} if block_s else {})
        round_s = sum(each_s) if block_s or not so_far_s else 0.0
        done_s = sum(each_s[:place]) + so_far_s
        rounds = number + (done_s / round_s if round_s else 0.0)
        elapsed_s = self._elapsed_s()
        left_s = self._plan.left_s(rounds, elapsed_s, round_s)
        self._progress(Progress(f"{doing}{self._open}", elapsed_s, number, left_s))

    def _tell_before(self, doing: str) -> None:
        self._progress(Progress(doing, self._elapsed_s(), 0, self._plan.left_s(0, 0.0, 0.0)))

    def _elapsed_s(self) -> float:
        return time.monotonic() - self._began

    def _append(self, line: Block | End) -> None:
        if self._file:
            self._file.append(line)


def _header(
    conditions: Conditions, known: Prepared, entries: Sequence[Entry], again: Sequence[str]
) -> Header:
    options = conditions.options
    assert options.seed is not None
    rules = Rules(
        seed=options.seed,
        baseline=next(
            (one.name for one in entries if one.backend == options.baseline), options.baseline
        ),
        margin=options.margin,
        confidence=DECIDED if options.until_decided else CONFIDENCE,
        budget_s=options.budget_s,
        rounds=options.rounds,
        timeout_s=options.timeout_s,
        images=len(known.rotating.inputs),
        threads=max(options.numbers),
        worker_cores=conditions.cores.worker,
        parent_cores=conditions.cores.parent,
        variables=thread_variables(options.numbers[0]) if len(options.numbers) == 1 else {},
        other=known.other or UNSET,
        weights=printable(options.subject.file_name),
        weights_sha256=known.weights_sha256,
        deadline_s=options.deadline_s or UNSET,
        beside=options.beside,
        quota=options.quota,
        batches=options.batches,
        callers=options.callers,
        callers_in=options.callers_in,
        apart=options.breakdown,
        **vars(conditions.between),
    )
    return Header(
        version=version("lenet-bench"),
        argv=tuple(printable(argument(word)) for word in options.argv),
        started=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        machine=read_machine(one.backend for one in entries if not one.factory),
        rules=rules,
        backends=tuple(
            Listed(
                one.name,
                one.device,
                known.judge.allowed(one.tolerance) if one.checked else None,
                one.threads,
            )
            for one in entries
        ),
        floor=EMPTY,
        again=tuple(again) or UNSET,
    )
