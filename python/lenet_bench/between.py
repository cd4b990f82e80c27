"""What is done before each timed call, outside its time."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Between:
    """A further condition is a field here, its option, what `Before` does, and a rule of the file.

    Those are measure/options.py, measure/calls.py and results/model.py.
    """

    interval_s: float | None = None  # from the beginning of one call to that of the next
    keep_warm_s: float | None = None  # it is called for so long before each of these
    cold_mb: int | None = None  # MB read, so that the call begins with cold caches
