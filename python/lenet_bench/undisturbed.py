"""Which calls were made while nothing disturbed the machine.

Known loops run between slices of a few milliseconds of calls. If one takes longer than usual,
something slows this core or its caches down, possibly unseen by the system: another program, a
lower clock, a hypervisor. The calls of a slice count if the loops before and after it were fast.
"""

from collections.abc import Iterable, Sequence

SLOW = 1.1  # times the loop's time on a quiet machine

#: How long each known loop took, in ns: that in the first-level cache, and that over more memory,
#: which does not run before calls whose caches must stay as they are.
Loops = tuple[int, ...]
#: How many calls, and the slower of the loops before and after them.
Slice = tuple[int, ...]


def quickest(every: Iterable[Sequence[int]]) -> Loops:
    """The least time of each loop; nothing where none ran."""
    return tuple(map(min, zip(*filter(None, every), strict=False)))


def are_quick(loops: Sequence[int], undisturbed: Sequence[float]) -> bool:
    """Whether each took about its time on a quiet machine, of those whose time there is known."""
    return all(ns <= SLOW * usual for ns, usual in zip(loops, undisturbed, strict=False))


def undisturbed_calls(
    samples_ns: Sequence[int], slices: Sequence[Slice], undisturbed: Sequence[float], fewest: int
) -> Sequence[int]:
    """The calls that count; empty where they are too few."""
    quiet: list[int] = []
    first = 0
    for calls, *loops in slices:
        if are_quick(loops, undisturbed):
            quiet += samples_ns[first : first + calls]
        first += calls
    return quiet if len(quiet) >= fewest else ()
