"""Agreement on another network than LeNet: how far each backend's answers are from float64's."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ..measure.options import CompareOptions, Entry
from ..measure.start import Conditions, Failed, conditions, started
from ..results import Status


@dataclass(frozen=True)
class Agreement:
    """A backend's answers to a network: relative L2 distances from the exact ones."""

    network: str
    backend: str
    status: Status
    difference: float | None  # of its answers; None where it gave none
    float32: float  # the error that this precision has by itself
    allowed: float
    reason: str | None = None  # where the status is not ok


def agree_each(
    names: Iterable[str], network: str, threads: int, progress: Callable[[str, int], None]
) -> Iterator[Agreement]:
    """Start one backend after the other, each in a process of its own."""
    options = CompareOptions(tuple(names), network=network, threads=threads, seed=0)
    entries = options.entries()
    same = conditions(options, entries)
    for entry in entries:
        progress(f"{network} on {entry.name}", 0)
        yield _agreement(entry, same)
        progress(f"{network} on {entry.name}", 1)


def _agreement(entry: Entry, same: Conditions) -> Agreement:
    status: Status = "ok"
    difference = reason = None
    try:
        with started(entry, same) as start:
            try:
                start.build()
                start.check_parity()
            finally:
                difference = start.difference
    except Failed as failure:
        status, reason = failure.status, failure.reason
    other = same.reference.other
    assert other
    assert other.float32 is not None
    allowed = same.reference.allowed(entry.tolerance)
    name = same.options.network
    return Agreement(name, entry.name, status, difference, other.float32, allowed, reason)
