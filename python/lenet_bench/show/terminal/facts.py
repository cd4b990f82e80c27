"""Facts, one a line, aligned; and whether something runs."""

import re
from collections.abc import Iterator, Mapping
from textwrap import wrap

from .screen import Screen, plain

MARGIN = "  "


def fact_lines(screen: Screen, facts: Mapping[str, str]) -> Iterator[str]:
    """Each fact after its name; a long one is wrapped below itself."""
    width = max(len(name) for name in facts)
    for name, fact in facts.items():
        first, *others = wrapped(screen, fact, width + 4)
        yield f"{MARGIN}{screen.paint(name.ljust(width), 'dim')}  {first}"
        yield from (" " * (width + 4) + line for line in others)


def mark(screen: Screen, good: bool) -> str:
    """A tick or a cross."""
    return screen.paint("✓", "green") if good else screen.paint("✗", "red")


def wrapped(screen: Screen, text: str, indent: int, style: str = "") -> list[str]:
    """The text in lines that leave room for the indent; a command or a path is never broken."""
    columns = screen.columns - indent - 1
    text = plain(text)
    lines = wrap(text, columns, break_long_words=False, break_on_hyphens=False) or [""]
    return [screen.paint(line, style) for line in lines]


def why_not(screen: Screen, reason: str, indent: int) -> list[str]:
    """The reason in red, and the command that fixes it on a line of its own, to be copied."""
    sentence, fix_it_with, command = reason.partition("fix it with: ")
    sentence = re.sub(",$", ":", sentence.rstrip("; "))  # "...; if it is damaged, fix it with: "
    lines = wrapped(screen, sentence, indent, "red")
    return [*lines, screen.paint(command, "bold")] if fix_it_with else lines
