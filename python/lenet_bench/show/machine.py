"""A machine and its software as facts for people: of a result, and of this one for `doctor`."""

from collections.abc import Iterator

from .. import units
from ..results.machine import Cache, Machine, Processor


def processor(machine: Machine) -> str:
    """Its name."""
    return machine.processor.model or "unknown processor"


def hardware_facts(machine: Machine) -> dict[str, str]:
    """The facts that affect its speed, as far as they are known."""
    cpu, load, memory = machine.processor, machine.load, machine.memory_bytes
    facts = {
        "processor": f"{processor(machine)} ({cpu.architecture or 'unknown'})",
        "CPUs": ", ".join(_cpus(cpu)),
        "ISA": ", ".join(cpu.isa) or "unknown",
        "caches": ", ".join(map(_cache, cpu.caches)) or "unknown",
        "clock": ", ".join(_clock(cpu)),
        "memory": units.mebibytes(memory / 2**20) if memory else "",
        "load": f"{load[0]:.2f} in the last minute" if load else "",
        "huge pages": cpu.huge_pages or "",
    }
    return {name: fact for name, fact in facts.items() if fact}


def software_facts(machine: Machine) -> dict[str, str]:
    """System, Python and what is set for programs; not the packages."""
    software = machine.software
    kernel = f"{software.system or 'unknown'} {software.kernel or ''}".strip()
    facts = {
        "system": ", ".join(filter(None, (software.distribution, kernel, software.libc))),
        "Python": f"{software.python or 'unknown'} ({software.python_compiler or ''})",
        "settings": ", ".join(f"{name}={value}" for name, value in software.variables.items()),
    }
    return {name: fact for name, fact in facts.items() if fact}


def _cpus(cpu: Processor) -> Iterator[str]:
    if cpu.logical:
        yield f"{cpu.cores or cpu.logical} cores"
        yield f"{cpu.logical} logical CPUs"
    if cpu.allowed is not None and cpu.allowed != cpu.logical:
        yield f"{cpu.allowed} of them allowed"
    if cpu.quota is not None:
        yield f"limited to {cpu.quota:g} CPUs' time"
    if cpu.virtual:
        yield "in a virtual machine"


def _cache(cache: Cache) -> str:
    kind = "" if cache.kind == "unified" else cache.kind[:1]  # L1d, L1i, L2
    mebibytes = cache.bytes / 2**20
    size = units.mebibytes(mebibytes) if mebibytes >= 1 else f"{mebibytes * 1024:.0f} KiB"
    return f"L{cache.level}{kind} {size}"


def _clock(cpu: Processor) -> Iterator[str]:
    if cpu.mhz_max:
        yield f"up to {cpu.mhz_max:.0f} MHz"
    if cpu.mhz_now:
        yield f"{cpu.mhz_now:.0f} MHz now"
    yield f"governor {cpu.governor or 'unknown'}"
    if cpu.turbo is not None:
        yield f"turbo {'on' if cpu.turbo else 'off'}"
    if cpu.time_from:
        yield f"clock source {cpu.time_from}"
