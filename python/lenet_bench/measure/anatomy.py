"""What one call of a backend is made of: Python calls, frames, waits, what one more image adds.

Runs in the worker, after the timing that `compare` does: a profiler slows what it looks at, so
only the counts are taken under it. Times are taken without, and shares by looking at the stack a
thousand times a second.
"""

import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.float32]
Floats = NDArray[np.float64]
Infer = Callable[[Image], Any]

#: What time is called that is spent in no Python at all.
NATIVE = "native code"

_BATCHES = (8, 32)  # keras.predict makes several calls of more than 32
_LOOKS_A_SECOND = 1000
_SMALLEST = 0.02  # share of the time that is kept
_TIMINGS, _ROUNDS = 7, 1000  # of a batch, at least and at most
_RESAMPLES = 400
_AS_SINGLE = 0.9  # of a call: as where a batch is a loop over its images
_WIDEST = 0.5  # of a figure: a wider interval says too little


def dissect(infer: Infer, images: list[Image], seconds: float) -> dict[str, Any]:
    """The parts of a call, as JSON takes them; about three times `seconds` in all."""
    return {
        **_timed(infer, images, seconds),
        **_by_batch(infer, images, seconds),
        **_counted(infer, images[0]),
        **_watched(infer, images, seconds),
    }


def package_of(call: str) -> str:
    """`numpy` of numpy.linalg:solve, and of numpy.linalg."""
    return call.partition(":")[0].partition(".")[0]


def _timed(infer: Infer, images: list[Image], seconds: float) -> dict[str, Any]:
    """The median call, and what the system saw of them all."""
    _calls(infer, images, seconds / 4)  # warm
    before, cpu_ns = resource.getrusage(resource.RUSAGE_SELF), time.process_time_ns()
    wall_ns = time.perf_counter_ns()
    samples = _calls(infer, images, seconds)
    wall_ns = time.perf_counter_ns() - wall_ns
    cpu_ns = time.process_time_ns() - cpu_ns
    after = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "call_us": float(np.median(samples)) / 1000,
        "busy": cpu_ns / wall_ns,
        "waits": (after.ru_nvcsw - before.ru_nvcsw) / len(samples),
        "interrupted_per_s": (after.ru_nivcsw - before.ru_nivcsw) / wall_ns * 1e9,
        "page_faults": (after.ru_minflt - before.ru_minflt) / len(samples),
    }


def _by_batch(infer: Infer, images: list[Image], seconds: float) -> dict[str, Any]:
    """What one more image adds to a call, and what the call costs beside its image.

    The first is the slope between two batches, the second the single call less that. Both are None,
    with the reason, where they cannot be known.
    """
    batches = [np.stack([images[n % len(images)] for n in range(size)]) for size in _BATCHES]
    try:
        for batch in batches:
            infer(batch)  # a graph for this shape may have to be built
        rounds = _rounds_us(infer, [images[0], *batches], seconds / 2)
    except Exception as error:
        unfit = f"it takes no batch ({type(error).__name__})"
        return {"image_us": None, "fixed_us": None, "unknown": unfit}
    image_us, fixed_us = map(_known, _slope_and_rest(rounds))
    single_us = float(np.median(rounds[:, 0]))
    reason = None
    if image_us is None:
        fixed_us, reason = None, "the times of its batches vary too much"
    elif image_us >= _AS_SINGLE * single_us:
        fixed_us, reason = None, "one more image costs as much as a whole call"
    elif fixed_us is None:
        reason = "its times vary too much"
    return {"image_us": image_us, "fixed_us": fixed_us, "unknown": reason}


def _rounds_us(infer: Infer, inputs: list[Image], seconds: float) -> Floats:
    """Calls with each of the inputs by turns, a row a round: a disturbance falls on all alike."""
    rounds: list[list[float]] = []
    end = time.perf_counter() + seconds
    while len(rounds) < _TIMINGS or (time.perf_counter() < end and len(rounds) < _ROUNDS):
        times = []
        for argument in inputs:
            start = time.perf_counter_ns()
            infer(argument)
            times.append((time.perf_counter_ns() - start) / 1000)
        rounds.append(times)
    return np.array(rounds)


def _slope_and_rest(rounds: Floats) -> tuple[Floats, Floats]:
    """What one more image adds and the rest of a call: from all rounds, then from resampled ones.

    Each is of medians, since a call that was interrupted says nothing.
    """
    picks = np.random.default_rng(0).integers(len(rounds), size=(_RESAMPLES, len(rounds)))
    medians = np.array([np.median(rounds, axis=0), *(np.median(rounds[p], axis=0) for p in picks)])
    slopes = (medians[:, 2] - medians[:, 1]) / (_BATCHES[1] - _BATCHES[0])
    return slopes, medians[:, 0] - slopes


def _known(values: Floats) -> float | None:
    """The first, where the 95 % interval of the others is above zero and not too wide."""
    low, high = np.percentile(values[1:], (2.5, 97.5))
    return float(values[0]) if low > 0 and high - low <= _WIDEST * values[0] else None


def _counted(infer: Infer, image: Image) -> dict[str, Any]:
    """Calls that this thread makes from Python, by package, and the deepest way down."""
    python, builtin = Counter[str](), 0
    depth, deepest = 0, 0
    tower: list[str] = []

    def look(frame: FrameType, event: str, _: object) -> None:
        nonlocal builtin, depth, deepest, tower
        if event == "call":
            python[_package(frame)] += 1
            depth += 1
            if depth > deepest:
                deepest, tower = depth, _packages_above(frame, depth)
        elif event == "return":
            depth -= 1
        elif event == "c_call":
            builtin += 1

    infer(image)
    sys.setprofile(look)
    try:
        infer(image)
    finally:
        sys.setprofile(None)
    builtin -= 1  # setprofile's own
    return {
        "python_calls": dict(python.most_common()),
        "builtin_calls": builtin,
        "depth": deepest,
        "tower": tower,
    }


def _packages_above(frame: FrameType | None, depth: int) -> list[str]:
    """The packages on the way down to this frame, each where the way first enters it."""
    found: list[str] = []
    for _ in range(depth):
        if frame is None:
            break
        found.append(_package(frame))
        frame = frame.f_back
    return list(dict.fromkeys(reversed(found)))


def _package(frame: FrameType) -> str:
    return package_of(_module(frame))


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "?"))


def _watched(infer: Infer, images: list[Image], seconds: float) -> dict[str, Any]:
    """Where the time goes, by looking at the Python stack whenever the clock strikes.

    What a function calls that is no Python counts as its own. Only this thread is seen, and only
    where the system has interval timers.
    """
    if not hasattr(signal, "setitimer"):
        return {"shares": {}, "tree": []}
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


def _calls(infer: Infer, images: list[Image], seconds: float) -> list[int]:
    """Single-image calls for so long: what each took, ns."""
    samples: list[int] = []
    end = time.perf_counter() + seconds
    while not samples or time.perf_counter() < end:
        image = images[len(samples) % len(images)]
        start = time.perf_counter_ns()
        infer(image)
        samples.append(time.perf_counter_ns() - start)
    return samples


def _stack(frame: FrameType | None) -> tuple[str, ...] | None:
    """The functions below the loop, the backend's own first; empty where `infer` is no Python.

    None outside of the loop.
    """
    found: list[str] = []
    while frame is not None and frame.f_code is not _calls.__code__:
        name = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)
        found.append(f"{_module(frame)}:{name}")
        frame = frame.f_back
    return None if frame is None else tuple(reversed(found))


def _tree(stacks: Mapping[tuple[str, ...], int], looks: int) -> list[dict[str, Any]]:
    """Who calls whom, with the share of the time that each takes with all that it calls."""
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
