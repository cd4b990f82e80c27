"""The answer in sentences, from the figures: what a call consists of, and what another adds.

A part is named where its interval, or that of its difference, excludes 0.
"""

from collections.abc import Iterator, Sequence
from math import hypot

from .. import units
from ..results import Part, TakenApart

_NAMED = 3  # parts of a call
_ADDED = 5  # of a difference
_LEAST = 0.01  # of a call, or of a difference: what a part that is named takes
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
    sure = [part for part in one.parts if part.low_us is None or part.low_us > 0]
    largest = sorted(sure, key=lambda part: -part.us)[:_NAMED]
    named = [
        f"{part.name} {units.time(part.us)} ({units.percent(part.us / whole, places=0)})"
        for part in largest
        if part.us >= _LEAST * whole
    ]
    told = f"{_listed(named)}, " if named else ""
    return f"{one.name} takes {units.time(whole)}: {told}{_explained(one)}."


def difference(one: TakenApart, other: TakenApart) -> str:
    """What the other takes longer: the parts that surely differ, then all else."""
    longer = (other.median_us or 0.0) - (one.median_us or 0.0)
    before, after = _by_name(one.parts), _by_name(other.parts)
    found = {
        name: _added(before.get(name), after.get(name)) for name in dict.fromkeys((*after, *before))
    }
    added = {
        name: us
        for name, (us, low_us, high_us) in found.items()
        if (low_us > 0 or high_us < 0) and abs(us) >= _LEAST * longer
    }
    largest = sorted(added, key=lambda name: -abs(added[name]))[:_ADDED]
    named = [f"{name} {units.time(added[name])}" for name in largest]
    named.append(f"{_REST} {units.time(longer - sum(added[name] for name in largest))}")
    return f"{other.name} takes {units.time(longer)} longer than {one.name}: {_listed(named)}."


def _by_name(parts: Sequence[Part]) -> dict[str, Part]:
    return {part.name: part for part in parts}


def _added(before: Part | None, after: Part | None) -> tuple[float, float, float]:
    """The difference of a part of two calls, and its bounds, from the bounds of both.

    They are of different processes, so what they lack in certainty adds up as squares do (Zou and
    Donner, 2008). A part without bounds counts as known.
    """
    (us, low, high), (other, other_low, other_high) = _bounded(after), _bounded(before)
    added = us - other
    below, above = hypot(us - low, other_high - other), hypot(high - us, other - other_low)
    return added, added - below, added + above


def _bounded(part: Part | None) -> tuple[float, float, float]:
    if part is None:
        return 0.0, 0.0, 0.0
    if part.low_us is None or part.high_us is None:
        return part.us, part.us, part.us
    return part.us, part.low_us, part.high_us


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
