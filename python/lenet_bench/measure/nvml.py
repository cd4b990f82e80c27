"""What the NVIDIA driver tells of a GPU while a rung runs on it: clock, power, energy, memory.

NVML comes with the driver. Where it is absent, or does not know an answer (some GPUs count no
energy, some containers hide processes), the answer is None, and nothing fails.
"""

import ctypes
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ..backends._cuda_libraries import load_of_driver

_SUCCESS = 0
_CLOCK_SM = 1  # of the multiprocessors
_UNKNOWN = 2**64 - 1
_NAME_BYTES = 96  # NVML_DEVICE_NAME_V2_BUFFER_SIZE
_MOST_PROCESSES = 1024


class _Process(ctypes.Structure):
    """nvmlProcessInfo_t, as nvmlDeviceGetComputeRunningProcesses_v3 fills it."""

    _fields_ = (
        ("pid", ctypes.c_uint),
        ("memory_bytes", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    )


@dataclass(frozen=True)
class Reading:
    """A GPU at one moment; None is what it does not tell."""

    at_s: float
    energy_mj: float | None  # since its driver was loaded
    power_w: float | None
    mhz: float | None  # the multiprocessors' clock
    memory_mib: float | None  # that this process holds


class Meter:
    """One GPU, and this process on it."""

    def __init__(self, library: ctypes.CDLL, device: ctypes.c_void_p) -> None:
        self._library = library
        self._device = device
        name = ctypes.create_string_buffer(_NAME_BYTES)
        known = _succeeds(library, "nvmlDeviceGetName", device, name, ctypes.c_uint(_NAME_BYTES))
        self.name = name.value.decode(errors="replace") if known else "NVIDIA GPU"

    def read(self) -> Reading:
        """Now. It takes NVML some milliseconds, so never within a timed call."""
        energy = self._number("nvmlDeviceGetTotalEnergyConsumption", ctypes.c_ulonglong())
        power_mw = self._number("nvmlDeviceGetPowerUsage", ctypes.c_uint())
        clock = ctypes.c_uint()
        told = _succeeds(
            self._library, "nvmlDeviceGetClockInfo", self._device, _CLOCK_SM, ctypes.byref(clock)
        )
        return Reading(
            at_s=time.monotonic(),
            energy_mj=energy,
            power_w=None if power_mw is None else power_mw / 1000,
            mhz=float(clock.value) if told else None,
            memory_mib=_memory_mib(self._library, self._device),
        )

    def _number(self, function: str, answer: Any) -> float | None:
        if _succeeds(self._library, function, self._device, ctypes.byref(answer)):
            return float(answer.value)
        return None


class Span:
    """From before the timed calls of a turn to after them."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._before = meter.read()

    def end(self) -> dict[str, Any]:
        """As the parent is told of it."""
        return {"before": asdict(self._before), "after": asdict(self._meter.read())}


def open_meter(runs: Mapping[str, str]) -> Meter | None:
    """Of the GPU that a rung says it runs on (`describe()`), else of the only one here."""
    library = load_of_driver("libnvidia-ml.so.1")
    if library is None or not _succeeds(library, "nvmlInit_v2"):
        return None
    device = ctypes.c_void_p()
    bus = runs.get("PCI bus", "").encode()
    by_bus = "nvmlDeviceGetHandleByPciBusId_v2"
    if bus and _succeeds(library, by_bus, ctypes.c_char_p(bus), ctypes.byref(device)):
        return Meter(library, device)
    return next((Meter(library, found) for found in _ours(library)), None)


def _ours(library: ctypes.CDLL) -> list[ctypes.c_void_p]:
    """The only GPU; of several, that on which this process is."""
    count = ctypes.c_uint()
    if not _succeeds(library, "nvmlDeviceGetCount_v2", ctypes.byref(count)):
        return []
    devices = []
    for index in range(count.value):
        device = ctypes.c_void_p()
        by_index = "nvmlDeviceGetHandleByIndex_v2"
        if _succeeds(library, by_index, ctypes.c_uint(index), ctypes.byref(device)):
            devices.append(device)
    if len(devices) == 1:
        return devices
    return [device for device in devices if _memory_mib(library, device) is not None]


def _memory_mib(library: ctypes.CDLL, device: ctypes.c_void_p) -> float | None:
    processes = (_Process * _MOST_PROCESSES)()
    count = ctypes.c_uint(_MOST_PROCESSES)
    listing = "nvmlDeviceGetComputeRunningProcesses_v3"
    if not _succeeds(library, listing, device, ctypes.byref(count), processes):
        return None
    for process in processes[: count.value]:
        if process.pid == os.getpid() and process.memory_bytes != _UNKNOWN:
            return float(process.memory_bytes) / 2**20
    return None


def _succeeds(library: ctypes.CDLL, function: str, *arguments: Any) -> bool:
    """Whether NVML has this function and answered; drivers differ in what they have."""
    found: Callable[..., int] | None = getattr(library, function, None)
    return found is not None and found(*arguments) == _SUCCESS
