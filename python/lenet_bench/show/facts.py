"""Facts for people: of a machine and its software, and of the results that a page shows."""

from collections.abc import Iterator

from .. import units
from ..results import Result
from ..results.differences import settings, spelled
from ..results.machine import Cache, Machine, Processor
from .sentences import processor


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


def facts(result: Result) -> dict[str, dict[str, str]]:
    """What the page of a result says of its machine, its software and its rules."""
    packages = {**result.machine.software.packages, "lenet-bench": result.version}
    return {
        "Machine": _machine(result),
        "Software": software_facts(result.machine) | packages,
        "Rules": _rules(result),
    }


def _machine(result: Result) -> dict[str, str]:
    seen = result.disturbance
    found = hardware_facts(result.machine) | {
        "taken by the hypervisor": units.percent(seen.steal_share),
        "used by other processes": units.percent(seen.other_share),
        "quiet": units.percent(seen.quiet_share),
        "disturbed blocks": f"{seen.disturbed} of {seen.blocks}, {seen.repeated} measured again",
    }
    if seen.mhz_low and seen.mhz_high:
        found["clock while timed"] = f"{seen.mhz_low:.0f} to {seen.mhz_high:.0f} MHz"
    if gpus := {one.gpu.name for one in result.backends if one.gpu}:
        found["GPU"] = ", ".join(sorted(gpus))
    return found


def _rules(result: Result) -> dict[str, str]:
    rules = result.rules
    found = {
        "started": result.started,
        "took": units.seconds(result.elapsed_s),
        "ended by": result.ended,
        "command": " ".join(["lenet-bench", *result.argv[1:]]),
        "seed": str(rules.seed),
        "rounds": str(result.rounds),
        "baseline": result.baseline or units.NONE,
        "same means within": units.percent(rules.margin),
        "confidence": units.percent(rules.confidence),
        "cores of the harness": spelled(rules.parent_cores),
    }
    if rules.arbiter:
        found["answers compared with"] = rules.arbiter
    return found | {name: spelled(value) for name, value in settings(rules).items() if value}
