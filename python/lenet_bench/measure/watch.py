"""The machine while a backend runs: other use of its cores, and what the GPU draws and holds.

A figure that the system does not give is None, and nothing fails. A GPU is asked by NVML, which
comes with NVIDIA's driver, and its Python binding with lenet-bench's GPU extras; some GPUs do not
count energy, some containers hide processes.
"""

import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import psutil

from ..registry.cuda import load_of_driver
from ..results import Gpu

#: Seconds: of some cores together in all, busy, and taken by a hypervisor; and of a process.
Times = tuple[float, float, float, float]

#: NVML counts energy in steps of 0.1 s, so in less than this they are no figure.
LEAST_S = 0.5


def shares(
    cores: Sequence[int], before: Times | None, pid: int
) -> tuple[float | None, float | None]:
    """The shares of the cores' time since then taken by a hypervisor and by other processes."""
    after = cpu_times(cores, pid)
    if before is None or after is None:
        return None, None
    total, busy, steal, own = (b - a for a, b in zip(before, after, strict=True))
    if total <= 0:
        return None, None
    return steal / total, max(0.0, busy - own) / total


class Delays(NamedTuple):
    """What the kernel says of a process that a backend may lie about."""

    waited_ns: int = 0  # for a core: its main thread, and this one, which asks it
    times: int = 0  # that its main thread lost its core

    def since(self, before: "Delays") -> "Delays":
        return Delays(*(now - then for now, then in zip(self, before, strict=True)))


def delays_of(pid: int) -> Delays:
    """Its delays so far; zeros where the system does not give them."""
    try:
        waited = (_waited_ns(Path(f"/proc/{which}")) for which in (pid, "thread-self"))
        return Delays(sum(waited), psutil.Process(pid).num_ctx_switches().involuntary)
    except (OSError, ValueError, IndexError, NotImplementedError, psutil.Error):
        return Delays()


def _waited_ns(process: Path) -> int:
    return int((process / "schedstat").read_text().split()[1])


def mhz(cores: Sequence[int]) -> float | None:
    try:
        return fmean(map(_mhz, cores))
    except (OSError, LookupError, ValueError):
        return None


def _mhz(core: int) -> float:
    """By its number: psutil's lists leave out cores that are off."""
    try:
        khz = Path(f"/sys/devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq").read_text()
        return int(khz) / 1000
    except OSError:  # in a virtual machine; then x86 tells
        own = rf"^processor\s*: {core}$(?:\n.+)*?\ncpu MHz\s*: ([\d.]+)$"
        return float(re.findall(own, Path("/proc/cpuinfo").read_text(), re.MULTILINE)[0])


def cpu_times(cores: Sequence[int], pid: int) -> Times | None:
    try:
        lines = map(str.split, Path("/proc/stat").read_text().splitlines())
        every = {name: ticks for name, *ticks in lines}
        own = (map(int, every[f"cpu{core}"][:8]) for core in cores)  # guests' are users' too
        times = [sum(ticks) / os.sysconf("SC_CLK_TCK") for ticks in zip(*own, strict=True)]
        total, idle, steal = sum(times), times[3] + times[4], times[7]
    except (OSError, LookupError, ValueError):
        return None
    return total, total - idle - steal, steal, _cpu_s(pid)


def _cpu_s(pid: int) -> float:
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system + times.children_user + times.children_system)


@dataclass(frozen=True)
class Reading:
    """A GPU at one moment; None for an unknown figure."""

    at_s: float
    energy_mj: float | None  # since its driver was loaded
    power_w: float | None
    mhz: float | None  # the multiprocessors' clock
    memory_mib: float | None  # that the process holds


class Meter:
    """One GPU, and one process on it."""

    def __init__(self, nvml: Any, device: Any, pid: int) -> None:
        self._nvml, self._device, self._pid = nvml, device, pid
        self.name: str = _asked(nvml, nvml.nvmlDeviceGetName, device) or "NVIDIA GPU"

    def read(self) -> Reading:
        """Now. It takes NVML some milliseconds, so never within a timed call."""
        nvml, device = self._nvml, self._device
        power_mw = _asked(nvml, nvml.nvmlDeviceGetPowerUsage, device)
        return Reading(
            at_s=time.monotonic(),
            energy_mj=_asked(nvml, nvml.nvmlDeviceGetTotalEnergyConsumption, device),
            power_w=None if power_mw is None else power_mw / 1000,
            mhz=_asked(nvml, nvml.nvmlDeviceGetClockInfo, device, nvml.NVML_CLOCK_SM),
            memory_mib=_memory_mib(nvml, device, self._pid),
        )


def open_meter(runs: Mapping[str, str], pid: int) -> Meter | None:
    """The meter of the GPU that a backend names (`describe()`), else of the one with its process.

    None without the driver's library or its binding.
    """
    if load_of_driver("libnvidia-ml.so.1") is None:  # the binding uses the loaded one
        return None
    try:
        import pynvml as nvml

        nvml.nvmlInit()
    except Exception:  # ImportError, or whatever NVML says
        return None
    if bus := runs.get("PCI bus"):
        device = _asked(nvml, nvml.nvmlDeviceGetHandleByPciBusId, bus.encode())
        if device is not None:
            return Meter(nvml, device, pid)
    count = _asked(nvml, nvml.nvmlDeviceGetCount) or 0
    devices = [_asked(nvml, nvml.nvmlDeviceGetHandleByIndex, n) for n in range(count)]
    known = [device for device in devices if device is not None]
    if len(known) > 1:
        known = [device for device in known if _memory_mib(nvml, device, pid) is not None]
    return Meter(nvml, known[0], pid) if known else None


def used(
    name: str, before: Reading | None, after: Reading | None, calls: int, profile: Any = None
) -> Gpu:
    """A backend's use of the GPU between two readings, with so many calls and no pauses, or 0."""
    if before is None or after is None:
        return Gpu(name, profile_us=profile)
    energy_mj, power_w = None, after.power_w
    seconds = after.at_s - before.at_s
    if seconds >= LEAST_S and before.energy_mj is not None and after.energy_mj is not None:
        used_mj = after.energy_mj - before.energy_mj
        energy_mj = used_mj / calls if calls else None
        power_w = used_mj / 1000 / seconds
    return Gpu(
        name,
        memory_mib=after.memory_mib,
        power_w=power_w,
        energy_mj=energy_mj,
        mhz_before=before.mhz,
        mhz_after=after.mhz,
        profile_us=profile,
    )


def _memory_mib(nvml: Any, device: Any, pid: int) -> float | None:
    processes = _asked(nvml, nvml.nvmlDeviceGetComputeRunningProcesses, device) or ()
    held = (process.usedGpuMemory for process in processes if process.pid == pid)
    return next((bytes_held / 2**20 for bytes_held in held if bytes_held), None)


def _asked(nvml: Any, question: Callable[..., Any], *arguments: Any) -> Any:
    """NVML's answer; None where the driver has none."""
    try:
        return question(*arguments)
    except nvml.NVMLError:
        return None
