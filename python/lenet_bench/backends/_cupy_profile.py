"""Where the time of one image goes on CuPy; csrc/cuda/session.cpp has the same for C++."""

import time
from collections.abc import Callable
from itertools import pairwise
from statistics import median
from typing import Any

import cupy as cp

_NAMES = ("enqueue_us", "total_us", "h2d_us", "kernels_us", "d2h_us")


def profile(
    stream: "cp.cuda.Stream",
    copy_in: Callable[[], Any],
    compute: Callable[[Any], Any],
    copy_out: Callable[[Any], Any],
    calls: int,
) -> dict[str, float]:
    """Medians in microseconds: the three stages by CUDA's events, the rest by the host's clock.

    CuPy's copy out waits for what it copies: it is no part of enqueueing, and ends when the host
    has been woken.
    """
    events = [cp.cuda.Event() for _ in range(4)]
    samples = []
    for _ in range(calls):
        start = time.perf_counter_ns()
        stream.record(events[0])
        inputs = copy_in()
        stream.record(events[1])
        answer = compute(inputs)
        stream.record(events[2])
        enqueued = time.perf_counter_ns()
        copy_out(answer)
        stream.record(events[3])
        stream.synchronize()
        by_host = [(at - start) / 1000 for at in (enqueued, time.perf_counter_ns())]
        stages = [1000 * cp.cuda.get_elapsed_time(*pair) for pair in pairwise(events)]
        samples.append([*by_host, *stages])
    return dict(zip(_NAMES, map(median, zip(*samples, strict=True)), strict=True))
