"""The backends by family: what each is, what it calls, and whether it runs here.

Variants that do not run for the same reason give it once.
"""

from collections.abc import Iterator, Sequence

from ...registry.availability import Availability
from ..families import backend_of, by_family
from .facts import mark, why_not, wrapped
from .screen import Screen


def backends(screen: Screen, found: Sequence[Availability]) -> Iterator[str]:
    """From native code to Keras."""
    width = max(len(one.name) for one in found)
    indent = " " * (width + 4 + 5)
    found, headings = by_family(found, lambda one: one.name, longer_than=0)
    given = ("", "")
    for number, one in enumerate(found):
        if number in headings:
            yield from [""] if number else []
            yield screen.paint(headings[number], "bold cyan")
        lines = [*wrapped(screen, one.summary, len(indent))]
        if ":" not in one.name:
            lines += wrapped(screen, f"calls {one.calls}", len(indent), "dim")
        base = backend_of(one.name)
        reason = (base, (one.reason or "").replace(one.name, base))
        if one.reason and reason != given:
            lines += why_not(screen, one.reason, len(indent))
        given = reason
        name = screen.paint(one.name.ljust(width), "bold")
        device = screen.paint(one.device.ljust(4), "dim")
        yield f"{mark(screen, one.available)} {name}  {device} {lines[0]}"
        yield from (indent + line for line in lines[1:])
