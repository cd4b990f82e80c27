"""Machines side by side: a row for each machine, a column for each backend."""

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from statistics import median
from typing import Any

from .. import units
from ..errors import ResultError
from ..questions.machines import MeasuredMachine
from ..registry import precision
from ..results.statistics import FEWEST_STARTS
from ..units import counted
from .figures.rows import brief
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


def baseline(machines: Sequence[MeasuredMachine], named: str | None) -> str:
    """The backend that ratios refer to: `named`, else onednn or what most machines timed."""
    names = columns(machines, every=True)
    if named is not None and named not in names:
        raise ResultError(f"no machine timed {named}; there are: {', '.join(names)}")
    most = max(names, key=lambda name: sum(name in one.times for one in machines))
    return named or ("onednn" if "onednn" in names else most)


def ratio(one: MeasuredMachine, name: str, base: str) -> float | None:
    """The ratio of the backend's median on that machine to the baseline's there."""
    if name not in one.times or base not in one.times:
        return None
    return one.times[name].us / one.times[base].us


def cell(one: MeasuredMachine, name: str, base: str | None) -> str:
    """The median, or its ratio to the baseline's."""
    if name not in one.times:
        return units.NONE
    text = units.ratio(ratio(one, name, base)) if base else units.time(one.times[name].us)
    return f"{text}*" if one.times[name].starts < FEWEST_STARTS else text


def in_terminal(
    found: Sequence[MeasuredMachine], names: Sequence[str], base: str | None, screen: Screen
) -> Iterator[str]:
    """The table, with as many of these backends as there is room for."""
    shown = [about(one) for one in found]
    columns = [
        Column(title, [row[n] for row in shown], left=not n, leaves=1000 - n if n else 0)
        for n, title in enumerate(ABOUT)
    ]
    backends = [
        Column(name, [cell(one, name, base) for one in found], leaves=number)
        for number, name in enumerate(names, 1)
    ]
    kept = fitting([columns[0], *backends, *columns[1:]], screen.columns)
    yield from table(screen, kept)
    yield ""
    what = f"ratio of the median to {base}'s" if base else "median time of one image"
    yield from screen.wrap(f"{counted(len(found), 'machine')}; {what}; {FEW}", "dim")
    if left := set(names) - {column.title for column in kept}:
        instead = "choose some with -b, widen the terminal, or give -o machines.html or --json"
        yield from screen.wrap(f"no room for {counted(len(left), 'backend')}: {instead}", "dim")


def as_json(
    machines: Sequence[MeasuredMachine], base: str, refused: Sequence[str]
) -> dict[str, Any]:
    """What `--json` prints."""
    return {
        "baseline": base,
        "machines": [_plain(one, base) for one in machines],
        "refused": list(refused),
    }


def _plain(one: MeasuredMachine, base: str) -> dict[str, Any]:
    cpu = one.processor
    return {
        "source": one.source,
        "processor": cpu.model,
        "architecture": cpu.architecture,
        "cpus": cpu.allowed or cpu.logical,
        "virtual": cpu.virtual,
        "gpu": one.gpu,
        "threads": one.threads,
        "at_once": one.at_once,
        "version": one.version,
        "started": one.started,
        "backends": {
            name: {"us": found.us, "starts": found.starts, "ratio": ratio(one, name, base)}
            for name, found in one.times.items()
        },
    }
