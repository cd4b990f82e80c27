"""What two results differ in besides their times: machine, rules, versions and software."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..results import Result, Rules


@dataclass(frozen=True)
class Circumstance:
    """One thing that was not the same."""

    what: str
    old: str
    new: str


def other_machine(old: Result, new: Result) -> bool:
    """Whether times may differ because the machines do."""
    return _hardware(old.machine) != _hardware(new.machine)


def circumstances(old: Result, new: Result) -> list[Circumstance]:
    """All that differs, the gravest first."""
    pairs = [
        (_hardware(old.machine), _hardware(new.machine)),
        (_rules(old.rules), _rules(new.rules)),
        ({"lenet-bench": old.version}, {"lenet-bench": new.version}),
        *_runs(old, new),
        (_software(old.machine), _software(new.machine)),
    ]
    return [found for one, other in pairs for found in _different(one, other)]


def _different(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Circumstance]:
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) != new.get(name):
            yield Circumstance(name, _spell(old.get(name)), _spell(new.get(name)))


def _hardware(machine: Mapping[str, Any]) -> dict[str, Any]:
    """What makes it another machine, or another share of one."""
    cpu = _part(machine, "processor")
    memory = machine.get("memory_bytes")
    sizes = [cache.get("bytes", 0) // 1024 for cache in cpu.get("caches") or ()]
    return {
        "processor": cpu.get("model"),
        "architecture": cpu.get("architecture"),
        "logical CPUs": cpu.get("allowed") or cpu.get("logical"),
        "CPU quota": cpu.get("quota"),
        "caches": ", ".join(f"{size} KiB" for size in sizes) or None,
        "virtual": cpu.get("virtual"),
        "memory": f"{memory / 2**30:.0f} GiB" if memory else None,
    }


def _rules(rules: Rules) -> dict[str, Any]:
    """Those under which a call takes another time."""
    return {
        "threads": rules.threads,
        "weights (SHA-256)": rules.weights_sha256[:12],
        "images that rotate": rules.images,
        "idle time before a call, s": rules.interval_s,
        "length of a turn, s": rules.timed_s,
        "rounds of a start": rules.rounds_a_start,
        "cores": rules.worker_cores,
        **{f"${name}": value for name, value in rules.variables.items()},
    }


def _runs(old: Result, new: Result) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    """What really ran: on another instruction set or library, a rung is another one."""
    before = {rung.name: rung.runs for rung in old.rungs if rung.runs}
    for rung in new.rungs:
        if rung.runs and (known := before.get(rung.name)):
            yield (
                {f"{rung.name}'s {what}": value for what, value in known.items()},
                {f"{rung.name}'s {what}": value for what, value in rung.runs.items()},
            )


def _software(machine: Mapping[str, Any]) -> dict[str, Any]:
    cpu, software = _part(machine, "processor"), _part(machine, "software")
    packages = {k: v for k, v in _part(software, "packages").items() if k != "lenet-bench"}
    return {
        "governor": cpu.get("governor"),
        "turbo": cpu.get("turbo"),
        **{name: software.get(name) for name in ("distribution", "kernel", "libc", "python")},
        **packages,
        **{f"${name}": value for name, value in _part(software, "variables").items()},
    }


def _part(of: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """That part, empty where a file lacks it."""
    part = of.get(name)
    return part if isinstance(part, Mapping) else {}


def _spell(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "any"
    return str(value)
