"""The clock around a call."""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.float32]


@dataclass(frozen=True)
class Calls:
    """Some timed calls."""

    samples_ns: list[int]
    answers: dict[int, Any]  # the last one to each input, by its number
    wall_ns: int  # from the first call, or the wait before it, to the end of the last


def time_calls(
    infer: Callable[[Image], Any],
    inputs: Sequence[Image],
    seconds: float,
    fewest: int,
    most: int | None = None,
    interval_s: float | None = None,
    first: int = 0,
) -> Calls:
    """Time calls until the clock says so, idle before each where there is an interval.

    Within a sample lie the call and one reading of the clock; everything else is outside.
    """
    clock, sleep = time.perf_counter_ns, time.sleep
    samples: list[int] = []
    answers: dict[int, Any] = {}
    number = first
    began = stop = clock()
    end = began + int(seconds * 1e9)
    enough = most or sys.maxsize
    while len(samples) < enough and (stop < end or len(samples) < fewest):
        image = inputs[number]
        if interval_s:
            sleep(interval_s)
        start = clock()
        answer = infer(image)
        stop = clock()
        samples.append(stop - start)
        answers[number] = answer
        number += 1
        if number == len(inputs):
            number = 0
    return Calls(samples, answers, stop - began)
