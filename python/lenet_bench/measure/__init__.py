"""Measure the rungs against each other, and know the machine they ran on.

    from lenet_bench.measure import CompareOptions, compare

    result = compare(CompareOptions(rungs=("fused", "openblas"), budget_s=60))

Importing this imports nothing, so that a worker's cold start has only what the worker needs.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .comparison import NotSavedError, Progress, compare
    from .difference import Difference, diff
    from .options import CompareOptions, Entry
    from .summary import summarise

__all__ = [
    "CompareOptions",
    "Difference",
    "Entry",
    "NotSavedError",
    "Progress",
    "compare",
    "diff",
    "summarise",
]

_HOMES = {
    "CompareOptions": "options",
    "Difference": "difference",
    "Entry": "options",
    "NotSavedError": "comparison",
    "Progress": "comparison",
    "compare": "comparison",
    "diff": "difference",
    "summarise": "summary",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
