"""The answer of `why` in sentences: the parts of a call, and what a slower call adds."""

from collections.abc import Iterator, Sequence

from .. import units
from ..results import Part, TakenApart

_NAMED = 3  # parts of a call
_ADDED = 5  # of a difference
_REST = "all else"


def answer(found: Sequence[TakenApart]) -> Iterator[str]:
    """A sentence for each backend, the fastest first; then what the slowest adds to it."""
    known = sorted((one for one in found if one.parts), key=lambda one: one.median_us or 0.0)
    for one in known:
        yield consists_of(one)
    if len(known) > 1:
        yield difference(known[0], known[-1])


def consists_of(one: TakenApart) -> str:
    """Its largest parts, and how much of the call is explained."""
    whole = one.median_us or 0.0
    largest = sorted(one.parts, key=lambda part: -part.us)[:_NAMED]
    named = [
        f"{part.name} {units.time(part.us)} ({units.percent(part.us / whole, places=0)})"
        for part in largest
    ]
    return f"{one.name} takes {units.time(whole)}: {_listed(named)}, {_explained(one)}."


def difference(one: TakenApart, other: TakenApart) -> str:
    """How much longer the other takes, part by part."""
    longer = (other.median_us or 0.0) - (one.median_us or 0.0)
    before, after = _times(one.parts), _times(other.parts)
    added = {
        name: after.get(name, 0.0) - before.get(name, 0.0)
        for name in dict.fromkeys((*after, *before))
    }
    largest = sorted(added, key=lambda name: -abs(added[name]))[:_ADDED]
    named = [f"{name} {units.time(added[name])}" for name in largest]
    named.append(f"{_REST} {units.time(longer - sum(added[name] for name in largest))}")
    return f"{other.name} takes {units.time(longer)} longer than {one.name}: {_listed(named)}."


def _times(parts: Sequence[Part]) -> dict[str, float]:
    return {part.name: part.us for part in parts}


def _explained(one: TakenApart) -> str:
    if one.explained is None:
        return "and nothing is explained"
    share = f"{units.percent(one.explained, places=0)} of it explained"
    if one.explained_low is None:
        return share
    return f"{share} ({units.percent(one.explained_low, one.explained_high, places=0)})"


def _listed(named: Sequence[str]) -> str:
    *first, last = named
    return f"{', '.join(first)} and {last}" if first else last
