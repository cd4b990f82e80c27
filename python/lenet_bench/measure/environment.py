"""The machine and the software of a measurement.

Reads only what the system shows to every user and starts no program; an unknown fact is None or
absent. Linux shows the most.
"""

import os
import platform
import re
import sys
from collections.abc import Iterable
from pathlib import Path

import psutil

from ..installed import core_requirements, extra_requirements, installed_version, package_name
from ..registry import find
from ..registry.environments import of
from ..results.machine import Cache, Machine, Processor, Software
from ..results.portable import portable
from .pinning import cpus_in
from .quota import limit

#: The extras whose packages affect times; and packages that these depend on.
_EXTRAS = ("native", "frameworks", "cuda12", "cuda13", "cupy", "report")
_BENEATH = ("tensorflow", "jaxlib")

#: Environment variables that change how fast a backend runs, or on what.
VARIABLES = (
    "LENET_BENCH_ISA",
    "LENET_BENCH_AT_ONCE",  # such runs at the same time, each on its own device
    "OMP_NUM_THREADS",
    "OMP_PROC_BIND",
    "OMP_PLACES",
    "GOMP_CPU_AFFINITY",
    "KMP_AFFINITY",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "OPENBLAS_CORETYPE",
    "OPENBLAS_L2_SIZE",
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

#: Instruction sets that are recorded, as Linux spells them: x86-64, then 64-bit Arm.
INSTRUCTION_SETS = (
    "sse2",
    "sse4_2",
    "avx",
    "f16c",
    "fma",
    "avx2",
    "avx_vnni",
    "avx512f",
    "avx512bw",
    "avx512dq",
    "avx512vl",
    "avx512_vnni",
    "avx512_bf16",
    "avx512_fp16",
    "amx_tile",
    "amx_int8",
    "amx_bf16",
    "asimd",
    "asimdhp",
    "asimddp",
    "bf16",
    "i8mm",
    "sve",
    "sve2",
    "sme",
)


def read_machine(backends: Iterable[str] = ()) -> Machine:
    """With the versions in the environments of these backends."""
    return Machine(
        processor=read_processor(),
        memory_bytes=psutil.virtual_memory().total,
        load=psutil.getloadavg(),
        software=read_software(backends),
    )


def read_processor() -> Processor:
    cpuinfo = _cpuinfo()
    flags = set((cpuinfo.get("flags") or cpuinfo.get("Features") or "").split())
    system = Path("/sys/devices/system/cpu")
    mhz_now, mhz_min, mhz_max = _clock()
    return Processor(
        model=_model(cpuinfo),
        architecture=platform.machine(),
        logical=os.cpu_count(),
        cores=psutil.cpu_count(logical=False),
        sockets=_sockets(system),
        allowed=len(os.sched_getaffinity(0)) if sys.platform == "linux" else None,
        quota=limit(),
        isa=tuple(name for name in INSTRUCTION_SETS if name in flags),
        caches=tuple(_caches(system / "cpu0/cache")),
        governor=_text(system / "cpu0/cpufreq/scaling_governor"),
        mhz_now=mhz_now,
        mhz_min=mhz_min,
        mhz_max=mhz_max,
        turbo=_turbo(system),
        virtual="hypervisor" in flags if flags else None,
        time_from=_text(Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
        huge_pages=_chosen(_text(Path("/sys/kernel/mm/transparent_hugepage/enabled"))),
    )


def read_software(backends: Iterable[str]) -> Software:
    """Python, the system and the versions of what a backend or a report is made with."""
    return Software(
        system=platform.system(),
        distribution=_distribution(),
        kernel=platform.release(),
        libc=" ".join(platform.libc_ver()).strip() or None,
        python=_python(),
        python_compiler=platform.python_compiler(),
        packages=_versions(backends),
        variables={one: portable(os.environ[one]) for one in VARIABLES if one in os.environ},
    )


def _python() -> str:
    """CPython 3.14.7 without the GIL."""
    version = f"{platform.python_implementation()} {platform.python_version()}"
    has_gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    return version if has_gil else f"{version} without the GIL"


def _versions(backends: Iterable[str]) -> dict[str, str]:
    asked = [one for extra in _EXTRAS for one in extra_requirements(extra)]
    every = ("lenet-bench", *core_requirements(), *asked, *_BENEATH)
    names = dict.fromkeys(package_name(requirement) for requirement in every)
    found = {name: installed_version(name) for name in names}
    for environment in map(of, {find(one)[0].environment: None for one in backends}):
        if environment and environment.created:
            found |= environment.versions
    return {name: version for name, version in found.items() if version is not None}


def _cpuinfo() -> dict[str, str]:
    text = _text(Path("/proc/cpuinfo")) or ""
    lines = text.split("\n\n")[0].splitlines()
    pairs = (line.partition(":") for line in lines)
    return {key.strip(): value.strip() for key, _, value in pairs}


def _model(cpuinfo: dict[str, str]) -> str | None:
    if name := cpuinfo.get("model name"):
        return name
    if part := cpuinfo.get("CPU part"):  # Arm gives numbers only
        return f"CPU implementer {cpuinfo.get('CPU implementer')}, part {part}"
    return platform.processor() or None


def _sockets(system: Path) -> int | None:
    files = system.glob("cpu[0-9]*/topology/physical_package_id")
    return len({_text(file) for file in files}) or None


def _clock() -> tuple[float | None, float | None, float | None]:
    """MHz: now, minimum and maximum; psutil gives 0 for an unknown one."""
    try:
        clock = psutil.cpu_freq() or (0.0, 0.0, 0.0)
    except (OSError, AttributeError, NotImplementedError, RuntimeError):
        return None, None, None
    return clock[0] or None, clock[1] or None, clock[2] or None


def _caches(folder: Path) -> Iterable[Cache]:
    for index in sorted(folder.glob("index[0-9]*")):
        level, kind, size = (_text(index / name) for name in ("level", "type", "size"))
        if level and kind and size:
            shared = cpus_in(_text(index / "shared_cpu_list") or "")
            yield Cache(int(level), kind.lower(), _bytes(size), len(shared) or None)


def _bytes(size: str) -> int:
    """The bytes of a size such as 48K or 2M."""
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    return int(size.rstrip("KMG")) * units.get(size[-1], 1)


def _turbo(system: Path) -> bool | None:
    if (boost := _text(system / "cpufreq/boost")) is not None:
        return boost == "1"
    if (off := _text(system / "intel_pstate/no_turbo")) is not None:
        return off == "0"
    return None


def _chosen(setting: str | None) -> str | None:
    """The selected word of a text such as "always [madvise] never"."""
    found = re.search(r"\[(\w+)\]", setting or "")
    return found[1] if found else None


def _distribution() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None


def _text(path: Path) -> str | None:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return None
