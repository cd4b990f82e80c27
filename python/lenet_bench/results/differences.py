"""Differences of two results besides their times: machine, options and versions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .machine import HARMLESS, Machine
from .model import Header, Result


@dataclass(frozen=True)
class ConditionDifference:
    """One difference."""

    what: str
    old: str
    new: str


def condition_differences(old: Result, new: Result) -> list[ConditionDifference]:
    """All differences, the most important first."""
    states = _state(old.machine), _state(new.machine)
    known = [name for name in states[0] if None not in (one[name] for one in states)]
    return [
        *differing(hardware(old.machine), hardware(new.machine)),
        *differing(*({name: one[name] for name in known} for one in states)),
        *differing(settings(old), settings(new)),
        *differing(versions(old), versions(new)),
    ]


def differing(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[ConditionDifference]:
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) != new.get(name):
            yield ConditionDifference(name, spelled(old.get(name)), spelled(new.get(name)))


def hardware(machine: Machine) -> dict[str, Any]:
    """The facts that identify a machine, or a share of one."""
    cpu, memory = machine.processor, machine.memory_bytes
    return {
        "processor": cpu.model,
        "architecture": cpu.architecture,
        "logical CPUs": cpu.allowed or cpu.logical,
        "CPU quota": cpu.quota,
        "caches": ", ".join(f"{cache.bytes // 1024} KiB" for cache in cpu.caches) or None,
        "virtual": cpu.virtual,
        "memory": f"{memory / 2**30:.0f} GiB" if memory else None,
    }


def _state(machine: Machine) -> dict[str, Any]:
    """What may change between two runs on one machine."""
    cpu, software = machine.processor, machine.software
    return {
        "governor": cpu.governor,
        "turbo": cpu.turbo,
        "clock source": cpu.time_from,
        "huge pages": cpu.huge_pages,
        "kernel": software.kernel,
        "libc": software.libc,
    }


def settings(measured: Header | Result) -> dict[str, Any]:
    """The rules and the environment's variables that affect the time of a call."""
    rules = measured.rules
    threads = dict.fromkeys(map(rules.threads_of, measured.backends))
    given = measured.machine.software.variables.items()
    variables = {name: value for name, value in given if name not in HARMLESS}
    variables |= rules.variables
    return {
        "network": rules.network,
        **{f"input {name}": form for name, form in rules.placed.inputs.items()},
        "threads": tuple(number or "each API's default" for number in threads),
        "weights (SHA-256)": rules.weights_sha256[:12],
        "inputs that rotate": rules.images,
        "interval of calls, s": rules.interval_s,
        "called before a call, s": rules.keep_warm_s,
        "busy processes beside": rules.beside,
        "CPU quota, cores": rules.quota,
        "callers": rules.callers or None,
        "callers in": rules.callers_in if rules.callers else None,
        "read before a call for cold caches, MB": rules.cold_mb,
        "cores": rules.worker_cores,
        **{f"${name}": value for name, value in variables.items()},
    }


def versions(measured: Header | Result) -> dict[str, str | None]:
    """Of this program, of Python and of the packages that bear on a figure."""
    software = measured.machine.software
    own = {"lenet-bench": measured.version, "python": software.python}
    return {**software.packages, **own}


def spelled(value: Any) -> str:
    """A setting as text."""
    if value is None:
        return "none"
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "any"
    return str(value)
