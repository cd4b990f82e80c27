"""The clock around a call."""

import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.float32]

#: Taken before a backend is imported, which may put another clock into the module `time`.
clock, _sleep, _cpu_clock = time.perf_counter_ns, time.sleep, time.thread_time_ns

_KEPT = 128  # answers of random calls at most, beside the last to each input
_ONE_IN = 16  # calls, on average; of many calls, one in twice as many, and so on


@dataclass(frozen=True)
class Calls:
    """Some timed calls."""

    samples_ns: list[int]
    answers: list[tuple[int, Any]]  # the last one to each input, and those of random calls
    began_ns: int
    wall_ns: int  # from the first call, or the wait before it, to the end of the last


class Before:
    """What is done before each call, outside its time: caches are made cold, then it idles."""

    def __init__(self, cold_mb: int | None, interval_s: float | None) -> None:
        # Ones: zeros would all be the system's one page of zeros.
        self._memory = np.ones(cold_mb * 1_000_000 // 8) if cold_mb else None
        self._interval_s = interval_s
        self.cpu_ns = 0  # that it took so far

    def __call__(self) -> None:
        if self._memory is not None:
            began = _cpu_clock()
            self._memory.sum()
            self.cpu_ns += _cpu_clock() - began
        if self._interval_s:
            _sleep(self._interval_s)


def time_calls(
    infer: Callable[[Image], Any],
    inputs: Sequence[Image],
    seconds: float,
    fewest: int,
    most: int | None = None,
    before: Callable[[], None] | None = None,
    first: int = 0,
) -> Calls:
    """Time calls until the clock says so, with something done before each where that is given.

    Within a sample lie the call and one reading of the clock; everything else is outside. Which
    answers are kept to be checked is chosen beforehand and at random, so that no backend can know.
    """
    now = clock
    samples: list[int] = []
    answers: dict[int, Any] = {}
    kept: list[tuple[int, Any]] = []
    draws = cycle([2 * random.random() for _ in range(2 * _KEPT)])
    gap = _ONE_IN
    keep_at = 1 + int(gap * next(draws))
    number = first
    began = stop = now()
    end = began + int(seconds * 1e9)
    enough = most or sys.maxsize
    while len(samples) < enough and (stop < end or len(samples) < fewest):
        image = inputs[number]
        if before:
            before()
        start = now()
        answer = infer(image)
        stop = now()
        samples.append(stop - start)
        answers[number] = answer
        if len(samples) == keep_at:
            kept.append((number, answer))
            if len(kept) == _KEPT:
                del kept[::2]
                gap *= 2
            keep_at += 1 + int(gap * next(draws))
        number += 1
        if number == len(inputs):
            number = 0
    return Calls(samples, [*answers.items(), *kept], began, stop - began)
