"""Which calls were made while nothing disturbed the machine.

A known loop runs between slices of a few milliseconds of calls. Where it takes longer than usual,
something slows this core that the system may hide: a neighbour on it or in its caches, a clock that
was lowered, a hypervisor. Calls count where it was quick both before and after their slice.
"""

from collections.abc import Sequence

SLOW = 1.1  # times the loop's usual time

#: How many calls, and how long the slower of the loops before and after them took, in ns.
Slice = tuple[int, int]


def quiet_calls(
    samples_ns: Sequence[int], slices: Sequence[Slice], usual_ns: float, fewest: int
) -> Sequence[int]:
    """The calls that count; nothing where they are too few."""
    quiet: list[int] = []
    first = 0
    for calls, loop_ns in slices:
        if loop_ns <= SLOW * usual_ns:
            quiet += samples_ns[first : first + calls]
        first += calls
    return quiet if len(quiet) >= fewest else ()
