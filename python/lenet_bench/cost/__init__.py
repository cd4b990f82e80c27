"""What an exhibit costs whoever writes it: lines, API names, decisions, and what it installs.

Counted from the sources alone; nothing of a rung is imported. A line counts if it holds code: not
if it is blank, comment or docstring, nor if it holds only brackets and separators, since where
those go is the formatter's choice. pygount counts so too, and tests/test_cost.py holds that both
give the same number; it is not used here since with what it needs it is 19 MB, for every install.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from ..backends import LADDER, Rung, find
from ..errors import LenetBenchError
from .api import api_names
from .packages import mebibytes, requirements
from .source import Source, sources
from .structure import complexity, nesting
from .tokens import code_lines

__all__ = [
    "Cost",
    "Source",
    "api_names",
    "code_lines",
    "complexity",
    "costs",
    "installed_mib",
    "lines_of_code",
    "nesting",
    "sources",
]


@dataclass(frozen=True)
class Cost:
    """What one rung's exhibit costs."""

    name: str
    files: tuple[str, ...]
    lines_of_code: int
    api_names: tuple[str, ...]  # distinct ones of others' APIs that it uses
    complexity: int  # decisions: if, for, while, case, catch, and, or, ?:
    nesting: int  # how deep: ifs, loops, switches and tries within each other
    installs: tuple[str, ...]  # pip's requirements, beyond the core's
    installed_mib: float | None  # what its API takes of the disk; None where it is not here


def costs(names: Sequence[str] = ()) -> list[Cost]:
    """Of the rungs so named, else of all that have an exhibit, in the ladder's order."""
    asked = {find(name)[0].name for name in names}
    return [_cost(rung) for rung in LADDER if (rung.name in asked if names else not rung.gone)]


@cache
def lines_of_code(name: str) -> int | None:
    """Of the exhibit of a rung or variant; None for what has no exhibit at hand."""
    try:
        return sum(map(_count, sources(find(name)[0])))
    except (LenetBenchError, OSError):
        return None


@cache
def installed_mib(name: str) -> float | None:
    """What the API of a rung or variant takes of the disk where it runs; None where it is not."""
    try:
        return mebibytes(find(name)[0])
    except (LenetBenchError, OSError):
        return None


@cache
def _count(source: Source) -> int:
    return len(code_lines(source))


def _cost(rung: Rung) -> Cost:
    files = sources(rung)
    return Cost(
        name=rung.name,
        files=tuple(source.name for source in files),
        lines_of_code=sum(map(_count, files)),
        api_names=tuple(api_names(files)),
        complexity=sum(map(complexity, files)),
        nesting=max(map(nesting, files)),
        installs=tuple(requirements(rung)),
        installed_mib=mebibytes(rung),
    )
