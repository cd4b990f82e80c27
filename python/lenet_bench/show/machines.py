"""Machines side by side: a row for each machine, a column for each backend."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import PurePath
from statistics import median
from typing import Any

from .. import units
from ..questions.machines import MeasuredMachine
from ..registry import precision
from ..results.statistics import FEWEST_STARTS
from ..units import counted
from .figures.records import brief
from .sentences import backend_of
from .terminal.screen import Screen
from .terminal.table import Column, fitting, table

ABOUT = ("machine", "CPUs", "GPU", "threads", "version", "measured", "file")
FEW = f"*: fewer than {FEWEST_STARTS} starts, so the median has no interval"


def about(machine: MeasuredMachine) -> tuple[str, ...]:
    """A cell each of ABOUT."""
    cpu = machine.processor
    cpus = str(cpu.allowed or cpu.logical or units.NONE)
    return (
        brief(cpu.model or "unknown processor"),
        f"{cpus}, virtual" if cpu.virtual else cpus,
        machine.gpu or units.NONE,
        str(machine.threads or "default"),
        machine.version,
        machine.started[:10],
        re.sub(r"\.jsonl(\.gz)?$", "", "/".join(PurePath(machine.source).parts[-2:])),
    )


def columns(machines: Sequence[MeasuredMachine], *, every: bool = False) -> list[str]:
    """The backends that any machine timed, the fastest first.

    Of each, the variant in float32 that most machines timed, and of these the fastest; `every` has
    all variants.
    """
    times: dict[str, list[float]] = {}
    for machine in machines:
        for name, timing in machine.times.items():
            times.setdefault(name, []).append(timing.us)
    medians = {name: median(us) for name, us in times.items()}
    ordered = sorted(times, key=lambda name: medians[name])
    if every:
        return ordered
    chosen: dict[str, str] = {}
    for name in sorted(ordered, key=lambda name: -len(times[name])):
        if precision(name) == "float32":
            chosen.setdefault(backend_of(name), name)
    return [name for name in ordered if name in chosen.values()]


def spelt(machine: MeasuredMachine, name: str, spell: Callable[[float], str] = units.time) -> str:
    """The median of that backend, with a star where it is of few starts."""
    timing = machine.times.get(name)
    if timing is None:
        return units.NONE
    return spell(timing.us) + ("*" if timing.starts < FEWEST_STARTS else "")


def in_terminal(
    machines: Sequence[MeasuredMachine], names: Sequence[str], screen: Screen
) -> Iterator[str]:
    """The table, with as many of these backends as there is room for."""
    shown = [about(machine) for machine in machines]
    alike = len({row[0] for row in shown}) < len(shown)
    stay = ("machine", "file") if alike else ("machine",)
    leave = {title: 1000 - n for n, title in enumerate(ABOUT) if title not in stay}
    columns = [
        Column(title, [row[n] for row in shown], left=not n, leaves=leave.get(title, 0))
        for n, title in enumerate(ABOUT)
    ]
    backends = [
        Column(name, [spelt(machine, name) for machine in machines], leaves=number)
        for number, name in enumerate(names, 1)
    ]
    kept = fitting([columns[0], *backends, *columns[1:]], screen.columns)
    yield from table(screen, kept)
    yield ""
    yield from screen.wrap(f"{count(machines)}; median time of one image; {FEW}", "dim")
    if left := set(names) - {column.title for column in kept}:
        instead = "choose some with -b, widen the terminal, or give -o machines.html or --json"
        yield from screen.wrap(f"no room for {counted(len(left), 'backend')}: {instead}", "dim")


def count(machines: Sequence[MeasuredMachine]) -> str:
    """How many machines there are, as far as their results tell."""
    different: list[object] = []
    for machine in machines:
        if (known := (machine.hardware, machine.gpu)) not in different:
            different.append(known)
    said = counted(len(different), "machine")
    if len(different) == len(machines):
        return said
    return f"{len(machines):,} results of {said}, where equal ones count once"


def as_json(machines: Sequence[MeasuredMachine], refused: Sequence[str]) -> dict[str, Any]:
    """What `--json` prints."""
    return {"machines": [_plain(machine) for machine in machines], "refused": list(refused)}


def _plain(machine: MeasuredMachine) -> dict[str, Any]:
    cpu = machine.processor
    return {
        "source": machine.source,
        "processor": cpu.model,
        "architecture": cpu.architecture,
        "cpus": cpu.allowed or cpu.logical,
        "virtual": cpu.virtual,
        "gpu": machine.gpu,
        "threads": machine.threads,
        "version": machine.version,
        "started": machine.started,
        "backends": {name: asdict(timing) for name, timing in machine.times.items()},
    }
