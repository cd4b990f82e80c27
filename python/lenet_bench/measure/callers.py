"""Several callers at once: threads of one process, which begin together and call for as long."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from typing import Any

from .calls import Calls, Image, time_calls

_FEWEST_CALLS = 3  # of each caller
_PATIENCE_S = 60.0  # until all have begun


def call_together(
    calls: Sequence[Callable[[Image], Any]], inputs: Sequence[Image], seconds: float
) -> list[Calls]:
    """What each caller measured, each beginning at another input.

    The first error of a call is raised when all have ended.
    """
    ready = Barrier(len(calls))

    def caller(number: int) -> Calls:
        order = [(number + n) % len(inputs) for n in range(len(inputs))]
        own = [inputs[n] for n in order]
        ready.wait(_PATIENCE_S)
        found = time_calls(calls[number], own, seconds, _FEWEST_CALLS)
        return replace(found, answers=[(order[n], answer) for n, answer in found.answers])

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(caller, range(len(calls))))
