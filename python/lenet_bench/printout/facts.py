"""Facts and findings, one a line: what the ladder, an examination and a training are told in."""

from __future__ import annotations

import re
from textwrap import wrap
from typing import TYPE_CHECKING

from ..terminal import Screen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..doctor import Finding

MARGIN = "  "


def fact_lines(screen: Screen, facts: dict[str, str]) -> Iterator[str]:
    """Each fact after its name, aligned; a long one goes on below itself."""
    width = max(len(name) for name in facts)
    for name, fact in facts.items():
        first, *others = wrapped(screen, fact, width + 4)
        yield f"{MARGIN}{screen.paint(name.ljust(width), 'dim')}  {first}"
        yield from (" " * (width + 4) + line for line in others)


def finding_lines(screen: Screen, finding: Finding, good_news: str, width: int) -> Iterator[str]:
    """One finding on one line; where it is bad, why and what mends it."""
    if finding.available:
        first, *others = wrapped(screen, good_news, width + 6)
    else:
        first, *others = why_not(screen, finding.reason or "", width + 6)
    name = screen.paint(finding.name.ljust(width), "bold")
    yield f"{MARGIN}{mark(screen, finding.available)} {name}  {first}".rstrip()
    yield from (" " * (width + 6) + line for line in others)


def mark(screen: Screen, good: bool) -> str:
    """A tick or a cross."""
    if good:
        return screen.paint(screen.choose("✓", "+"), "green")
    return screen.paint(screen.choose("✗", "-"), "red")


def wrapped(screen: Screen, text: str, indent: int, style: str = "") -> list[str]:
    """The text in lines that leave room for the indent; a command or a path is never broken."""
    columns = screen.columns - indent - 1
    lines = wrap(text, columns, break_long_words=False, break_on_hyphens=False) or [""]
    return [screen.paint(line, style) for line in lines]


def why_not(screen: Screen, reason: str, indent: int) -> list[str]:
    """The reason in red, and the command that mends it on a line of its own, to be copied."""
    sentence, mend_it_with, command = reason.partition("mend it with: ")
    sentence = re.sub(",$", ":", sentence.rstrip("; "))  # "...; if it is damaged, mend it with: "
    lines = wrapped(screen, sentence, indent, "red")
    return [*lines, screen.paint(command, "bold")] if mend_it_with else lines
