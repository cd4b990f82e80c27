"""What backends cost in code and on the disk, as a table."""

import re
from collections.abc import Iterator, Sequence

from ... import units
from ...cost import Cost
from ..sentences import SHORT_LIST, backend_of
from .screen import Screen
from .table import Column, table

_LEGEND = (
    "lines: with code, without imports of this package; API names: functions, types and constants "
    "of the API that the code uses; to run, to convert: on disk, the packages that a call needs, "
    "and those that only write its model file; installs: what pip is asked for beyond the core"
)
_PACKAGES = 48  # columns of the packages that are named


def costs(found: Sequence[Cost], screen: Screen) -> Iterator[str]:
    """A line for each variant, or in a long list for variants of equal cost."""
    long = len(found) > SHORT_LIST
    if long:
        different: dict[object, Cost] = {}
        for cost in found:
            same = (backend_of(cost.name), cost.api_names, cost.installs, cost.lines_of_code)
            different.setdefault(same, cost)
        found = list(different.values())
    packages = [_packages(cost.installs) for cost in found]
    columns = [
        Column("backend", [cost.name for cost in found], left=True, style="bold"),
        Column("lines", [units.count(cost.lines_of_code) for cost in found]),
        Column("API names", [units.count(len(cost.api_names)) for cost in found], leaves=1),
        Column("to run", [units.mebibytes(cost.installed_mib) for cost in found], leaves=2),
        Column("to convert", [units.mebibytes(cost.converter_mib) for cost in found], leaves=3),
        Column("installs", packages, left=True, style="dim", leaves=4),
    ]
    yield from table(screen, columns)
    yield ""
    yield from screen.wrap(_LEGEND, "dim")
    if long:
        yield from screen.wrap("variants that cost the same as the one above are left out", "dim")


def _packages(requirements: Sequence[str]) -> str:
    """The names of the packages; --json has the versions."""
    names = [re.split(r"[^\w.-]", requirement, maxsplit=1)[0] for requirement in requirements]
    text = f"{len(names)}: {', '.join(names)}" if names else "nothing more"
    return text if len(text) <= _PACKAGES else f"{text[: _PACKAGES - 1]}…"
