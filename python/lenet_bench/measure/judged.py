"""A start whose answers and times are checked: who gives wrong ones is not timed."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import repeat
from math import inf
from typing import Any

import numpy as np

from .. import units
from ..results import Batch, CacheProbe
from ..subjects.subject import STRETCHES, Asked, Known, Prepared, Run, Subject
from ..undisturbed import Loops, quickest
from . import messages
from .busy import at_work
from .options import Entry
from .start import Conditions, Failed, Start
from .stretch import Stretch, disagreement, joined, own_call_ns, slower
from .watch import delays_of

_PROBES = 3  # for a cache, before and after the timing: noise looks like one, but not three times
_PROVE = 2  # of them must be undisturbed, to prove anything
_PROBE_S = 0.5
_FLOOR_CALLS = 1000  # of the empty backend in a block: the time would allow half a million
_FEWEST_CALLS = 20  # of a block, however slow: a median needs so many
_PATIENCE = 4  # times as long as wanted, where the machine is disturbed
_LONGER = 5  # further stretches at most, each twice as long as the one before
SHORTEST_S = 0.05  # that calls are timed for


class UnlikelyTimes(Failed):
    """Times that a disturbed machine can explain too, though hardly in several processes."""

    def __init__(self, reason: str) -> None:
        super().__init__("wrong", reason)


def prepared(
    conditions: Conditions,
    entries: Sequence[Entry],
    tell: Callable[[str], None] = lambda _: None,
) -> Prepared:
    """The inputs of a run and the right answers; the options have a seed."""
    options = conditions.options
    named = {entry.backend: entry for entry in entries if not entry.factory}

    def ask(subject: Subject, name: str, inputs: Any, until_s: float) -> Asked:
        entry = named.get(name) or options.entry(name)
        try:
            with closing(Start(entry, replace(conditions, until_s=until_s), subject)) as start:
                start.build(inputs)
                return Asked(start.answers(inputs))
        except Failed as failure:
            return Asked(None, failure.status)

    assert options.seed is not None
    run = Run(
        tuple(named),
        options.seed,
        options.timeout_s,
        conditions.until_s,
        tell,
        ask,
    )
    return options.subject.prepared(run)


class Judged(Start):
    """A start with the right answers at hand. Every method may raise Failed, which ends it."""

    def __init__(self, entry: Entry, conditions: Conditions, known: Prepared) -> None:
        super().__init__(entry, conditions, known.subject)
        self.known = known
        self.difference: float | None = None  # the largest from the right answers, so far
        self._stretches: list[Stretch] = []

    def check_parity(self) -> None:
        """Check the answers to the rotating inputs and to the edge cases."""
        rotating, edges = self.known.rotating, self.known.edges
        kept = self.ask(messages.Keep(self.taken(rotating.inputs)))
        if self.entry.checked:
            self.check(kept.answers, rotating.answers)
            self.check(self.answers(edges.inputs), edges.answers)

    def check_cache(self) -> CacheProbe | None:
        """Fail a backend that remembers answers, before it is timed."""
        return self._probed(self.known.new[:_PROBES], _PROBE_S, repeat(inf))

    def _probed(
        self, probes: Sequence[Known], seconds: float, calls_us: Iterable[float]
    ) -> CacheProbe | None:
        """Fail a backend that takes much longer for new inputs than for known ones, each time.

        `calls_us` is what its calls with known inputs take, before each probe.
        """
        undisturbed = 0
        for known, known_us in zip(probes, calls_us, strict=False):
            before = delays_of(self.child.pid)
            probed = self.ask(messages.Probe(self.taken(known.inputs), seconds))
            lost = delays_of(self.child.pid).since(before).times
            self.check(probed.answers, known.answers[: probed.made])
            probe = CacheProbe(probed.repeated_us, probed.rotated_us, probed.fresh_us)
            known_us = min(known_us, probe.repeated_us, probe.rotated_us)
            if not slower(probe.fresh_us, known_us):
                return probe
            # Where each new input may have waited for a core, slow ones prove nothing.
            undisturbed += lost < probed.made
        if not probes:
            return None
        if undisturbed < _PROVE:
            return probe
        raise UnlikelyTimes(
            f"it remembers answers: {units.time(known_us)} for an input that it has seen, "
            f"{units.time(probe.fresh_us)} for a new one"
        )

    def warm(self, warm_s: float) -> None:
        between = vars(self.conditions.between)
        self.ask(messages.Warm(between, warm_s, self._most), self.conditions.pauses_s)

    def time(self, timed_s: float, undisturbed_ns: Loops = ()) -> dict[str, Any]:
        """Time it, in stretches with inputs that are new to it; all that is reported is checked.

        Between two stretches the parent does nothing that could wait.
        """
        options, cores = self.conditions.options, self.conditions.cores
        limits: dict[str, Any] = {
            "has_gaps": True,
            "patience": 1 if options.keeps_all else _PATIENCE,
            "fewest": _FEWEST_CALLS // STRETCHES,
        }
        if self.conditions.between.interval_s:
            timed_s = 0.0
            paced = self.conditions.paced // STRETCHES
            limits |= {"fewest": paced, "most": paced}
        with at_work(options.beside, {*cores.worker, *cores.parent}):
            for known in self.known.timed:
                limits["undisturbed_ns"] = undisturbed_ns
                stretch = self._stretch(known, timed_s / STRETCHES, **limits)
                own = (loops for _, *loops in stretch.answer.slices)
                undisturbed_ns = quickest([undisturbed_ns, *own])
                self._stretches.append(stretch)
        timed_ns = sum(stretch.timed_ns for stretch in self._stretches)
        return joined(self._stretches) | vars(self.ask(messages.AskResources(timed_ns)))

    def check_timing(self) -> None:
        """Fail a backend whose timed calls cannot be believed."""
        if self.entry.checked:
            for stretch in self._stretches:
                self._check_answers(stretch.answer, stretch.known)
            self._check_times()
            self._probed(self.known.new[_PROBES:], 0.0, self._calls_us())

    def _check_times(self) -> None:
        """Fail a backend whose times the parent's clock contradicts.

        On a busy machine both wait for a core, and the parent for more than the calls. So one
        stretch that agrees is enough, and longer ones are asked for where none does. Calls with
        pauses say nothing.
        """
        calls_us = next(self._calls_us())
        judged = [] if any(vars(self.conditions.between).values()) else list(self._stretches)
        own_ns = own_call_ns()
        for longer in range(_LONGER):
            if any(stretch.agrees(calls_us, own_ns) for stretch in judged):
                return
            judged.append(self._stretch(self._stretches[0].known, SHORTEST_S * 2**longer))
        if not judged[-1].agrees(calls_us, own_ns):
            raise UnlikelyTimes(disagreement(judged, own_ns))

    def _calls_us(self) -> Iterator[float]:
        """The quickest stretch; then each time anew, as the machine may have become slower."""
        yield min(stretch.median_us for stretch in self._stretches)
        while True:
            yield self._stretch(self._stretches[0].known, SHORTEST_S).median_us

    def _stretch(self, known: Known, seconds: float, **limits: Any) -> Stretch:
        most = self._most and self._most // STRETCHES
        question = messages.Time(self.taken(known.inputs), seconds, **{"most": most, **limits})
        before, asked_ns = delays_of(self.child.pid), time.perf_counter_ns()
        answer = self.ask(question, self.conditions.pauses_s)
        heard_ns, after = time.perf_counter_ns(), delays_of(self.child.pid)
        began_ns, now_ns = answer.began_ns, answer.now_ns
        # All processes share one clock, so the backend's times must lie between two of ours.
        if not asked_ns <= began_ns <= began_ns + answer.wall_ns <= now_ns <= heard_ns:
            raise Failed("wrong", "it changed the clock of its process")
        stretch = Stretch(answer, known, heard_ns - asked_ns, after.since(before))
        if stretch.timed_ns > stretch.waited_ns:
            raise Failed("wrong", disagreement([stretch]))
        return stretch

    def time_batch(self, size: int, warm_s: float, timed_s: float) -> Batch:
        answer = self.ask(messages.TimeBatch(size, warm_s, timed_s))
        if answer.refused:
            raise Failed("wrong", answer.refused)
        self._check_answers(answer, self.known.rotating)
        return Batch(size, tuple(answer.samples_ns.tolist()), tuple(answer.slices))

    def time_callers(self, question: messages.TimeCallers) -> messages.CallersTimed:
        answer = self.ask(question, longer_s=question.number * self.cold_start.total_s)
        if answer.refused:
            raise Failed("crashed", answer.refused)
        self._check_answers(answer, self.known.rotating)
        return answer

    def _check_answers(
        self,
        answer: messages.Timed | messages.BatchTimed | messages.CallersTimed,
        known: Known,
    ) -> None:
        numbers = list(answer.answered)
        if not answer.samples_ns.size or not set(numbers) <= {*range(len(known.answers))}:
            raise Failed("wrong", "it timed no call, or answered what it was not asked")
        self.check(answer.answers, known.answers[numbers])

    @property
    def _most(self) -> int | None:
        """Calls of the warm-up, or of all stretches."""
        is_capped = not self.entry.checked and self.entry.device == "cpu"
        return _FLOOR_CALLS if is_capped else None

    def check(self, answers: Any, expected: Any) -> None:
        """Raise Failed unless the answers equal the right ones within the tolerance."""
        judge = self.known.judge
        try:
            difference = judge.difference(answers, expected)
        except (AttributeError, TypeError, ValueError):  # no arrays, or of another shape
            difference = inf
        allowed = judge.allowed(self.entry.tolerance)
        if not np.isfinite(difference):
            if any(one is None for one in expected):
                raise Failed("timeout", "it answers too late to be judged, and no other does")
            raise Failed("wrong", f"its {judge.said} are not finite, or of another shape")
        self.difference = max(self.difference or 0.0, difference)
        if difference > allowed:
            raise Failed(
                "wrong",
                f"its {judge.said} differ from {judge.whose} by {difference:.2g}, "
                f"more than the allowed {allowed:.0e}",
            )
