"""A GPU's clock, power, energy and memory while a backend runs on it, from the NVIDIA driver.

NVML comes with the driver, its Python binding with lenet-bench's GPU extras. If one is absent or
has no answer (some GPUs do not count energy, some containers hide processes), the figure is None,
and nothing fails.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..registry.cuda_libraries import load_of_driver
from ..results import Gpu


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
    if load_of_driver("libnvidia-ml.so.1") is None:  # which the binding then finds loaded
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
    """A backend's use of the GPU between two readings."""
    if before is None or after is None:
        return Gpu(name, profile_us=profile)
    energy_mj, power_w = None, after.power_w
    seconds = after.at_s - before.at_s
    if before.energy_mj is not None and after.energy_mj is not None:
        energy_mj = (after.energy_mj - before.energy_mj) / max(1, calls)
        power_w = energy_mj * calls / 1000 / seconds if seconds > 0 else power_w
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
