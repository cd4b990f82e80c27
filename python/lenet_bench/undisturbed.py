"""Which calls were made while nothing disturbed the machine.

A reference loop runs between slices of a few milliseconds of calls. If it takes longer than usual,
something slows this core down, possibly unseen by the system: another program on it or in its
caches, a lower clock, a hypervisor. The calls of a slice count if the loops before and after it
were fast.
"""

from collections.abc import Sequence

SLOW = 1.1  # times the loop's time on a quiet machine

#: How many calls, and how long the slower of the loops before and after them took, in ns.
Slice = tuple[int, int]


def undisturbed_calls(
    samples_ns: Sequence[int], slices: Sequence[Slice], undisturbed_loop_ns: float, fewest: int
) -> Sequence[int]:
    """The calls that count; empty where they are too few."""
    quiet: list[int] = []
    first = 0
    for calls, loop_ns in slices:
        if loop_ns <= SLOW * undisturbed_loop_ns:
            quiet += samples_ns[first : first + calls]
        first += calls
    return quiet if len(quiet) >= fewest else ()
