"""Why a rung takes what it takes: its call taken apart, in a process of its own.

`lenet-bench why` prints what comes of

    for anatomy in why(("keras", "keras:call")):
        print(anatomy.name, anatomy.fixed_us, sum(anatomy.python_calls.values()))
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .backends import Device
from .errors import ResultError
from .measure.environment import read_environment
from .measure.options import CompareOptions
from .measure.pinning import choose_cores, thread_variables
from .measure.row import Conditions, Row
from .measure.truth import Truth
from .results import Status
from .results.typed_json import decode
from .results.versioned import read_object, write_object
from .weights import default_path, read_weights

KIND, SCHEMA = "call taken apart", 1
_SECONDS = 0.5  # of each of the three looks at a call
_TIMEOUT_S = 300.0


@dataclass(frozen=True)
class Call:
    """A Python function, and its share of the time with all that it calls."""

    call: str  # package.module:function
    share: float
    calls: tuple["Call", ...] = ()  # those that take a share worth telling


@dataclass(frozen=True)
class Anatomy:
    """What one call is made of, or the reason why nobody knows."""

    name: str
    status: Status = "ok"
    reason: str | None = None
    call_us: float = 0.0  # the median call, one image
    image_us: float | None = None  # what one more image in the call adds
    busy: float = 0.0  # CPU time of all threads against the time that passed
    waits: float = 0.0  # times a call that a thread gave its core away
    page_faults: float = 0.0  # a call: memory that was given back and is taken anew
    python_calls: Mapping[str, int] = field(default_factory=dict)  # by package
    builtin_calls: int = 0  # of functions that are not Python, from Python
    depth: int = 0  # Python frames, one on the other
    tower: tuple[str, ...] = ()  # the packages on the deepest way down
    shares: Mapping[str, float] = field(default_factory=dict)  # of the time, by innermost package
    tree: tuple[Call, ...] = ()
    output: str = ""  # what it printed

    @property
    def fixed_us(self) -> float | None:
        """What a call costs whatever is in it: all but what one more image adds."""
        return None if self.image_us is None else max(0.0, self.call_us - self.image_us)

    def to_json(self) -> dict[str, Any]:
        """Plain data, with the fixed part."""
        return {**asdict(self), "fixed_us": self.fixed_us}


def why(
    rungs: Sequence[str] = (),
    *,
    threads: int = 1,
    weights: str | os.PathLike[str] | None = None,
    seconds: float = _SECONDS,
    device: Device | None = None,
    quiet: bool = True,
) -> Iterator[Anatomy]:
    """Take a call of each rung apart, one rung after the other; all that are not gone without one.

    Each is built in a process of its own on one core, as `compare` does, and must give the
    reference's answers first. `device` and `quiet` are CompareOptions'.
    """
    options = CompareOptions(rungs=tuple(rungs), threads=threads, device=device, quiet=quiet)
    conditions = Conditions(
        cores=choose_cores(threads),
        variables=thread_variables(threads),
        threads=threads,
        weights=str(weights or default_path()),
        timeout_s=_TIMEOUT_S,
        interval_s=None,
        truth=Truth(read_weights(weights), seed=0),
    )
    for entry in options.entries():
        row = Row(entry, conditions)
        try:
            row.start()
            found = row.dissect(seconds)
            result = row.result()
        finally:
            row.close()
        if found is None:
            yield Anatomy(entry.name, result.status, result.reason, output=result.output)
        else:
            yield decode(Anatomy, {"name": entry.name, "output": result.output, **found})


def write(path: Path, anatomies: Sequence[Anatomy], threads: int) -> None:
    """Keep them in a file, with the machine."""
    content = {
        "kind": KIND,
        "schema": SCHEMA,
        "version": version("lenet-bench"),
        "written": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "threads": threads,
        "machine": read_environment().to_json(),
        "rungs": [anatomy.to_json() for anatomy in anatomies],
    }
    write_object(path, content)


def read(path: Path) -> list[Anatomy]:
    """What `write` kept; ResultError says what is wrong with it."""
    content = read_object(path, KIND, SCHEMA)
    try:
        return [decode(Anatomy, rung) for rung in content["rungs"]]
    except (ValueError, KeyError, TypeError) as error:
        raise ResultError(f"{path}: not what `lenet-bench why -o` writes: {error}") from None
