"""What else happens on the cores that backends are timed on, as far as the system tells."""

import time
from collections.abc import Sequence

import numpy as np
import psutil

from .pinning import on_cores

_PIECES = 5
# 4 KB of the first-level cache, read a thousand times. Not a loop in Python: on an Intel Xeon such
# a loop took 2.5 times as long just where everything else was fast.
_SPUN, _SUMS = np.broadcast_to(np.ones(512), (1000, 512)), np.empty(1000)
_READ = np.ones(1 << 18)  # 2 MiB: the second-level cache, and what lies behind it


def probe_us(cores: Sequence[int]) -> float:
    """How long a known loop takes on these cores now, on the slowest: it spins, then it reads.

    A loop that takes longer than usual shows what the system may hide: a clock that was lowered, a
    neighbour in the caches, a hypervisor that took the core away.
    """
    return max(_probe_us((core,)) for core in cores) if cores else _probe_us(())


def _probe_us(core: tuple[int, ...]) -> float:
    with on_cores(core):
        _piece()  # arrive there
        began = time.perf_counter_ns()
        for _ in range(_PIECES):
            _piece()
        return (time.perf_counter_ns() - began) / 1000 / _PIECES


def _piece() -> None:
    _SPUN.sum(axis=1, out=_SUMS)
    _READ.sum()


class Watch:
    """These cores from now on, while one process is at work on them."""

    def __init__(self, cores: Sequence[int]) -> None:
        self._cores = cores
        self._before = _cpu_times(cores)

    def shares(self, pid: int) -> tuple[float | None, float | None]:
        """What of the cores' time since then a hypervisor took, and what other processes used."""
        after = _cpu_times(self._cores)
        if self._before is None or after is None:
            return None, None
        total, busy, steal = (b - a for a, b in zip(self._before, after, strict=True))
        if total <= 0:
            return None, None
        return steal / total, max(0.0, busy - _cpu_s(pid)) / total


def mhz(cores: Sequence[int]) -> float | None:
    try:
        clocks = psutil.cpu_freq(percpu=True)
        known = [clocks[core].current for core in cores]
    except (OSError, AttributeError, IndexError, NotImplementedError, TypeError):
        return None
    return sum(known) / len(known) if known else None


def _cpu_times(cores: Sequence[int]) -> tuple[float, float, float] | None:
    """Seconds of these cores together: all, those at work, those that a hypervisor took."""
    try:
        every = psutil.cpu_times(percpu=True)
    except OSError:
        return None
    times = [every[core] for core in cores if core < len(every)]
    if not times:
        return None
    steal = sum(getattr(one, "steal", 0.0) for one in times)
    idle = sum(one.idle + getattr(one, "iowait", 0.0) for one in times)
    guest = ("guest", "guest_nice")  # which user and nice have in them already
    total = sum(sum(one) - sum(getattr(one, name, 0.0) for name in guest) for one in times)
    return total, total - idle - steal, steal


def _cpu_s(pid: int) -> float:
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system + times.children_user + times.children_system)
