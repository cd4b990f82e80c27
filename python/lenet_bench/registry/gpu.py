"""Whether there is an NVIDIA GPU, asked of its driver, before a framework is imported for it."""

import ctypes
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..errors import Unavailable
from .cuda import load_of_driver

#: The user's choice among several GPUs; csrc/cuda/session.cpp reads it too.
VARIABLE = "LENET_BENCH_GPU"

_NO_DEVICE = 100  # CUDA_ERROR_NO_DEVICE
_NVIDIA, _DISPLAYS = "0x10de", "0x03"  # a PCI vendor; a PCI class's first byte
_LONGEST_BUS = 32
_NVIDIA_SMI = "see what it says with: nvidia-smi"


@dataclass(frozen=True)
class NoGpu:
    """Why no GPU can be used here."""

    why: str
    remedy: str | None  # ends with the command; None where no command fixes it

    @property
    def sentence(self) -> str:
        return f"{self.why}; {self.remedy}" if self.remedy else self.why


@cache
def why_none() -> NoGpu | None:
    """Why no GPU can be used here; None where one can."""
    driver = load_of_driver("libcuda.so.1")
    if driver is None:
        return _without_driver(Path("/"))
    count = ctypes.c_int()
    code = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
    if code not in (0, _NO_DEVICE):
        return NoGpu(f"the NVIDIA driver fails with CUDA error {code}", _NVIDIA_SMI)
    if count.value:
        return None
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES")
    if hidden is not None:
        return NoGpu(
            f'CUDA_VISIBLE_DEVICES="{hidden}" hides every GPU',
            "fix it with: unset CUDA_VISIBLE_DEVICES",
        )
    return NoGpu("the NVIDIA driver finds no GPU", _NVIDIA_SMI)


def _without_driver(root: Path) -> NoGpu:
    """Why there is no driver library: not installed, no driver, or no GPU."""
    if any((root / "dev" / name).exists() for name in ("nvidiactl", "nvidia0", "dxg")):
        return NoGpu(
            "the NVIDIA driver's libcuda.so.1 is not installed (start a container with --gpus all)",
            "fix it with: apt install libcuda1",
        )
    if any(map(_is_gpu, (root / "sys/bus/pci/devices").glob("*"))):
        return NoGpu(
            "the NVIDIA GPU has no driver (start a container with --gpus all)",
            "fix it with: apt install nvidia-driver",
        )
    return NoGpu("this machine has no NVIDIA GPU and no NVIDIA driver", None)


def _is_gpu(device: Path) -> bool:
    try:
        vendor, kind = ((device / name).read_text() for name in ("vendor", "class"))
    except OSError:
        return False
    return vendor.strip() == _NVIDIA and kind.startswith(_DISPLAYS)


def bus_of_chosen() -> str | None:
    """The PCI address of the chosen GPU, as sysfs spells it: 0000:3b:00.0."""
    driver = load_of_driver("libcuda.so.1")
    if driver is None or why_none():
        return None
    bus = ctypes.create_string_buffer(_LONGEST_BUS)
    number = os.environ.get(VARIABLE, "0")
    if not number.isdecimal() or driver.cuDeviceGetPCIBusId(bus, len(bus), int(number)):
        return None
    return bus.value.decode().lower()


def chosen(count: int) -> int:
    """The number of the GPU that the user chose; 0 without a choice."""
    wanted = os.environ.get(VARIABLE, "0")
    if wanted in map(str, range(count)):
        return int(wanted)
    there_are = "there is only GPU 0" if count == 1 else f"there are GPUs 0 to {count - 1}"
    raise Unavailable(
        f'{VARIABLE}="{wanted}" names no GPU: {there_are}; fix it with: export {VARIABLE}=0'
    )
