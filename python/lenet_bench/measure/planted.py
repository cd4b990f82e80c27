"""Backends of the self-test: one under several names, the same made slower, three that cheat.

Which backend these are made of, and how much slower, stands in environment variables, since a
process builds one from the weights and the threads alone.
"""

import os
import time
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from ..registry import load
from ..weights import Weights

#: The variable that names the backend.
BACKEND = "LENET_BENCH_SELF_TEST_BACKEND"
#: The variable that says how much more a call takes: 0.05 is 5 %.
SLOWDOWN = "LENET_BENCH_SELF_TEST_SLOWDOWN"

Floats = NDArray[np.float32]


class Planted:
    """The backend with something done to its answers."""

    def __init__(self, weights: Weights, *, threads: int) -> None:
        self._backend = load(os.environ[BACKEND], threads=threads, weights=weights)

    def infer(self, images: Floats) -> Floats:
        return self._backend.infer(images)

    def describe(self) -> dict[str, str]:
        return {**self._backend.describe(), "planted": type(self).__name__}


class Slower(Planted):
    """The backend, and after each call a wait for SLOWDOWN of what it took, which may be nothing.

    Even a wait of zero costs 1.7 us, 1 % of numpy's call: three readings of the clock, whose code
    is not in the caches. So a backend and its slower twin both wait.
    """

    def __init__(self, weights: Weights, *, threads: int) -> None:
        super().__init__(weights, threads=threads)
        self._slowdown = float(os.environ[SLOWDOWN])

    def infer(self, images: Floats) -> Floats:
        """Answer, then wait in a loop: sleeping would be too coarse."""
        began = time.perf_counter_ns()
        answer = self._backend.infer(images)
        took = time.perf_counter_ns() - began
        end = began + int(took * (1 + self._slowdown))
        while time.perf_counter_ns() < end:
            pass
        return answer


class Remembering(Planted):
    """Remembers every answer and returns it again."""

    def __init__(self, weights: Weights, *, threads: int) -> None:
        super().__init__(weights, threads=threads)
        self._known: dict[bytes, Floats] = {}

    def infer(self, images: Floats) -> Floats:
        key = images.tobytes()
        if key not in self._known:
            self._known[key] = self._backend.infer(images)
        return np.array(self._known[key])


class Wrong(Planted):
    """Gives probabilities with an error in the fourth digit."""

    def infer(self, images: Floats) -> Floats:
        answer: Floats = self._backend.infer(images) * np.float32(0.999)
        return answer


class WrongLater(Wrong):
    """Answers an image correctly only as often as it is checked before the timing."""

    def __init__(self, weights: Weights, *, threads: int) -> None:
        super().__init__(weights, threads=threads)
        self._asked: Counter[bytes] = Counter()

    def infer(self, images: Floats) -> Floats:
        key = images.tobytes()
        self._asked[key] += 1
        return super().infer(images) if self._asked[key] > 2 else self._backend.infer(images)
