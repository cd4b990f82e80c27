"""The findings of `doctor` and `backends`: what is here, what runs, and why the rest does not."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from textwrap import wrap

from ...questions.doctor import Examination, Finding
from ...registry.availability import Availability
from ...texts import printable
from ...units import counted
from ..facts import hardware_facts, software_facts
from ..sentences import backend_of, by_family
from .screen import MARGIN, Screen, shorten

_LINK = len("libcudart")


def backends(screen: Screen, found: Sequence[Availability]) -> Iterator[str]:
    """What each backend is, what it calls, and whether it runs here, by family.

    Variants that do not run for the same reason give it once.
    """
    width = max(len(one.name) for one in found)
    indent = width + 4 + 5
    found, headings = by_family(found, lambda one: one.name, longer_than=0)
    given: tuple[str, str | None] = ("", None)
    for number, one in enumerate(found):
        if number in headings:
            if number:
                yield ""
            yield screen.paint(headings[number], "bold cyan")
        lines = _wrapped(screen, one.summary, indent)
        if ":" not in one.name:
            lines += _wrapped(screen, f"calls {one.calls}", indent, "dim")
        reason = _why(one)
        if one.reason and reason != given:
            lines += _why_not(screen, one.reason, indent)
        given = reason
        name = screen.paint(one.name.ljust(width), "bold")
        device = screen.paint(one.device.ljust(4), "dim")
        yield from _hanging(f"{_mark(screen, one.available)} {name}  {device} ", lines, indent)


def examination(screen: Screen, found: Examination) -> Iterator[str]:
    """The machine, the software, the files, the GPU and the backends, a section each."""
    machine = found.machine
    versions = ", ".join(f"{name} {version}" for name, version in machine.software.packages.items())
    yield from _section(screen, "Machine", hardware_facts(machine))
    yield from _section(screen, "Software", software_facts(machine) | {"packages": versions})
    yield screen.paint("Files", "bold")
    yield from _files(screen, found)
    yield ""
    if found.concerns_gpus:
        yield screen.paint("GPU", "bold")
        for link in found.gpu:
            yield from _finding(screen, link, _link(screen, link), _LINK)
        yield ""
    yield screen.paint("Backends", "bold")
    yield from _backends(screen, found)
    yield ""
    yield screen.paint(_verdict(found), "green" if found.works else "red")


def _backends(screen: Screen, found: Examination) -> Iterator[str]:
    """The backends by family; those that are missing for one reason are one entry."""
    groups: Sequence[tuple[Finding, list[Finding]]] = list(_groups(found))
    width = max(len(one.name) for one, _ in groups)
    groups, headings = by_family(groups, lambda group: group[0].name, longer_than=0)
    for number, (one, others) in enumerate(groups):
        if number in headings:
            yield f"{MARGIN}{screen.paint(headings[number], 'bold cyan')}"
        yield from _finding(screen, one, _runs(one), width)
        if others:
            text = f"also {', '.join(other.name for other in others)}"
            indent = width + 6
            yield from _hanging(" " * indent, _wrapped(screen, text, indent, "dim"), indent)


def _finding(screen: Screen, one: Finding, good_news: str, width: int) -> Iterator[str]:
    """A finding on one line; or its problem and the command that fixes it."""
    indent = width + 6
    if one.available:
        lines = _wrapped(screen, good_news, indent)
    else:
        lines = _why_not(screen, one.reason or "unknown", indent)
    name = screen.paint(one.name.ljust(width), "bold")
    yield from _hanging(f"{MARGIN}{_mark(screen, one.available)} {name}  ", lines, indent)


def _section(screen: Screen, title: str, facts: dict[str, str]) -> Iterator[str]:
    """Each fact after its name; a long one is wrapped below itself."""
    yield screen.paint(title, "bold")
    width = max(len(name) for name in facts)
    for name, fact in facts.items():
        head = f"{MARGIN}{screen.paint(name.ljust(width), 'dim')}  "
        yield from _hanging(head, _wrapped(screen, fact, width + 4), width + 4)
    yield ""


def _files(screen: Screen, found: Examination) -> Iterator[str]:
    weights, mnist = found.weights.details, found.mnist.details
    text = f"sha256 {weights.get('sha256', '')[:12]}…"
    if accuracy := weights.get("test_accuracy"):
        text += f", {100 * float(accuracy):.2f} % right on MNIST's test images"
    yield from _finding(screen, found.weights, text, 7)
    yield from _finding(screen, found.mnist, f"{mnist.get('images', 0):,} test images", 7)


def _link(screen: Screen, link: Finding) -> str:
    """What was found; for a library also the end of its folder's path."""
    text = str(link.details.get("found", ""))
    if (parts := len(link.details.get("files", ())) - 1) > 0:
        text += f" with {counted(parts, 'part')}"
    folder = str(link.details.get("path", "")).rpartition("/")[0]
    room = screen.columns - _LINK - 6 - len(f"{text} in ") - 1
    return f"{text} in {shorten(folder, room)}" if folder else text


def _groups(found: Examination) -> Iterator[tuple[Finding, list[Finding]]]:
    """Each backend with its variants that do not run for the same reason; others by themselves.

    All that need a GPU are one group where there is none.
    """
    for (_, reason), alike in groupby(found.backends, lambda one: _why(one, found.no_gpu)):
        first, *others = alike
        if any(backend_of(other.name) != backend_of(first.name) for other in others):
            first = replace(first, reason=f"{first.name} cannot run here: {found.no_gpu}")
        yield first, others if reason else []
        if not reason:
            yield from ((other, []) for other in others)


def _why(backend: Finding | Availability, no_gpu: str | None = None) -> tuple[str, str | None]:
    """A backend's name without the variant, and the reason without that name."""
    if backend.reason and backend.device == "gpu" and no_gpu:
        return "", no_gpu
    name = backend_of(backend.name)
    return name, backend.reason and backend.reason.replace(backend.name, name)


def _runs(backend: Finding) -> str:
    """The library, the instruction set and what was not tried."""
    return ", ".join(
        backend.details[key] for key in ("library", "isa", "note") if key in backend.details
    )


def _verdict(found: Examination) -> str:
    running = sum(one.available for one in found.backends)
    if not found.works:
        return "No backend runs here."
    return f"{running} of {len(found.backends)} backends run here."


def _hanging(head: str, lines: Sequence[str], indent: int) -> Iterator[str]:
    """The first line after the head, the others below it."""
    yield f"{head}{lines[0]}".rstrip()
    yield from (" " * indent + line for line in lines[1:])


def _mark(screen: Screen, good: bool) -> str:
    return screen.paint("✓", "green") if good else screen.paint("✗", "red")


def _wrapped(screen: Screen, text: str, indent: int, style: str = "") -> list[str]:
    """The text in lines that leave room for the indent; a command or a path is never broken."""
    columns = screen.columns - indent - 1
    text = printable(text)
    lines = wrap(text, columns, break_long_words=False, break_on_hyphens=False) or [""]
    return [screen.paint(line, style) for line in lines]


def _why_not(screen: Screen, reason: str, indent: int) -> list[str]:
    """The reason in red, and the command that fixes it on a line of its own, to be copied."""
    sentence, fix_it_with, command = reason.partition("fix it with: ")
    sentence = re.sub(",$", ":", sentence.rstrip("; "))  # "...; if it is damaged, fix it with: "
    lines = _wrapped(screen, sentence, indent, "red")
    return [*lines, screen.paint(command, "bold")] if fix_it_with else lines
