"""What a comparison is asked to do."""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ..backends import FLOAT32, Device, find, names, tolerance, usual_name
from ..environments import interpreter, variables
from ..errors import LenetBenchError
from ..results import Result

#: The rounds' seconds where no stop rule is given, and for a rough answer.
USUAL_BUDGET_S = 20.0
QUICK_BUDGET_S = 5.0


@dataclass(frozen=True)
class Entry:
    """One row of a comparison: a rung of the ladder, or a factory from elsewhere.

    A `factory` is "module:callable", called as callable(weights, threads=n) in the worker, with
    `path` in front of its import path.
    """

    name: str
    factory: str | None = None
    path: tuple[str, ...] = ()
    tolerance: float = FLOAT32
    python: str = sys.executable
    variables: Mapping[str, str] = field(default_factory=dict)  # what its API reads when imported
    checked: bool = True  # only the empty rung is not
    device: Device = "cpu"  # where it computes

    @classmethod
    def of_ladder(cls, name: str, threads: int, *, quiet: bool = True) -> "Entry":
        """The rung, or the variant, that the ladder knows by this name."""
        rung, _ = find(name)
        return cls(
            usual_name(name),
            tolerance=tolerance(name),
            python=interpreter(rung),
            variables=variables(rung, threads, quiet=quiet),
            device=rung.device,
        )


@dataclass(frozen=True)
class CompareOptions:
    """What to compare, how long, and where the result goes. Without `rungs`, all but those gone."""

    rungs: tuple[str | Entry, ...] = ()
    baseline: str | None = None  # without one, the first of the rungs that runs
    threads: int = 1
    budget_s: float | None = None  # of the rounds; the workers' first start comes on top
    precision: float | None = None  # stop when every median is known to within this share of it
    rounds: int | None = None
    enough: Callable[[Result], float] | None = None  # how much of what is looked for is found
    margin: float = 0.02  # two rungs that differ by less are the same
    seed: int | None = None  # without one, a new one; it is in the result
    timeout_s: float = 120.0  # for one rung's start, or one turn
    interval_s: float | None = None  # idle time before each call
    batches: tuple[int, ...] = ()  # sizes to measure throughput for, after the single calls
    weights: str | os.PathLike[str] | None = None
    output: str | os.PathLike[str] | None = None
    restarts: int | None = None  # of rungs that are slow to start; without it, as the budget allows
    memory_bytes: int | None = None  # that the workers may use; without it, what is free
    resume: str | os.PathLike[str] | None = None  # a result to go on with; its rules hold then
    retry: bool = False  # when resuming, try the rungs that failed once more
    device: Device | None = None  # without `rungs`, only those that run there: torch@gpu
    quiet: bool = True  # frameworks are told to log little
    argv: tuple[str, ...] = field(default_factory=lambda: tuple(sys.argv))

    def entries(self) -> list[Entry]:
        """The rows, the baseline among them; LenetBenchError where a name is unknown or double."""
        chosen = list(self.rungs or names(gone=False, device=self.device))
        if self.baseline is not None and self.baseline not in [name_of(rung) for rung in chosen]:
            chosen.insert(0, self.baseline)
        found = [
            rung
            if isinstance(rung, Entry)
            else Entry.of_ladder(rung, self.threads, quiet=self.quiet)
            for rung in chosen
        ]
        for entry in found:
            if sum(other.name == entry.name for other in found) > 1:
                raise LenetBenchError(f"{entry.name} is named twice; name each rung once")
        return found

    def check(self) -> None:
        """Raise LenetBenchError for a figure that no run could follow."""
        positive = {
            "threads": self.threads,
            "budget": self.budget_s,
            "precision": self.precision,
            "rounds": self.rounds,
            "margin": self.margin,
            "timeout": self.timeout_s,
            "interval": self.interval_s,
            "batch": min(self.batches, default=None),
            "memory": self.memory_bytes,
        }
        for name, value in positive.items():
            if value is not None and not value > 0:
                raise LenetBenchError(f"expected a {name} above 0, got {value:g}")


def name_of(rung: str | Entry) -> str:
    """As it will be in the result."""
    return rung.name if isinstance(rung, Entry) else rung
