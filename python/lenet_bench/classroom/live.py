"""The backends of a lesson: each in a process of its own, which waits for an image.

Only one of them runs at a time. While one is timed, all others are stopped, even one that is being
started: it would use the core of the timed one.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import Literal

import numpy as np
import psutil

from ..arrays import Floats
from ..errors import LenetBenchError
from ..measure.judged import Judged, prepared
from ..measure.messages import TimeFew
from ..measure.options import CompareOptions, Entry
from ..measure.start import Failed, conditions
from ..registry import check_needs, every_name, exact_probabilities, find, is_installed
from ..units import mebibytes
from ..weights import read_weights

State = Literal["waiting", "starting", "ready", "failed"]

_LATE_S = 10.0  # longest wait for an answer, with all its calls
_SECONDS, _FEWEST, _MOST = 0.05, 3, 50  # duration and numbers of the timed calls
_STARTS = 3  # of a backend
_SPARE_MIB = 1024  # with less free memory no further backend is started
_SHIFTS = ((0, 0), (0, 1), (1, 0), (1, 1))  # of the image, so that no answer is cached


@dataclass
class LiveBackend:
    """One of the lesson's backends, and its state."""

    entry: Entry
    state: State = "waiting"
    reason: str | None = None  # why it failed
    start: Judged | None = None  # its process
    starts: int = 0


@dataclass(frozen=True)
class LiveAnswer:
    """A backend's answer to an image, and the median time of some calls."""

    name: str
    digit: int
    probabilities: tuple[float, ...]
    us: float
    calls: int


def installed() -> list[str]:
    """Each backend that is installed here, in its default variant, from C++ to Keras."""
    return [name for name in every_name() if _is_here(name)]


class Live:
    """The backends; `begin` starts them in the background, in this order.

    A backend that dies while it answers is started again, twice at most.
    """

    def __init__(
        self,
        backends: Sequence[str | Entry],
        *,
        late_s: float = _LATE_S,
        spare_mib: float = _SPARE_MIB,
    ) -> None:
        entries = [
            one if isinstance(one, Entry) else Entry.of_backend(one, threads=1) for one in backends
        ]
        self._backends = {entry.name: LiveBackend(entry) for entry in entries}
        self._conditions = conditions(CompareOptions(seed=0), entries)
        self._known = prepared(self._conditions, entries)
        self._late_s, self._spare_mib = late_s, spare_mib
        self._asking = threading.Lock()
        self._lock = threading.Lock()  # guards the fields below, and each backend's start
        self._closed = False
        self._to_start: SimpleQueue[LiveBackend | None] = SimpleQueue()
        self._starter = threading.Thread(target=self._start_all, daemon=True)

    @property
    def own_cores(self) -> tuple[int, ...]:
        """The cores on which this process disturbs no backend; () if unknown."""
        return self._conditions.cores.parent

    def begin(self) -> None:
        for backend in self._backends.values():
            self._to_start.put(backend)
        self._starter.start()

    def states(self) -> list[dict[str, str | None]]:
        """Each backend's name, its state, and the reason where it failed."""
        return [
            {"name": name, "state": one.state, "reason": one.reason}
            for name, one in self._backends.items()
        ]

    def ready(self) -> list[str]:
        return [name for name, one in self._backends.items() if one.state == "ready"]

    def ask(self, name: str, image: Floats) -> LiveAnswer:
        """Its answer to the image, and the time; a LenetBenchError concerns this backend only."""
        backend = self._backends[name]
        with self._asking, self._starting_paused():
            if self._closed or backend.state != "ready" or backend.start is None:
                raise LenetBenchError(backend.reason or f"{name} is not ready")
            try:
                return _ask(backend.start, image)
            except Failed as failure:
                self._fail(backend, failure)
                if backend.starts < _STARTS:
                    backend.state = "waiting"
                    self._to_start.put(backend)
                raise LenetBenchError(backend.reason or failure.reason) from None

    def close(self) -> None:
        """End all processes, at once."""
        with self._lock:
            self._closed = True
            for backend in self._backends.values():
                if backend.start:
                    backend.start.child.kill()
        self._to_start.put(None)
        if self._starter.is_alive():
            self._starter.join()
        with self._asking:
            for backend in self._backends.values():
                if backend.start:
                    backend.start.child.close()

    def _start_all(self) -> None:
        for backend in iter(self._to_start.get, None):
            if self._closed:
                return
            backend.state = "starting"
            backend.starts += 1
            try:
                start = self._start(backend)
            except Failed as failure:
                self._fail(backend, failure)
                continue
            with self._lock:
                start.child.pause()
                backend.state, backend.reason = "ready", None

    def _start(self, backend: LiveBackend) -> Judged:
        """A process that has given the right answers and waits for an image."""
        free_mib = psutil.virtual_memory().available / 2**20
        if free_mib < self._spare_mib:
            raise Failed("unavailable", f"not started: only {mebibytes(free_mib)} of memory free")
        with self._lock:
            start = backend.start = Judged(backend.entry, self._conditions, self._known)
            if self._closed:
                start.child.kill()
        start.build(self._known.rotating.inputs)
        start.check_parity()
        late = replace(self._conditions.options, timeout_s=self._late_s)
        start.conditions = replace(self._conditions, options=late)
        return start

    @contextmanager
    def _starting_paused(self) -> Iterator[None]:
        every = self._backends.values()
        with self._lock:
            starting = [(b, b.start) for b in every if b.state == "starting" and b.start]
            for _, start in starting:
                start.child.pause()
        try:
            yield
        finally:
            with self._lock:
                for backend, start in starting:
                    if backend.state == "starting":
                        start.child.go_on()

    def _fail(self, backend: LiveBackend, failure: Failed) -> None:
        backend.reason = f"{failure.status}: {failure.reason}"
        backend.state = "failed"
        with self._lock:
            start, backend.start = backend.start, None
        if start:
            start.child.close()


def _is_here(name: str) -> bool:
    row, variant = find(name)
    if variant != row.default or not is_installed(row):
        return False
    try:
        check_needs(row, variant)
    except LenetBenchError:
        return False
    return True


def _ask(start: Judged, image: Floats) -> LiveAnswer:
    images = np.stack([np.roll(image, shift, axis=(0, 1)) for shift in _SHIFTS])
    start.child.go_on()
    try:
        found = start.ask(TimeFew(images, _SECONDS, _FEWEST, _MOST))
    finally:
        start.child.pause()
    probabilities = found.answer
    expected = exact_probabilities(read_weights(), images[:1]).astype(np.float32)
    start.check(probabilities, expected)
    return LiveAnswer(
        name=start.entry.name,
        digit=int(probabilities.argmax()),
        # the shortest decimals that give the same float32
        probabilities=tuple(float(str(value)) for value in probabilities),
        us=float(np.median(found.samples_ns)) / 1000,
        calls=len(found.samples_ns),
    )
