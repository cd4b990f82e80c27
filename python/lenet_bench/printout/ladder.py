"""The ladder for people: what each rung is, what it calls, and whether it runs here."""

from __future__ import annotations  # the types of one command are not imported for another

from typing import TYPE_CHECKING

from ..terminal import Screen
from .facts import mark, why_not, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..backends.availability import Availability


def ladder(screen: Screen, found: Sequence[Availability]) -> Iterator[str]:
    """The rungs from silicon to Keras: what each is, what it calls, and whether it runs here."""
    width = max(len(rung.name) for rung in found)
    indent = " " * (width + 4 + 5)
    for rung in found:
        lines = [*wrapped(screen, rung.summary, len(indent))]
        if ":" not in rung.name:
            lines += wrapped(screen, f"calls {rung.calls}", len(indent), "dim")
        if rung.reason:
            lines += why_not(screen, rung.reason, len(indent))
        name = screen.paint(rung.name.ljust(width), "bold")
        device = screen.paint(rung.device.ljust(4), "dim")
        yield f"{mark(screen, rung.available)} {name}  {device} {lines[0]}"
        yield from (indent + line for line in lines[1:])
