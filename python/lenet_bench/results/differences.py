"""Differences of two results besides their times: machine, rules, versions and software."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .machine import Machine
from .model import Result, Rules


@dataclass(frozen=True)
class ConditionDifference:
    """One difference."""

    what: str
    old: str
    new: str


def other_machine(old: Result, new: Result) -> bool:
    return hardware(old.machine) != hardware(new.machine)


def condition_differences(old: Result, new: Result) -> list[ConditionDifference]:
    """All differences, the most important first."""
    pairs = [
        (hardware(old.machine), hardware(new.machine)),
        (settings(old.rules), settings(new.rules)),
        ({"lenet-bench": old.version}, {"lenet-bench": new.version}),
        *_runs(old, new),
        (_software(old.machine), _software(new.machine)),
    ]
    return [one for pair in pairs for one in differing(*pair)]


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


def settings(rules: Rules) -> dict[str, Any]:
    """The rules that affect the time of a call."""
    return {
        "network": rules.network,
        **{f"input {name}": form for name, form in rules.inputs.items()},
        "threads": rules.threads or "each API's default",
        "weights (SHA-256)": rules.weights_sha256[:12],
        "images that rotate": rules.images,
        "interval of calls, s": rules.interval_s,
        "called before a call, s": rules.keep_warm_s,
        "busy processes beside": rules.beside,
        "read before a call for cold caches, MB": rules.cold_mb,
        "cores": rules.worker_cores,
        **{f"${name}": value for name, value in rules.variables.items()},
    }


def _runs(old: Result, new: Result) -> Iterator[tuple[dict[str, str], ...]]:
    """What ran: with another instruction set or library, a backend is a different one."""
    before = {row.name: row.runs for row in old.backends}
    for row in new.backends:
        if row.runs and (known := before.get(row.name)):
            yield tuple(
                {f"{row.name}'s {what}": value for what, value in runs.items()}
                for runs in (known, row.runs)
            )


def _software(machine: Machine) -> dict[str, Any]:
    cpu, software = machine.processor, machine.software
    return {
        "governor": cpu.governor,
        "turbo": cpu.turbo,
        "distribution": software.distribution,
        "kernel": software.kernel,
        "libc": software.libc,
        "python": software.python,
        **{name: value for name, value in software.packages.items() if name != "lenet-bench"},
        **{f"${name}": value for name, value in software.variables.items()},
    }


def spelled(value: Any) -> str:
    """A setting as text."""
    if value is None:
        return "none"
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "any"
    return str(value)
