"""Machines side by side in a terminal: a row a machine, a column a backend."""

from collections.abc import Iterator, Sequence

from ...questions.machines import Measured
from ...units import counted
from ..machines import FACTS, FEW, cell, facts
from .screen import Screen
from .table import Column, fitting, table


def machines(
    found: Sequence[Measured], names: Sequence[str], base: str | None, screen: Screen
) -> Iterator[str]:
    """The table, with as many of these backends as there is room for."""
    shown = [facts(one) for one in found]
    columns = [
        Column(title, [row[n] for row in shown], left=not n, leaves=1000 - n if n else 0)
        for n, title in enumerate(FACTS)
    ]
    backends = [
        Column(name, [cell(one, name, base) for one in found], leaves=number)
        for number, name in enumerate(names, 1)
    ]
    kept = fitting([columns[0], *backends, *columns[1:]], screen.columns)
    yield from table(screen, kept)
    yield ""
    what = f"ratio of the median to {base}'s" if base else "median time of one image"
    yield from screen.wrap(f"{counted(len(found), 'machine')}; {what}; {FEW}", "dim")
    if left := set(names) - {column.title for column in kept}:
        yield from screen.wrap(
            f"no room for {counted(len(left), 'backend')}: choose some with -b, widen the "
            "terminal, or give -o machines.html or --json",
            "dim",
        )
