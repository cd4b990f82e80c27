"""What else happened on the cores while rungs were timed, as far as the system tells."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..results import Disturbance


class Watch:
    """Adds up, over the turns, what the pinned cores did besides running the rung."""

    def __init__(self, cores: tuple[int, ...]) -> None:
        self._cores = cores
        self._ticks = os.sysconf("SC_CLK_TCK") * 1.0
        self._load_before = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
        self._total_s = self._steal_s = self._busy_s = self._own_s = 0.0
        self._mhz: list[float] = []

    @contextmanager
    def turn(self) -> Iterator[None]:
        """One turn passes."""
        before = _cpu_times(self._cores)
        yield
        after = _cpu_times(self._cores)
        if before and after:
            total, busy, steal = (b - a for a, b in zip(before, after, strict=True))
            self._total_s += total / self._ticks
            self._busy_s += busy / self._ticks
            self._steal_s += steal / self._ticks
        self._mhz.extend(_mhz(self._cores))

    def rung_used(self, cpu_s: float) -> None:
        """So much of the turns' CPU time was the rung's own."""
        self._own_s += cpu_s

    def take_over(self, before: Disturbance, seconds: float) -> None:
        """What an earlier run saw in so many seconds counts too."""
        self._total_s = seconds * len(self._cores)
        self._steal_s = self._total_s * (before.steal_share or 0.0)
        self._busy_s = self._total_s * (before.other_share or 0.0)
        self._load_before = before.load_before
        self._mhz = [mhz for mhz in (before.mhz_low, before.mhz_high) if mhz is not None]

    def seen(self) -> Disturbance:
        """All of it so far."""
        told = self._total_s > 0
        other = max(0.0, self._busy_s - self._own_s)
        return Disturbance(
            steal_share=self._steal_s / self._total_s if told else None,
            other_share=other / self._total_s if told else None,
            load_before=self._load_before,
            mhz_low=min(self._mhz, default=None),
            mhz_high=max(self._mhz, default=None),
        )


def _cpu_times(cores: tuple[int, ...]) -> tuple[int, int, int] | None:
    """Clock ticks of these cores together: all, those at work, those that a hypervisor took."""
    try:
        lines = Path("/proc/stat").read_text().splitlines()
    except OSError:
        return None
    wanted = {f"cpu{core}" for core in cores}
    total = busy = stolen = 0
    for line in lines:
        name, *fields = line.split()
        if name in wanted:
            user, nice, system, idle, wait, irq, softirq, steal = map(int, fields[:8])
            work = user + nice + system + irq + softirq
            total += work + idle + wait + steal
            busy += work
            stolen += steal
    return total, busy, stolen


def _mhz(cores: tuple[int, ...]) -> Iterator[float]:
    """The cores' clocks now."""
    for core in cores:
        try:
            path = Path(f"/sys/devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq")
            yield float(path.read_text()) / 1000
        except (OSError, ValueError):
            yield from _mhz_of_cpuinfo(core)


def _mhz_of_cpuinfo(core: int) -> Iterator[float]:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return
    found = re.search(rf"^processor\s*: {core}$.*?^cpu MHz\s*: ([\d.]+)$", text, re.M | re.S)
    if found:
        yield float(found[1])
