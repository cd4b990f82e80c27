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


def about(one: MeasuredMachine) -> tuple[str, ...]:
    """A cell each of ABOUT."""
    cpu = one.processor
    cpus = str(cpu.allowed or cpu.logical or units.NONE)
    return (
        brief(cpu.model or "unknown processor"),
        f"{cpus}, virtual" if cpu.virtual else cpus,
        one.gpu or units.NONE,
        str(one.threads or "default"),
        one.version,
        one.started[:10],
        re.sub(r"\.jsonl(\.gz)?$", "", "/".join(PurePath(one.source).parts[-2:])),
    )


def columns(machines: Sequence[MeasuredMachine], *, every: bool = False) -> list[str]:
    """The backends that any machine timed, the fastest first.

    Of each, the variant in float32 that most machines timed, and of these the fastest; `every` has
    all variants.
    """
    times: dict[str, list[float]] = {}
    for one in machines:
        for name, found in one.times.items():
            times.setdefault(name, []).append(found.us)
    medians = {name: median(us) for name, us in times.items()}
    ordered = sorted(times, key=lambda name: medians[name])
    if every:
        return ordered
    chosen: dict[str, str] = {}
    for name in sorted(ordered, key=lambda name: -len(times[name])):
        if precision(name) == "float32":
            chosen.setdefault(backend_of(name), name)
    return [name for name in ordered if name in chosen.values()]


def spelt(one: MeasuredMachine, name: str, spell: Callable[[float], str] = units.time) -> str:
    """The median of that backend, with a star where it is of few starts."""
    found = one.times.get(name)
    if found is None:
        return units.NONE
    return spell(found.us) + ("*" if found.starts < FEWEST_STARTS else "")


def in_terminal(
    found: Sequence[MeasuredMachine], names: Sequence[str], screen: Screen
) -> Iterator[str]:
    """The table, with as many of these backends as there is room for."""
    shown = [about(one) for one in found]
    columns = [
        Column(title, [row[n] for row in shown], left=not n, leaves=1000 - n if n else 0)
        for n, title in enumerate(ABOUT)
    ]
    backends = [
        Column(name, [spelt(one, name) for one in found], leaves=number)
        for number, name in enumerate(names, 1)
    ]
    kept = fitting([columns[0], *backends, *columns[1:]], screen.columns)
    yield from table(screen, kept)
    yield ""
    yield from screen.wrap(f"{_count(found)}; median time of one image; {FEW}", "dim")
    if left := set(names) - {column.title for column in kept}:
        instead = "choose some with -b, widen the terminal, or give -o machines.html or --json"
        yield from screen.wrap(f"no room for {counted(len(left), 'backend')}: {instead}", "dim")


def _count(found: Sequence[MeasuredMachine]) -> str:
    """How many machines there are, as far as their results tell."""
    different: list[object] = []
    for one in found:
        if (known := (one.hardware, one.gpu)) not in different:
            different.append(known)
    machines = counted(len(different), "machine")
    if len(different) == len(found):
        return machines
    return f"{len(found):,} results of {machines}, where equal ones count once"


def as_json(machines: Sequence[MeasuredMachine], refused: Sequence[str]) -> dict[str, Any]:
    """What `--json` prints."""
    return {"machines": [_plain(one) for one in machines], "refused": list(refused)}


def _plain(one: MeasuredMachine) -> dict[str, Any]:
    cpu = one.processor
    return {
        "source": one.source,
        "processor": cpu.model,
        "architecture": cpu.architecture,
        "cpus": cpu.allowed or cpu.logical,
        "virtual": cpu.virtual,
        "gpu": one.gpu,
        "threads": one.threads,
        "version": one.version,
        "started": one.started,
        "backends": {name: asdict(found) for name, found in one.times.items()},
    }
