"""The self-test's verdicts in a terminal, and as JSON without the samples."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from msgspec import to_builtins

from ...questions.self_test import Point
from ...results import Result
from ..sentences import conditions
from .screen import Screen, plain

_COLOURS = {"passed": "green", "failed": "red", "too noisy": "yellow"}


def digest(points: Sequence[Point], result: Result) -> dict[str, Any]:
    """Each point with its figures, the settings and the warnings."""
    return {
        "kind": "self-test",
        "schema": 1,
        "started": result.started,
        "elapsed_s": result.elapsed_s,
        "conditions": conditions(result),
        "machine": to_builtins(result.machine),
        "points": [asdict(point) for point in points],
        "warnings": result.warnings,
    }


def self_test(points: Sequence[Point], result: Result, screen: Screen) -> Iterator[str]:
    """A line or two for each point, the warnings of the run, and the overall verdict."""
    yield from screen.wrap(conditions(result))
    yield ""
    for point in points:
        mark = "✓" if point.verdict == "passed" else "✗"
        head = f"{mark} {point.name}: {point.verdict}"
        yield from screen.wrap(head, _COLOURS[point.verdict])
        indent = "  "
        yield from textwrap.wrap(
            plain(point.says), screen.columns, initial_indent=indent, subsequent_indent=indent
        )
    yield ""
    for warning in result.warnings:
        yield from screen.wrap(f"warning: {warning}", "yellow")
