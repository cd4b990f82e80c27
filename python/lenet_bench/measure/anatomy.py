"""What one call of a backend does in Python: its calls, and the tree of its functions.

Runs in the worker, after the timing of `compare`: a profiler slows the code down, so only counts
are taken from it. Shares of the time come from sampling the stack a thousand times a second.
"""

import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import cycle
from types import FrameType
from typing import Any

from .calls import Image

Infer = Callable[[Image], Any]

_LOOKS_A_SECOND = 1000
_SMALLEST = 0.02  # share of the time that is kept
_SECONDS = 0.5


def dissect(infer: Infer, images: list[Image], seconds: float = _SECONDS) -> dict[str, Any]:
    """The counts of a call, and the sampled stack of so many seconds of calls, as plain data."""
    return {
        "python_calls": _counted(infer, images[0]),
        "tree": _watched(infer, images, seconds),
    }


def package_of(call: str) -> str:
    """`numpy` of numpy.linalg:solve, and of numpy.linalg."""
    return call.partition(":")[0].partition(".")[0]


def _counted(infer: Infer, image: Image) -> dict[str, int]:
    """Functions that this thread runs in Python, by package."""
    python = Counter[str]()

    def look(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            python[package_of(function_name(frame))] += 1

    infer(image)
    sys.setprofile(look)
    try:
        infer(image)
    finally:
        sys.setprofile(None)
    return dict(python.most_common())


def function_name(frame: FrameType) -> str:
    """The name of the function in the frame: package.module:Class.function."""
    name = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)  # from Python 3.11 on
    return f"{frame.f_globals.get('__name__', '?')}:{name}"


def _watched(infer: Infer, images: list[Image], seconds: float) -> list[dict[str, Any]]:
    """Where the time goes, by sampling the Python stack at a fixed interval.

    Native code counts for the function that calls it. Only this thread is sampled.
    """
    stacks = Counter[tuple[str, ...]]()

    def look(_: int, frame: FrameType | None) -> None:
        if (stack := _stack(frame)) is not None:
            stacks[stack] += 1

    before = signal.signal(signal.SIGALRM, look)
    signal.siginterrupt(signal.SIGALRM, False)
    signal.setitimer(signal.ITIMER_REAL, 1 / _LOOKS_A_SECOND, 1 / _LOOKS_A_SECOND)
    try:
        _calls(infer, images, seconds)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return _tree(stacks, stacks.total())


def _calls(infer: Infer, images: list[Image], seconds: float) -> None:
    end = time.perf_counter() + seconds
    for image in cycle(images):
        infer(image)
        if time.perf_counter() >= end:
            break


def _stack(frame: FrameType | None) -> tuple[str, ...] | None:
    """The functions below the loop, the backend's own first; empty where `infer` is native.

    None outside of the loop.
    """
    found: list[str] = []
    while frame is not None and frame.f_code is not _calls.__code__:
        found.append(function_name(frame))
        frame = frame.f_back
    return None if frame is None else tuple(reversed(found))


def _tree(stacks: Mapping[tuple[str, ...], int], looks: int) -> list[dict[str, Any]]:
    """The tree of calls, each with its share of the time, callees included."""
    below: dict[str, Counter[tuple[str, ...]]] = {}
    for stack, count in stacks.items():
        if stack:
            below.setdefault(stack[0], Counter())[stack[1:]] += count
    found = [
        {"call": call, "share": rest.total() / looks, "calls": _tree(rest, looks)}
        for call, rest in below.items()
        if rest.total() >= _SMALLEST * looks
    ]
    return sorted(found, key=lambda node: -float(node["share"]))
