"""What one call of a backend does: Python calls, frames and shares of the time.

Runs in the worker, after the timing of `compare`: a profiler slows the code down, so only counts
are taken from it. Shares of the time come from sampling the stack a thousand times a second.
"""

import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import cycle, islice
from traceback import walk_stack
from types import FrameType
from typing import Any

from .calls import Image

Infer = Callable[[Image], Any]

#: The name for time outside of Python.
NATIVE = "native code"

_LOOKS_A_SECOND = 1000
_SMALLEST = 0.02  # share of the time that is kept
_SECONDS = 0.5


def dissect(infer: Infer, images: list[Image], seconds: float = _SECONDS) -> dict[str, Any]:
    """The counts of a call, and the sampled stack of so many seconds of calls, as plain data."""
    return {**_counted(infer, images[0]), **_watched(infer, images, seconds)}


def package_of(call: str) -> str:
    """`numpy` of numpy.linalg:solve, and of numpy.linalg."""
    return call.partition(":")[0].partition(".")[0]


def _counted(infer: Infer, image: Image) -> dict[str, Any]:
    """Calls that this thread makes from Python, by package, and the deepest stack."""
    python, builtin = Counter[str](), 0
    depth, deepest = 0, 0
    tower: list[str] = []

    def look(frame: FrameType, event: str, called: object) -> None:
        nonlocal builtin, depth, deepest, tower
        if event == "call":
            python[package_of(function_name(frame))] += 1
            depth += 1
            if depth > deepest:
                deepest, tower = depth, _packages_above(frame, depth)
        elif event == "return":
            depth -= 1
        elif event == "c_call" and called is not sys.setprofile:
            builtin += 1

    infer(image)
    sys.setprofile(look)
    try:
        infer(image)
    finally:
        sys.setprofile(None)
    return {
        "python_calls": dict(python.most_common()),
        "builtin_calls": builtin,
        "depth": deepest,
        "tower": tower,
    }


def function_name(frame: FrameType) -> str:
    """The name of the function in the frame: package.module:Class.function."""
    name = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)  # from Python 3.11 on
    return f"{frame.f_globals.get('__name__', '?')}:{name}"


def _packages_above(frame: FrameType, depth: int) -> list[str]:
    """The packages on the stack of this frame, in the order of their first frames."""
    way = [package_of(function_name(above)) for above, _ in islice(walk_stack(frame), depth)]
    return list(dict.fromkeys(reversed(way)))


def _watched(infer: Infer, images: list[Image], seconds: float) -> dict[str, Any]:
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
    looks = stacks.total()
    shares = Counter[str]()
    for stack, count in stacks.items():
        shares[package_of(stack[-1]) if stack else NATIVE] += count
    return {
        "shares": {package: count / looks for package, count in shares.most_common()},
        "tree": _tree(stacks, looks),
    }


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
