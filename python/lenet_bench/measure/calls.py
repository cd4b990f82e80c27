"""The clock around a call."""

import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, cycle
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..between import Between
from ..undisturbed import Loops, Slice, are_quick, quickest

Image = NDArray[np.float32]

#: Bound before a backend is imported, since that could replace the clock in the module `time`.
clock, _sleep, _cpu_clock = time.perf_counter_ns, time.sleep, time.thread_time_ns

_KEPT = 128  # most answers of random calls that are kept, with the last to each input
_ONE_IN = 16  # one call in 16 is kept; whenever _KEPT is reached, half are dropped, and 16 doubles

_SLICE_NS = 2_000_000  # at least, and as much longer as the loops are: they take a twentieth
_TIMES_LOOPS = 30
# The known loops: one reads 4 KB of the first-level cache 150 times in 20 us, the other as many
# bytes as LeNet's weights have twice in 45 us: other cores can slow the cache that all share, and
# nothing else. Not a loop in Python: on an Intel Xeon such a loop took 2.5 times as long just where
# everything else was fast. Not a product: NumPy's BLAS has threads.
_READ, _SUMS = np.broadcast_to(np.ones(512), (150, 512)), np.empty(150)
_WEIGHTS, _NOT_THERE = b"\1" * 1_720_000, b"\0"
_FETCH = 20  # reads before the timed ones: the calls have pushed it out of the cache


@dataclass(frozen=True)
class Calls:
    """Some timed calls."""

    samples_ns: list[int]
    slices: list[Slice]
    made: int  # all calls, kept or not
    answers: list[tuple[int, Any]]  # the last one to each input, and those of random calls
    began_ns: int
    wall_ns: int  # from the first call, or the wait before it, to the end of the last


class Before:
    """Done before each call, outside its time: make the caches cold, then wait for its turn.

    Turns are `interval_s` apart. A call that lasts longer misses those in between. `call` is made
    again and again for the last `keep_warm_s` before a turn.
    """

    def __init__(
        self, between: Between | None = None, call: Callable[[], Any] = lambda: None
    ) -> None:
        asked = between or Between()
        # Ones: zeros would all be the system's one page of zeros.
        self._memory = np.ones(asked.cold_mb * 1_000_000 // 8) if asked.cold_mb else None
        self._interval_ns = int((asked.interval_s or 0) * 1e9)
        self._warm_ns = int((asked.keep_warm_s or 0) * 1e9)
        self._call = call
        self._turn = clock()
        self.cpu_ns = 0  # CPU time of all these so far

    def __bool__(self) -> bool:
        return self._memory is not None or bool(self._interval_ns)

    def __call__(self) -> None:
        began = _cpu_clock()
        if self._memory is not None:
            self._memory.sum()
        if self._interval_ns:
            missed = max(0, clock() - self._turn) // self._interval_ns
            self._turn += (1 + missed) * self._interval_ns
            _sleep(max(0, self._turn - self._warm_ns - clock()) / 1e9)
            while self._warm_ns and clock() < self._turn:
                self._call()
        self.cpu_ns += _cpu_clock() - began


class _Slices:
    """The calls in slices, with known loops between them, and the length of the quiet ones."""

    def __init__(self, undisturbed_ns: Loops, *, gaps: bool) -> None:
        self.kept: list[Slice] = []
        self.quiet_ns = 0
        self._gaps = gaps
        self._times: list[int] = []
        self._loops = known_loops_ns(near=gaps)
        self._quickest = quickest([self._loops, undisturbed_ns])
        self._began = clock()

    @property
    def length_ns(self) -> int:
        """Of one slice."""
        return max(_SLICE_NS, _TIMES_LOOPS * sum(self._quickest))

    def end(self, calls: int, *, drop: bool = False) -> bool:
        """Note that a call has ended; returns whether it is kept.

        With pauses before calls, only the loop after a call counts.
        """
        took = clock() - self._began
        before, self._loops = self._loops, known_loops_ns(near=self._gaps)
        slower = self._loops if self._gaps else tuple(map(max, before, self._loops))
        # Where too few starts see a quick shared cache, the first loop decides alone (read.py).
        kept = not drop or are_quick(slower[:1], self._quickest)
        if kept:
            self.kept.append((calls, *slower))
            self._times.append(took)
        least = quickest([self._loops, self._quickest])
        if least != self._quickest:
            self._quickest = least
            each = zip(self._times, self.kept, strict=True)
            self.quiet_ns = sum(ns for ns, (_, *loops) in each if are_quick(loops, least))
        elif are_quick(slower, least):
            self.quiet_ns += took
        self._began = clock()
        return kept


def known_loops_ns(*, near: bool) -> Loops:
    """That in the first-level cache only where it is `near`: other caches stay as they are."""
    _READ[:_FETCH].sum(axis=1, out=_SUMS[:_FETCH])
    began = clock()
    _READ.sum(axis=1, out=_SUMS)
    near_ns = clock() - began
    if near:
        return (near_ns,)
    _WEIGHTS.find(_NOT_THERE)  # the calls have pushed them out of the caches
    began = clock()
    _WEIGHTS.find(_NOT_THERE)
    _WEIGHTS.find(_NOT_THERE)
    return near_ns, clock() - began


def time_calls(
    infer: Callable[[Image], Any],
    inputs: Sequence[Image],
    seconds: float,
    fewest: int,
    most: int | None = None,
    before: Callable[[], Any] | None = None,
    patience: int = 1,
    undisturbed_ns: Loops = (),
    in_slices: bool = True,
) -> Calls:
    """Time calls for the given time, with `before` done before each.

    On a disturbed machine they continue until the quiet slices have that length, for at most
    `patience` times as long; beyond the given time only slices are kept whose first loop was quick.
    `undisturbed_ns` are the times of the known loops on a quiet machine, if known. Without slices
    no loop runs between two calls: it would hold the GIL, which other callers wait for.

    A sample contains the call and one reading of the clock; everything else is outside. The answers
    to be checked are chosen at random beforehand, so that no backend can know them.
    """
    now = clock
    samples: list[int] = []
    answers: dict[int, Any] = {}
    kept: list[list[tuple[int, Any]]] = []
    draws = cycle([2 * random.random() for _ in range(2 * _KEPT)])
    gap = _ONE_IN
    keep_at = 1 + int(gap * next(draws))
    number = 0
    most = most or sys.maxsize
    slices = _Slices(undisturbed_ns, gaps=bool(before)) if in_slices else None
    sliced = dropped = 0
    wanted = int(seconds * 1e9)
    began = stop = now()
    wanted_end, slice_ends = began + wanted, began + (slices.length_ns if slices else 0)
    end = began + patience * wanted
    while len(samples) < most and (stop < end or len(samples) < fewest):
        image = inputs[number]
        if before:
            before()
        start = now()
        answer = infer(image)
        stop = now()
        samples.append(stop - start)
        answers[number] = answer
        if len(samples) == keep_at:
            kept.append([(number, one) for one in _to_check(answer)])
            if len(kept) == _KEPT:
                del kept[::2]
                gap *= 2
            keep_at += 1 + int(gap * next(draws))
        number += 1
        if number == len(inputs):
            number = 0
        if slices and (before or stop >= slice_ends):
            late = stop > wanted_end and sliced >= fewest
            if not slices.end(len(samples) - sliced, drop=late):
                dropped += len(samples) - sliced
                del samples[sliced:]
            sliced = len(samples)
            slice_ends = now() + slices.length_ns
            if slices.quiet_ns >= wanted:
                end = stop
    if slices and len(samples) > sliced:
        slices.end(len(samples) - sliced)
    checked = [*answers.items(), *chain.from_iterable(kept)]
    kept_slices = slices.kept if slices else []
    return Calls(samples, kept_slices, len(samples) + dropped, checked, began, stop - began)


def _to_check(answer: Any) -> list[Any]:
    """The answer, and as it is now: a thread or a GPU may go on to write it."""
    return [answer, answer.copy()] if type(answer) is np.ndarray else [answer]
