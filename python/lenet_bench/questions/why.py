"""Why a backend takes what it takes: its call taken apart, in a process of its own.

`lenet-bench why` prints what comes of

    for anatomy in why(("keras", "keras:call")):
        print(anatomy.name, anatomy.call_us, sum(anatomy.python_calls.values()))
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path

from msgspec import to_builtins

from ..errors import ResultError
from ..measure.environment import read_machine
from ..measure.options import CompareOptions
from ..measure.pinning import choose_cores, cpus_near_gpu, thread_variables
from ..measure.start import Conditions, Failed, started
from ..measure.truth import Truth
from ..registry import Device
from ..results import Status
from ..results.versioned import decode, read_object, write_object
from ..weights import default_path, read_weights

KIND, SCHEMA = "call taken apart", 2
_SECONDS = 0.5  # of each of the three looks at a call
_TIMEOUT_S = 300.0


@dataclass(frozen=True)
class Call:
    """A Python function, and its share of the time with all that it calls."""

    call: str  # package.module:function
    share: float
    calls: tuple["Call", ...] = ()  # those that take more than a sliver


@dataclass(frozen=True)
class Anatomy:
    """What one call is made of, or the reason why it is not known."""

    name: str
    status: Status = "ok"
    reason: str | None = None
    call_us: float = 0.0  # the median call, one image
    image_us: float | None = None  # what one more image in the call adds
    fixed_us: float | None = None  # what the call costs beside its image
    unknown: str | None = None  # why these two are not known, where they are not
    busy: float = 0.0  # CPU time of all threads against the time that passed
    waits: float = 0.0  # thread switches a call, by its own threads' waiting
    interrupted_per_s: float = 0.0  # times that something else took the core
    page_faults: float = 0.0  # a call: memory taken anew from the system
    python_calls: Mapping[str, int] = field(default_factory=dict)  # by package
    builtin_calls: int = 0  # of functions that are not Python, from Python
    depth: int = 0  # Python frames, one on the other
    tower: tuple[str, ...] = ()  # the packages on the deepest way down
    shares: Mapping[str, float] = field(default_factory=dict)  # of the time, by innermost package
    tree: tuple[Call, ...] = ()
    output: str = ""  # what it printed


def why(
    asked: Sequence[str] = (),
    *,
    threads: int = 1,
    weights: str | os.PathLike[str] | None = None,
    seconds: float = _SECONDS,
    device: Device | None = None,
    quiet: bool = True,
) -> Iterator[Anatomy]:
    """Take a call of each backend apart, one after the other; of all where none is named.

    Each is built in a process of its own on one core, as `compare` does, and must give the
    reference's answers first. `device` and `quiet` are CompareOptions'.
    """
    options = CompareOptions(backends=tuple(asked), threads=threads, device=device, quiet=quiet)
    entries = options.entries()
    conditions = Conditions(
        cores=choose_cores(threads, cpus_near_gpu(entry.device for entry in entries)),
        variables=thread_variables(threads),
        threads=threads,
        weights=str(weights or default_path()),
        timeout_s=_TIMEOUT_S,
        truth=Truth(read_weights(weights), seed=0),
    )
    for entry in entries:
        try:
            with started(entry, conditions) as start:
                found = start.ask("dissect", seconds=seconds)
                yield decode(Anatomy, {"name": entry.name, "output": start.output(), **found})
        except Failed as failure:
            yield Anatomy(entry.name, failure.status, failure.reason)


def write(path: Path, anatomies: Sequence[Anatomy], threads: int) -> None:
    """Keep them in a file, with the machine."""
    content = {
        "kind": KIND,
        "schema": SCHEMA,
        "version": version("lenet-bench"),
        "written": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "threads": threads,
        "machine": to_builtins(read_machine()),
        "backends": [asdict(anatomy) for anatomy in anatomies],
    }
    write_object(path, content)


def read(path: Path) -> list[Anatomy]:
    """What `write` kept; ResultError says what is wrong with it."""
    content = read_object(path, KIND, SCHEMA)
    try:
        return [decode(Anatomy, one) for one in content["backends"]]
    except (ValueError, KeyError, TypeError) as error:
        raise ResultError(f"{path}: not what `lenet-bench why -o` writes: {error}") from None
