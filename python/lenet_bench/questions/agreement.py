"""Agreement on another network than LeNet: how far each backend's answers are from float64's."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ..measure.options import Entry
from ..measure.start import Failed, Start, default_conditions
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
    names: Iterable[str],
    network: str,
    threads: int = 1,
    progress: Callable[[str, int], None] = lambda *_: None,
) -> Iterator[Agreement]:
    """Start one backend after the other, each in a process of its own."""
    conditions = default_conditions(["cpu"], threads, network=network)
    truth = conditions.truth
    for name in names:
        progress(f"{network} on {name}", 0)
        entry = Entry.of_backend(name, threads)
        status: Status = "ok"
        reason = None
        start: Start | None = None
        try:
            start = Start(entry, conditions)
            start.build()
            start.check_parity()
        except Failed as failure:
            status, reason = failure.status, failure.reason
        finally:
            if start:
                start.child.close()
        progress(f"{network} on {name}", 1)
        difference = start.difference if start else None
        allowed = truth.allowed(entry.tolerance)
        assert truth.other
        assert truth.other.float32 is not None
        float32 = truth.other.float32
        yield Agreement(network, entry.name, status, difference, float32, allowed, reason)
