"""Several callers at once: threads that begin together and call until the same moment."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from typing import Any

from .calls import Calls, Image, clock, time_calls

_FEWEST_CALLS = 3  # of each caller
_PATIENCE_S = 60.0  # until all have begun


def call_together(
    calls: Sequence[Callable[[Image], Any]],
    inputs: Sequence[Image],
    seconds: float,
    begin_ns: int = 0,
) -> list[Calls]:
    """What each caller measured, each beginning at another input, none before `begin_ns`.

    The first error of a call is raised when all have ended.
    """
    ends_ns = 0

    def begin() -> None:
        nonlocal ends_ns
        time.sleep(max(0, begin_ns - clock()) / 1e9)
        ends_ns = clock() + round(seconds * 1e9)

    ready = Barrier(len(calls), begin)

    def caller(number: int) -> Calls:
        order = [(number + n) % len(inputs) for n in range(len(inputs))]
        own = [inputs[n] for n in order]
        ready.wait(_PATIENCE_S)
        left_s = max(0, ends_ns - clock()) / 1e9  # one that was woken late ends with the others
        found = time_calls(calls[number], own, left_s, _FEWEST_CALLS, in_slices=False)
        return replace(found, answers=[(order[n], answer) for n, answer in found.answers])

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(caller, range(len(calls))))
