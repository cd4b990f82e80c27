"""Agreement on another network than LeNet: how far each backend's answers are from float64's."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass

from ..measure.judged import Judged, prepared
from ..measure.options import CompareOptions, Entry
from ..measure.start import Conditions, Failed, conditions
from ..results import Status
from ..subjects.subject import Prepared, Subject


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
    names: Iterable[str], subject: Subject, threads: int, progress: Callable[[str, int], None]
) -> Iterator[Agreement]:
    """Start one backend after the other, each in a process of its own."""
    options = CompareOptions(tuple(names), subject=subject, threads=threads, seed=0)
    entries = options.entries()
    same = conditions(options, entries)
    known = prepared(same, entries)
    for entry in entries:
        progress(f"{subject.label} on {entry.name}", 0)
        yield _agreement(entry, same, known)
        progress(f"{subject.label} on {entry.name}", 1)


def _agreement(entry: Entry, same: Conditions, known: Prepared) -> Agreement:
    status: Status = "ok"
    difference = reason = None
    try:
        with closing(Judged(entry, same, known)) as start:
            try:
                start.build(known.rotating.inputs)
                start.check_parity()
            finally:
                difference = start.difference
    except Failed as failure:
        status, reason = failure.status, failure.reason
    assert known.other
    assert known.other.float32 is not None
    allowed = known.judge.allowed(entry.tolerance)
    name = known.subject.label
    return Agreement(name, entry.name, status, difference, known.other.float32, allowed, reason)
