"""Other use of the cores on which backends are timed, as far as the system shows it."""

from collections.abc import Sequence

import psutil


class Watch:
    """These cores from now on, while one process is at work on them."""

    def __init__(self, cores: Sequence[int]) -> None:
        self._cores = cores
        self._before = _cpu_times(cores)

    def shares(self, pid: int) -> tuple[float | None, float | None]:
        """The shares of the cores' time since then taken by a hypervisor and by other processes."""
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
    """Seconds of these cores together: in all, busy, and taken by a hypervisor."""
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
