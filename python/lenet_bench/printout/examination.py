"""What `doctor` found, for people: the machine, the software, the files, and what runs here."""

from __future__ import annotations  # the types of one command are not imported for another

import re
from itertools import groupby
from typing import TYPE_CHECKING

from ..terminal import Screen, shorten
from .facts import fact_lines, finding_lines, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..doctor import Examination, Finding
    from ..measure.environment import Cache, Environment

_LINK = len("libcudart")


def examination(screen: Screen, found: Examination) -> Iterator[str]:
    """The machine, the software, the files and the ladder, a section each."""
    yield from _section(screen, "Machine", _machine(found.environment))
    yield from _section(screen, "Software", _software(found.environment))
    yield screen.paint("Files", "bold")
    yield from _files(screen, found)
    yield ""
    yield screen.paint("The way to a GPU", "bold")
    for link in found.gpu:
        yield from finding_lines(screen, link, _link(screen, link), _LINK)
    yield ""
    yield screen.paint("Rungs", "bold")
    blocks = list(_blocks(found.rungs))
    width = max(len(rung.name) for rung, _ in blocks)
    for rung, others in blocks:
        yield from finding_lines(screen, rung, _runs(rung), width)
        if others:
            told = f"and so {', '.join(other.name for other in others)}"
            lines = wrapped(screen, told, width + 6, "dim")
            yield from (" " * (width + 6) + line for line in lines)
    yield ""
    yield screen.paint(_verdict(found), "green" if found.works else "red")


def _section(screen: Screen, title: str, facts: dict[str, str]) -> Iterator[str]:
    yield screen.paint(title, "bold")
    yield from fact_lines(screen, facts)
    yield ""


def _machine(environment: Environment) -> dict[str, str]:
    cpu = environment.processor
    facts = {
        "processor": f"{cpu.model or 'unknown'} ({cpu.architecture})",
        "CPUs": _cpus(environment),
        "ISA": ", ".join(cpu.isa) or "unknown",
        "caches": ", ".join(map(_cache, cpu.caches)) or "unknown",
        "clock": _clock(environment),
    }
    if environment.memory_bytes:
        facts["memory"] = _size(environment.memory_bytes)
    if environment.load:
        facts["load"] = f"{environment.load[0]:.2f} in the last minute"
    return facts


def _cache(cache: Cache) -> str:
    kind = "" if cache.kind == "unified" else cache.kind[0]  # L1d, L1i, L2
    return f"L{cache.level}{kind} {_size(cache.bytes)}"


def _size(count: int) -> str:
    """Bytes in the largest unit that leaves a whole part."""
    size, units = float(count), iter(("B", "KiB", "MiB", "GiB", "TiB"))
    unit = next(units)
    while size >= 1024:
        size, unit = size / 1024, next(units)
    return f"{size:.3g} {unit}"


def _cpus(environment: Environment) -> str:
    cpu = environment.processor
    told = f"{cpu.cores or cpu.logical} cores, {cpu.logical} logical CPUs"
    if cpu.allowed is not None and cpu.allowed != cpu.logical:
        told += f", {cpu.allowed} of them allowed"
    if cpu.quota is not None:
        told += f", limited to {cpu.quota:g} CPUs' time"
    return told + (", in a virtual machine" if cpu.virtual else "")


def _clock(environment: Environment) -> str:
    cpu = environment.processor
    parts = []
    if cpu.mhz_max:
        parts.append(f"up to {cpu.mhz_max:.0f} MHz")
    if cpu.mhz_now:
        parts.append(f"{cpu.mhz_now:.0f} MHz now")
    parts.append(f"governor {cpu.governor}" if cpu.governor else "governor not told")
    if cpu.turbo is not None:
        parts.append(f"turbo {'on' if cpu.turbo else 'off'}")
    if cpu.time_from:
        parts.append(f"time from {cpu.time_from}")
    return ", ".join(parts)


def _software(environment: Environment) -> dict[str, str]:
    software = environment.software
    system = (software.distribution, f"{software.system} {software.kernel}", software.libc)
    facts = {
        "system": ", ".join(part for part in system if part),
        "Python": f"{software.python} ({software.python_compiler})",
        "packages": ", ".join(f"{name} {version}" for name, version in software.packages.items()),
    }
    if software.variables:
        facts["settings"] = ", ".join(f"{n}={value}" for n, value in software.variables.items())
    return facts


def _files(screen: Screen, found: Examination) -> Iterator[str]:
    weights, mnist = found.weights.details, found.mnist.details
    told = f"sha256 {weights.get('sha256', '')[:12]}{screen.choose('…', '...')}"
    if accuracy := weights.get("test_accuracy"):
        told += f", {100 * float(accuracy):.2f} % of MNIST's test images right when trained"
    yield from finding_lines(screen, found.weights, told, 7)
    yield from finding_lines(screen, found.mnist, f"{mnist.get('images', 0):,} test images", 7)


def _link(screen: Screen, link: Finding) -> str:
    """What was found; of a library also the end of its folder's path."""
    told = str(link.details.get("found", ""))
    folder = str(link.details.get("path", "")).rpartition("/")[0]
    room = screen.columns - _LINK - 6 - len(f"{told} in ") - 1
    return f"{told} in {shorten(folder, room, screen.choose('…', '...'))}" if folder else told


def _blocks(rungs: Sequence[Finding]) -> Iterator[tuple[Finding, list[Finding]]]:
    """Each rung with its variants that do not run for the same reason; others by themselves."""
    for (_, reason), alike in groupby(rungs, _why):
        first, *others = alike
        yield first, others if reason else []
        if not reason:
            yield from ((other, []) for other in others)


def _why(rung: Finding) -> tuple[str, str | None]:
    """Its name without the variant, and the reason without its own name."""
    row = re.sub(":[^@]*", "", rung.name)
    return row, rung.reason and rung.reason.replace(rung.name, row)


def _runs(rung: Finding) -> str:
    """The library, the instruction set and what was not tried."""
    return ", ".join(rung.details[key] for key in ("library", "isa", "note") if key in rung.details)


def _verdict(found: Examination) -> str:
    running = sum(rung.available for rung in found.rungs)
    if not found.works:
        return "Nothing can be inferred here until the above is mended."
    return f"{running} of {len(found.rungs)} rungs run here."
