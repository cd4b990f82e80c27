"""The machine and the software of a measurement, as plain data: what a figure must be read with.

Reads only what the system tells every user and starts no program; where a system does not tell,
the fact is None or absent. Linux tells most.
"""

import os
import platform
import re
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ..installed import core_requirements, extra_requirements, installed_version, package_name

#: What brings the packages whose versions bear on a figure; and those that come under these.
_EXTRAS = ("native", "frameworks", "cuda12", "cuda13", "cupy", "mlperf", "report")
_BENEATH = ("tensorflow", "jaxlib")

#: Environment variables that change how fast a rung runs, or on what.
VARIABLES = (
    "LENET_BENCH_ISA",
    "OMP_NUM_THREADS",
    "OMP_PROC_BIND",
    "OMP_PLACES",
    "GOMP_CPU_AFFINITY",
    "KMP_AFFINITY",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "OPENBLAS_CORETYPE",
    "ONEDNN_MAX_CPU_ISA",
    "KERAS_BACKEND",
    "TF_NUM_INTRAOP_THREADS",
    "TF_NUM_INTEROP_THREADS",
    "TF_ENABLE_ONEDNN_OPTS",
    "XLA_FLAGS",
    "CUDA_VISIBLE_DEVICES",
    "LD_PRELOAD",
    "MALLOC_ARENA_MAX",
)

#: Instruction sets worth telling, as Linux spells them, x86-64 first and then 64-bit Arm.
INSTRUCTION_SETS = (
    *("sse2", "sse4_2", "avx", "f16c", "fma", "avx2", "avx_vnni"),
    *("avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16"),
    *("amx_tile", "amx_int8", "amx_bf16"),
    *("asimd", "asimdhp", "asimddp", "bf16", "i8mm", "sve", "sve2", "sme"),
)


@dataclass(frozen=True)
class Cache:
    """One level of the cache that the first CPU uses."""

    level: int
    kind: str  # data, instruction or unified
    bytes: int
    shared_by: int | None  # how many logical CPUs


@dataclass(frozen=True)
class Processor:
    """The CPU."""

    model: str | None
    architecture: str
    logical: int | None  # CPUs as the system counts them
    cores: int | None
    sockets: int | None
    allowed: int | None  # logical CPUs that this process may use
    quota: float | None  # CPUs' worth of time that a container's limit leaves, None: all
    isa: tuple[str, ...]
    caches: tuple[Cache, ...]
    governor: str | None  # who chooses the clock: performance, powersave, ...
    mhz_now: float | None
    mhz_min: float | None
    mhz_max: float | None
    turbo: bool | None
    virtual: bool | None  # whether a hypervisor is underneath
    time_from: str | None  # what the clock reads: tsc takes 20 ns, hpet a thousand
    huge_pages: str | None  # transparent ones: where weights lie is less a matter of luck in them


@dataclass(frozen=True)
class Software:
    """What runs on it."""

    system: str  # Linux, Darwin, Windows
    distribution: str | None
    kernel: str
    libc: str | None
    python: str
    python_compiler: str
    packages: dict[str, str]
    variables: dict[str, str]


@dataclass(frozen=True)
class Environment:
    """All of it, ready for JSON."""

    processor: Processor
    memory_bytes: int | None
    load: tuple[float, float, float] | None  # mean over 1, 5 and 15 minutes
    software: Software

    def to_json(self) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers."""
        return asdict(self)


def read_environment() -> Environment:
    """The machine and the software as they are now."""
    return Environment(
        processor=read_processor(),
        memory_bytes=_memory_bytes(),
        load=_load(),
        software=read_software(),
    )


def read_processor() -> Processor:
    """The CPU, its caches and its clocks."""
    cpuinfo = _cpuinfo()
    flags = set((cpuinfo.get("flags") or cpuinfo.get("Features") or "").split())
    system = Path("/sys/devices/system/cpu")
    clock = system / "cpu0/cpufreq"
    return Processor(
        model=_model(cpuinfo),
        architecture=platform.machine(),
        logical=os.cpu_count(),
        cores=_distinct(system, ("physical_package_id", "core_id")) or _sysctl("hw.physicalcpu"),
        sockets=_distinct(system, ("physical_package_id",)) or _sysctl("hw.packages"),
        allowed=len(os.sched_getaffinity(0)) if sys.platform == "linux" else None,
        quota=_quota(),
        isa=tuple(name for name in INSTRUCTION_SETS if name in flags),
        caches=tuple(_caches(system / "cpu0/cache")),
        governor=_text(clock / "scaling_governor"),
        mhz_now=_mhz(clock / "scaling_cur_freq") or _number(cpuinfo.get("cpu MHz")),
        mhz_min=_mhz(clock / "cpuinfo_min_freq"),
        mhz_max=_mhz(clock / "cpuinfo_max_freq"),
        turbo=_turbo(system),
        virtual="hypervisor" in flags if flags else None,
        time_from=_text(Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
        huge_pages=_chosen(_text(Path("/sys/kernel/mm/transparent_hugepage/enabled"))),
    )


def read_software() -> Software:
    """Python, the system and the versions of what a rung or a report is made with."""
    return Software(
        system=platform.system(),
        distribution=_distribution(),
        kernel=platform.release(),
        libc=" ".join(platform.libc_ver()).strip() or None,
        python=f"{platform.python_implementation()} {platform.python_version()}",
        python_compiler=platform.python_compiler(),
        packages=_versions(),
        variables={name: os.environ[name] for name in VARIABLES if name in os.environ},
    )


def _versions() -> dict[str, str]:
    """Of lenet-bench, of what it needs, and of what its extras would bring and is here."""
    asked = [one for extra in _EXTRAS for one in extra_requirements(extra)]
    every = ("lenet-bench", *core_requirements(), *asked, *_BENEATH)
    names = dict.fromkeys(package_name(requirement) for requirement in every)
    found = {name: installed_version(name) for name in names}
    return {name: version for name, version in found.items() if version is not None}


def _cpuinfo() -> dict[str, str]:
    """What Linux says of the first CPU."""
    text = _text(Path("/proc/cpuinfo")) or ""
    lines = text.split("\n\n")[0].splitlines()
    pairs = (line.partition(":") for line in lines)
    return {key.strip(): value.strip() for key, _, value in pairs}


def _model(cpuinfo: dict[str, str]) -> str | None:
    if name := cpuinfo.get("model name"):
        return name
    if part := cpuinfo.get("CPU part"):  # Arm tells numbers only
        return f"CPU implementer {cpuinfo.get('CPU implementer')}, part {part}"
    return platform.processor() or None


def _distinct(system: Path, parts: tuple[str, ...]) -> int | None:
    """How many different packages, or cores, the CPUs lie in."""
    found = set()
    for cpu in system.glob("cpu[0-9]*"):
        place = tuple(_text(cpu / "topology" / part) for part in parts)
        if None not in place:
            found.add(place)
    return len(found) or None


def _caches(folder: Path) -> Iterable[Cache]:
    for index in sorted(folder.glob("index[0-9]*")):
        level, kind, size = (_text(index / name) for name in ("level", "type", "size"))
        if level and kind and size:
            shared = _count(_text(index / "shared_cpu_list"))
            yield Cache(int(level), kind.lower(), _bytes(size), shared)


def _count(cpu_list: str | None) -> int | None:
    """How many CPUs a list like "0-3,8" names."""
    if not cpu_list:
        return None
    count = 0
    for part in cpu_list.split(","):
        first, _, last = part.partition("-")
        count += int(last or first) - int(first) + 1
    return count


def _bytes(size: str) -> int:
    """48K, 2M."""
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    return int(size.rstrip("KMG")) * units.get(size[-1], 1)


def _quota() -> float | None:
    """A container's share of CPU time (cgroup v2, then v1)."""
    if text := _text(Path("/sys/fs/cgroup/cpu.max")):
        quota, period = text.split()
        return None if quota == "max" else int(quota) / int(period)
    v1 = Path("/sys/fs/cgroup/cpu")
    quota_us, period_us = _text(v1 / "cpu.cfs_quota_us"), _text(v1 / "cpu.cfs_period_us")
    if quota_us and period_us and int(quota_us) > 0:
        return int(quota_us) / int(period_us)
    return None


def _turbo(system: Path) -> bool | None:
    if (boost := _text(system / "cpufreq/boost")) is not None:
        return boost == "1"
    if (off := _text(system / "intel_pstate/no_turbo")) is not None:
        return off == "0"
    return None


def _chosen(setting: str | None) -> str | None:
    """Of always [madvise] never."""
    found = re.search(r"\[(\w+)\]", setting or "")
    return found[1] if found else None


def _mhz(path: Path) -> float | None:
    khz = _number(_text(path))
    return khz / 1000 if khz else None


def _number(text: str | None) -> float | None:
    return float(text) if text else None


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return _sysctl("hw.memsize")


def _load() -> tuple[float, float, float] | None:
    try:
        return os.getloadavg()
    except (AttributeError, OSError):
        return None


def _distribution() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None


def _sysctl(name: str) -> int | None:
    """A number that macOS tells through its C library."""
    if sys.platform != "darwin":
        return None
    import ctypes

    value, size = ctypes.c_int64(0), ctypes.c_size_t(8)
    call = partial(ctypes.CDLL(None).sysctlbyname, name.encode())
    failed = call(ctypes.byref(value), ctypes.byref(size), None, ctypes.c_size_t(0))
    return None if failed else value.value


def _text(path: Path) -> str | None:
    try:
        return re.sub(r"\x00+$", "", path.read_text(errors="replace")).strip()
    except OSError:
        return None
