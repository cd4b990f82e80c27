"""The code of backends in a terminal: a table of all, or the sources of two side by side."""

from __future__ import annotations  # rich is imported once there is something to draw

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, zip_longest
from typing import TYPE_CHECKING

from ... import units
from ...cost import Cost, lines_of_code
from ...questions.cost import STAGES, StagedLine
from ...results import Result
from ...texts import printable
from ..sentences import SHORT_LIST, backend_of, by_family, conditions
from .screen import Screen, shorten
from .table import Column, lines_of, table

if TYPE_CHECKING:
    from rich.text import Text

_BESIDE = 120  # columns from which two sources stand side by side
_LEGEND = (
    "lines: with code, without imports of this package; API names: functions, types and constants "
    "of the API that the code uses; to run, to convert: on disk, the packages that a call needs, "
    "and those that only write its model file; installs: what pip is asked for beyond the core"
)
_PACKAGES = 48  # columns of the packages that are named
_WORDS = r"(?i)\w*(?:conv|pool|fc[12]|softmax)\w*"


def costs(found: Sequence[Cost], screen: Screen) -> Iterator[str]:
    """A line for each variant, or for variants of equal cost; a long list is grouped by family."""
    long = len(found) > SHORT_LIST
    if long:
        different: dict[object, Cost] = {}
        for cost in found:
            same = (backend_of(cost.name), cost.api_names, cost.installs, cost.lines_of_code)
            different.setdefault(same, cost)
        found = list(different.values())
    found, headings = by_family(found, lambda cost: cost.name)
    packages = [_packages(cost.installs) for cost in found]
    columns = [
        Column("backend", [cost.name for cost in found], left=True, style="bold"),
        Column("lines", [units.count(cost.lines_of_code) for cost in found]),
        Column("API names", [units.count(len(cost.api_names)) for cost in found], leaves=1),
        Column("to run", [units.mebibytes(cost.installed_mib) for cost in found], leaves=2),
        Column("to convert", [units.mebibytes(cost.converter_mib) for cost in found], leaves=3),
        Column("installs", packages, left=True, style="dim", leaves=4),
    ]
    yield from table(screen, columns, headings=headings)
    yield ""
    yield from screen.wrap(_LEGEND, "dim")
    if long:
        yield from screen.wrap("variants that cost the same as the one above are left out", "dim")


def _packages(requirements: Sequence[str]) -> str:
    """The names of the packages; --json has the versions."""
    names = [re.split(r"[^\w.-]", requirement, maxsplit=1)[0] for requirement in requirements]
    text = f"{len(names)}: {', '.join(names)}" if names else "nothing more"
    return text if len(text) <= _PACKAGES else f"{text[: _PACKAGES - 1]}…"


def side_by_side(
    left: tuple[str, Sequence[StagedLine]],
    right: tuple[str, Sequence[StagedLine]],
    timed: Result,
    screen: Screen,
) -> Iterator[str]:
    """Two backends' code, stage by stage; one below the other where the terminal is narrow.

    Each has its time in that result beside its name.
    """
    from rich.table import Table
    from rich.text import Text

    beside = screen.columns >= _BESIDE
    sources = 2 if beside else 1  # in a row of the table
    width = screen.columns // sources - 7  # of the code, after its number
    drawing = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(sources):
        drawing.add_column(width=4, justify="right", style="dim")
        drawing.add_column(width=width, overflow="fold")

    def add(*halves: Sequence[tuple[str, Text]]) -> None:
        lines: Iterable[Iterable[tuple[str, Text]]] = [[line] for line in chain(*halves)]
        if beside:
            lines = zip_longest(*halves, fillvalue=("", Text()))
        for line in lines:
            cells: list[str | Text] = [cell for pair in line for cell in pair]
            drawing.add_row(*cells)

    both = (left, right)
    times = {row.name: row.summary.p50_us for row in timed.backends if row.summary}
    add(*([("", Text(_title(name, times.get(name)), "bold"))] for name, _ in both))
    for stage in STAGES:
        halves = []
        for name, lines in both:
            code = list(_code([line for line in lines if line.stages[0] == stage], width))
            if within := next((line.stages[0] for line in lines if stage in line.stages[1:]), None):
                code.append(("", Text(f"with {within}", "dim")))
            halves.append([("", Text(name, "bold")), *code] if code and not beside else code)
        if any(halves):
            drawing.add_row("", Text(f"── {stage}", "bold cyan"))
        add(*halves)
    yield from lines_of(drawing, screen, screen.columns)
    if any(times.get(name) for name, _ in both):
        yield ""
        day = timed.started[:10]
        yield from screen.wrap(f"The times are medians of {day}. {conditions(timed)}.", "dim")


def _title(name: str, us: float | None) -> str:
    time = f", {units.time(us)} a call" if us else ""
    return f"{name}: {lines_of_code(name)} lines{time}"


def _code(lines: Sequence[StagedLine], width: int) -> Iterator[tuple[str, Text]]:
    """Line numbers and code without the common indent; each file begins with its name."""
    from rich.text import Text

    indent = min((len(line.text) - len(line.text.lstrip()) for line in lines), default=0)
    file = ""
    for line in lines:
        if line.file != file:
            file = line.file
            yield "", Text(shorten(file, width), "dim")
        code = Text(printable(line.text[indent:]))
        code.highlight_regex(_WORDS, "cyan")
        yield str(line.number), code
