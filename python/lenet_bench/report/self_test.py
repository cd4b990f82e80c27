"""What the self-test found, in a terminal."""

import textwrap
from collections.abc import Iterator, Sequence

from ..measure.self_test import Point
from ..results import Result
from ..terminal import Screen
from .sentences import conditions

_COLOURS = {"passed": "green", "failed": "red", "too noisy": "yellow"}


def self_test(points: Sequence[Point], result: Result, screen: Screen) -> Iterator[str]:
    """A line or two for each point, the warnings of the run, and what it comes to."""
    yield from screen.wrap(conditions(result))
    yield ""
    for point in points:
        mark = screen.choose("✓", "+") if point.verdict == "passed" else screen.choose("✗", "x")
        head = f"{mark} {point.name}: {point.verdict}"
        for line in screen.wrap(head):
            yield screen.paint(line, _COLOURS[point.verdict])
        indent = "  "
        yield from textwrap.wrap(
            point.told, screen.columns, initial_indent=indent, subsequent_indent=indent
        )
    yield ""
    for warning in result.warnings:
        for line in screen.wrap(f"warning: {warning}"):
            yield screen.paint(line, "yellow")
