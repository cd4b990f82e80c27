"""How much of a call holds the GIL: another thread asks for it at random moments.

The share of the moments at which it has to wait is the share of the time. A thread that counts
beside the calls, and its progress, show this only of calls that last longer than the system takes
to wake a thread.
"""

import os
import random
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from itertools import cycle
from statistics import median
from threading import Event, Thread
from typing import Any

from .._boundary import wait_for_gil
from .calls import Image, clock, time_calls

_APART_NS, _CALLS_APART = 200_000, 3  # moments are apart by the first, and about so many calls
_FEWEST, _LONGEST_S = 20, 5.0


def ask_for_gil(
    infer: Callable[[Image], Any],
    images: Sequence[Image],
    seconds: float,
    cores: Collection[int],
) -> tuple[int, int]:
    """How often the GIL was asked for from these cores during calls, and how often it was held."""
    call_ns = median(time_calls(infer, images, 0.0, 1).samples_ns)
    away_ns = min(_CALLS_APART * call_ns + _APART_NS, _LONGEST_S * 1e9 / _FEWEST)
    waited: list[bool] = []
    over = Event()

    def ask() -> None:
        with suppress(OSError):  # a core that is not there any more
            if cores:
                os.sched_setaffinity(0, cores)
        while not over.is_set():
            # Exponential, so that no moment of a call is likelier than another.
            waited.append(wait_for_gil(round(_APART_NS + random.expovariate(1 / away_ns))))

    asking = Thread(target=ask)
    end = clock() + min(_LONGEST_S, max(seconds, _FEWEST * away_ns / 1e9)) * 1e9
    asking.start()
    try:
        for image in cycle(images):
            infer(image)
            if clock() > end:
                break
    finally:
        over.set()
        asking.join()
    during = waited[:-1]  # the last one ended after the calls
    return len(during), sum(during)
