"""What the parent and the process of a backend say to each other, each stated here once.

A message goes as the name of its class and its fields, which are plain data and arrays.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..undisturbed import Loops, Slice

Said = TypeVar("Said")
Message = tuple[str, dict[str, Any]]
Samples = NDArray[np.int64]  # ns, one a call
How = Literal["wrong", "unavailable", "unsupported", "crashed"]


class Question(Generic[Said]):
    """What the parent asks; the answer is a `Said`, or a Failure."""


@dataclass(frozen=True)
class Failure:
    """The backend failed, and its process ends."""

    status: How
    reason: str
    traceback: str | None = None


@dataclass(frozen=True)
class Nothing:
    """It is done."""


@dataclass(frozen=True)
class Answers:
    answers: Any


@dataclass(frozen=True)
class Started:
    """A backend was built: what each step took, and how it describes itself."""

    process_s: float
    import_s: float
    weights_s: float
    build_s: float
    first_s: float
    runs: Any


@dataclass(frozen=True)
class Build(Question[Started]):
    """Build the backend, and answer the first input."""

    name: str
    threads: int
    subject: Any  # as `sent` gives it
    path: Sequence[str]  # in front of the import path
    first: Any
    started_ns: int


@dataclass(frozen=True)
class Keep(Question[Answers]):
    """Receive the rotating inputs, and answer each."""

    inputs: Any


@dataclass(frozen=True)
class Check(Question[Answers]):
    """Answer each of these inputs."""

    inputs: Any


@dataclass(frozen=True)
class Probed:
    made: int  # so many of the new inputs are answered
    answers: Any
    repeated_us: float
    rotated_us: float
    fresh_us: float


@dataclass(frozen=True)
class Probe(Question[Probed]):
    """Time an input repeated, inputs that rotate and these new inputs, in turns."""

    inputs: Any
    seconds: float


@dataclass(frozen=True)
class Warm(Question[Nothing]):
    """Make calls with the rotating inputs, then begin to count resources."""

    between: Mapping[str, Any]  # the fields of `Between`
    seconds: float
    most: int | None


@dataclass(frozen=True)
class Timed:
    """Timed calls, what the process used in that time, and the answers to check."""

    samples_ns: Samples
    slices: Sequence[Slice]
    made: int  # all calls, kept or not
    answers: Any
    answered: Sequence[int]  # the number of each answer's input
    began_ns: int
    wall_ns: int
    cpu_ns: int
    preempted: int
    waited: int
    now_ns: int


@dataclass(frozen=True)
class Time(Question[Timed]):
    """Time single calls with these inputs in turns, as `time_calls` says."""

    inputs: Any
    seconds: float
    fewest: int = 1
    most: int | None = None
    patience: int = 1
    has_gaps: bool = False  # whether what is between calls is done
    undisturbed_ns: Loops = ()


@dataclass(frozen=True)
class Resources:
    threads_alive: int | None
    threads_running: int | None
    idle_share: float
    cores: tuple[int, ...]
    peak_rss_mib: float | None


@dataclass(frozen=True)
class AskResources(Question[Resources]):
    """What the process used since its warm-up."""

    timed_ns: int  # its timed calls since then


@dataclass(frozen=True)
class BatchTimed:
    """Calls with several inputs each; or why there are none."""

    refused: str | None = None
    samples_ns: Samples = field(default_factory=lambda: np.empty(0, np.int64))
    slices: Sequence[Slice] = ()
    answers: Any = ()
    answered: Sequence[int] = ()


@dataclass(frozen=True)
class TimeBatch(Question[BatchTimed]):
    """Warm up, then time calls with so many inputs each."""

    size: int
    warm_s: float
    timed_s: float


@dataclass(frozen=True)
class CallersTimed:
    """Calls of several callers at once; or why there are none."""

    refused: str | None = None
    samples_ns: Samples = field(default_factory=lambda: np.empty(0, np.int64))  # of all
    began_ns: int = 0  # the first one
    ended: Sequence[tuple[int, int]] = ()  # of each: its calls, and the end of the last, ns
    rss_mib: float | None = None  # of the process, with all that they call
    answers: Any = ()
    answered: Sequence[int] = ()


@dataclass(frozen=True)
class TimeCallers(Question[CallersTimed]):
    """Let so many threads call at once: one network, or one each."""

    number: int
    is_shared: bool
    warm_s: float
    timed_s: float
    begin_ns: int  # not before


@dataclass(frozen=True)
class GilAsked:
    asked: int
    held: int


@dataclass(frozen=True)
class AskForGil(Question[GilAsked]):
    """Ask for the GIL during calls, from these cores, or any."""

    seconds: float
    cores: Sequence[int]


@dataclass(frozen=True)
class FewTimed:
    answer: Any
    samples_ns: Samples


@dataclass(frozen=True)
class TimeFew(Question[FewTimed]):
    """Answer the first of these inputs, and time a few calls with all in turn."""

    inputs: Any
    seconds: float
    fewest: int
    most: int


@dataclass(frozen=True)
class Profiled:
    """Where the time of a call on a GPU goes, in µs, as far as the backend says."""

    profile_us: Any


@dataclass(frozen=True)
class Profile(Question[Profiled]):
    """Describe the backend anew, and profile a call."""


@dataclass(frozen=True)
class Dissected:
    anatomy: Any


@dataclass(frozen=True)
class Dissect(Question[Dissected]):
    """Look at one call: what it runs and what it allocates."""


@dataclass(frozen=True)
class Turns:
    """Turns of the experiments of `why`."""

    done: int
    enough: int  # on a quiet machine
    most: int


@dataclass(frozen=True)
class BuildExperiments(Question[Turns]):
    """Build the networks of `why`, which are timed a turn at a time."""


@dataclass(frozen=True)
class TurnOfExperiments(Question[Turns]):
    seconds: float


@dataclass(frozen=True)
class Experiments:
    experiments: Any


@dataclass(frozen=True)
class AskExperiments(Question[Experiments]):
    """What they took; the call on these cores too, if any are given."""

    cores: Sequence[int]


def packed(message: Any) -> Message:
    """As it is sent."""
    return type(message).__name__, dict(vars(message))


def question_of(message: Message) -> Any:
    """What the parent asked."""
    name, fields = message
    return globals()[name](**fields)


def answer_type(question: Question[Said]) -> type[Said]:
    """What it is answered by."""
    (base,) = type(question).__orig_bases__  # type: ignore[attr-defined]
    said: type[Said] = base.__args__[0]
    return said
