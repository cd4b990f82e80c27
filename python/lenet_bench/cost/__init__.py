"""The cost of a variant in code: lines, API names, decisions, and packages to install.

Counted from the sources alone; no API is imported. A variant in Python is its function and all
definitions that this uses in its file, without imports of lenet-bench's modules. A line counts if
it holds code: blank lines, comments, docstrings and lines with only brackets and separators do not,
since the formatter places those. pygount counts in the same way, and tests/test_cost.py checks that
both give the same number; pygount is not used here because it needs 19 MB with its dependencies.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from ..errors import LenetBenchError
from ..registry import every_name, find, names, usual_name
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
    """The cost of one variant."""

    name: str
    files: tuple[str, ...]
    lines_of_code: int
    api_names: tuple[str, ...]  # distinct ones of others' APIs that it uses
    complexity: int  # decisions: if, for, while, case, catch, and, or, ?:
    nesting: int  # how deep: ifs, loops, switches and tries within each other
    installs: tuple[str, ...]  # pip's requirements, beyond the core's
    installed_mib: float | None  # what its API takes of the disk; None where it is not here


def costs(asked: Sequence[str] = ()) -> list[Cost]:
    """The costs of these backends with their variants, or of all; in the registry's order."""
    for name in asked:
        find(name)
    bare = {usual_name(name) for name in asked if ":" not in name}
    wanted = {*map(usual_name, asked), *(n for n in every_name() if _bare(n) in bare)}
    if not asked:
        return list(map(_cost, names(gone=False)))
    return [_cost(name) for name in every_name() if name in wanted]


def _bare(name: str) -> str:
    row, _ = find(name)
    return row.spell(row.default)


@cache
def lines_of_code(name: str) -> int | None:
    """The cost of a backend or variant; None for an unknown one."""
    try:
        return _lines(sources(name))
    except (LenetBenchError, OSError):
        return None


@cache
def installed_mib(name: str) -> float | None:
    """The disk space of its API's packages; None where they are not installed."""
    try:
        bare = _bare(name)
        return mebibytes(find(bare)[0]) if name == bare else installed_mib(bare)
    except (LenetBenchError, OSError):
        return None


def _lines(files: Sequence[Source]) -> int:
    return sum(len(code_lines(source)) for source in files)


def _cost(name: str) -> Cost:
    files = sources(name)
    return Cost(
        name=name,
        files=tuple(source.name for source in files),
        lines_of_code=_lines(files),
        api_names=tuple(api_names(files)),
        complexity=sum(map(complexity, files)),
        nesting=max(map(nesting, files)),
        installs=tuple(requirements(find(name)[0])),
        installed_mib=installed_mib(name),
    )
