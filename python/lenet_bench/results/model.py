"""A result file's content, a header and then a line for each block, and what is computed from it.

A block is one process of one backend: started, checked, warmed up, timed, checked, ended. Figures,
verdicts and warnings are never in the file: they are computed from its blocks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from statistics import median
from typing import Annotated, Literal

import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType
from numpy.typing import NDArray

from ..errors import LenetBenchError
from ..experiment_names import Kind
from ..network import LENET
from ..texts import listed
from .machine import (
    Count,
    Few,
    Figures,
    Machine,
    Name,
    Number,
    Numbers,
    Part,
    Share,
    Some,
    Text,
    Words,
)

#: Raised with every change that an older reader would misread.
SCHEMA = 3
#: The kind of a file that `share` wrote: its calls are thinned.
SHARED = "shared comparison"

Status = Literal["ok", "wrong", "unavailable", "unsupported", "crashed", "timeout", "unmeasured"]
Verdict = Literal["baseline", "faster", "slower", "same", "ambiguous"]
Ended = Literal["running", "budget", "rounds", "decided", "interrupted", "nothing to time"]
Seed = Annotated[int, Meta(ge=0, le=2**62)]
Again = Annotated[tuple[Name, ...], Few]
Samples = tuple[Count, ...]
_Slice = Annotated[tuple[Count, ...], Meta(min_length=2, max_length=3)]
Slices = Annotated[tuple[_Slice, ...], Meta(max_length=10_000)]
# Times in order, each with the calls that it stands for.
Thinned = Annotated[tuple[tuple[Count, Some], ...], Meta(max_length=10_000)]


class Other(Struct, frozen=True, omit_defaults=True):
    """Another network than LeNet, or a model file with the start of its checksum."""

    network: Name
    float32: Number | None = None  # float32's own error: relative L2 distance from float64
    arbiter: Name | None = (
        None  # of a model of the user's own: who gave the answers to compare with
    )
    inputs: Words = {}  # likewise: the type and the shape of each, by name
    format: Name | None = None  # likewise, as models/programs.txt has it
    parameters: Count | None = None  # likewise, where the framework that read it counts them
    signature: Name | None = None  # of a SavedModel: the one that is called
    below: Name | None = None  # of a Keras file: what Keras ran on when it was converted


class Rules(Struct, frozen=True, kw_only=True):
    """The settings of the measurement."""

    seed: Seed  # of the order, of the unforeseen images and of the bootstrap
    baseline: Name | None  # the requested one; else onednn, or the fastest that ran
    margin: Share  # two backends that differ by less are the same
    confidence: Share  # of the intervals, nominally
    budget_s: Number | None  # the run ends after this time
    rounds: Count | None  # or after so many rounds
    timeout_s: Number  # for one answer of a backend's process
    images: Count  # that rotate
    threads: (
        Count  # of a backend, the most where rows differ; 0: as many as its API takes by itself
    )
    worker_cores: Numbers  # that backends are pinned to; empty: not pinned
    parent_cores: Numbers  # that the measuring program is pinned to
    variables: Words  # pinned in each process's environment
    weights: Name  # their file's name
    weights_sha256: Name  # its parameters' checksum
    interval_s: Number | None = None  # from the beginning of one call to that of the next
    deadline_s: Number | UnsetType = UNSET  # of these calls, where it is not the interval
    keep_warm_s: Number | None = None  # before each of these it is called for so long
    beside: Count = 0  # other processes, each of which keeps a core busy
    cold_mb: Count | None = None  # MB read before each call, so that it begins with cold caches
    batches: Annotated[tuple[Some, ...], Few] = ()  # sizes that throughput is measured for
    quota: Number | None = None  # cores' worth of CPU time that the process had
    callers: Annotated[tuple[Some, ...], Few] = ()  # numbers of callers at once
    callers_in: Literal["threads", "processes"] = "threads"  # where these are
    apart: bool = False  # whether each call is also taken apart: `why`
    other: Other | UnsetType = UNSET  # what is in LeNet's place

    def threads_of(self, row: "Listed | BackendResult") -> int:
        """The threads that it may use; 0: as many as its API takes by itself."""
        return self.threads if row.threads is None else row.threads

    @property
    def placed(self) -> Other:
        """What was in LeNet's place, or LeNet."""
        return self.other or Other(LENET)

    @property
    def network(self) -> str:
        """The network that was measured."""
        return self.placed.network

    @property
    def paced_within_s(self) -> float | None:
        """The time that no call at an interval should exceed."""
        return (self.deadline_s or self.interval_s) if self.interval_s else None


class Listed(Struct, frozen=True, omit_defaults=True):
    """A backend that is compared."""

    name: Name  # with its variant: keras:call
    device: Literal["cpu", "gpu"] = "cpu"  # where it computes
    tolerance: Number | None = None  # allowed difference from the reference; none: not checked
    threads: Count | None = None  # its own, where numbers of threads are compared


class Header(Struct, frozen=True, kw_only=True):
    """The first line of a result file."""

    kind: Literal["comparison", "shared comparison"] = "comparison"  # shared: its calls are thinned
    schema: int = SCHEMA  # of this format; raised by changes that old readers would misread
    version: Name  # of lenet-bench
    argv: Annotated[tuple[Text, ...], Few]  # the command that began it
    started: Name  # ISO 8601, UTC
    machine: Machine  # processor, memory, load and software, as far as it tells
    rules: Rules  # how it was measured
    backends: Annotated[tuple[Listed, ...], Few]  # in the order of the table of backends
    floor: Name  # the empty backend, which gives the time of the harness itself
    again: Again | UnsetType = UNSET  # the baseline, started again within each round


class ColdStart(Struct, frozen=True):
    """The way to the first answer, in parts that add up."""

    process_s: Number  # start of the process, Python, NumPy, this package
    import_s: Number  # the backend's API
    weights_s: Number  # reading and checking the file
    build_s: Number  # the network from the weights
    first_s: Number  # the first inference

    @property
    def total_s(self) -> float:
        """From nothing to the first answer."""
        return self.process_s + self.import_s + self.weights_s + self.build_s + self.first_s


class CacheProbe(Struct, frozen=True):
    """Single calls, µs: a backend that remembers answers is slow on every new image."""

    repeated_us: Number  # the median of one image again and again
    rotated_us: Number  # the median of known images in turns
    fresh_us: Number  # the fastest of images that it never saw


class Batch(Struct, frozen=True, omit_defaults=True):
    """Calls with so many images each, timed separately from single-image calls."""

    size: Some  # images in a call
    samples_ns: Samples = ()  # each timed call
    slices: Slices = ()  # a number of calls, and the slower of each known loop beside them, ns
    thinned_ns: Thinned = ()  # in a shared file instead: a time, and the number of calls

    @property
    def calls_ns(self) -> NDArray[np.int64]:
        """Each timed call."""
        return _calls_ns(self.samples_ns, self.thinned_ns)

    @property
    def images_per_s(self) -> float:
        """Throughput: by the median call."""
        return self.size / median(self.samples_ns) * 1e9


#: Whether callers share one network, have one each, or a process each.
Way = Literal["one", "each", "process"]


class Callers(Struct, frozen=True, omit_defaults=True):
    """Calls of so many callers at once."""

    number: Some  # that call
    way: Way  # one network for all, or one each, or a process each
    calls_per_s: Number  # of all callers
    rss_mib: Number | None = None  # of the process, or of all together
    samples_ns: Samples = ()  # each timed call, of all callers
    thinned_ns: Thinned = ()  # in a shared file instead: a time, and the number of calls

    @property
    def calls_ns(self) -> NDArray[np.int64]:
        """Each timed call."""
        return _calls_ns(self.samples_ns, self.thinned_ns)


class Gil(Struct, frozen=True):
    """What another thread found that asked for the GIL at random moments of calls."""

    asked: Some  # how often
    held: Count  # of these, how often it had to wait


class Throttled(Struct, frozen=True):
    """What a CPU quota did while calls were timed."""

    periods: Count  # of 100 ms in which the process ran
    throttled: Count  # of these, in which it used up its share and was stopped
    stopped_s: Number  # of its threads together

    def since(self, before: "Throttled") -> "Throttled":
        return Throttled(
            self.periods - before.periods,
            self.throttled - before.throttled,
            self.stopped_s - before.stopped_s,
        )


class Gpu(Struct, frozen=True, omit_defaults=True):
    """A backend's use of its GPU; null for unknown figures."""

    name: Name  # from its driver
    memory_mib: Number | None = None  # that the process holds there
    power_w: Number | None = None  # mean while it was timed; of a short block, as NVML says then
    energy_mj: Number | None = None  # a call; none of a short block, or with pauses
    mhz_before: Number | None = None  # the multiprocessors' clock before the timed calls
    mhz_after: Number | None = None  # and after them
    profile_us: Figures | None = None  # a profiled run: copies in and out, kernels, ...


class Experiment(Struct, frozen=True, omit_defaults=True):
    """Another network, or another way to call it, timed in turns with the others of its block."""

    kind: Kind  # what is varied: docs/why.md
    name: Name  # by kind: of a way, its part; of operations, their number; of a cut, its last stage
    us: Number  # the median call
    calls: Count  # that were timed
    operations: Count = 0  # of its network
    evidence: Text = ""  # what was measured for it; of another network, its layers


class Function(Struct, frozen=True, omit_defaults=True):
    """A Python function, and its share of the time with all that it calls."""

    call: Name  # package.module:function
    share: Number
    calls: "tuple[Function, ...]" = ()  # those with at least 2 % of the time


class Anatomy(Struct, frozen=True, omit_defaults=True):
    """What one call does in Python: counts, and the sampled tree of calls."""

    python_calls: Annotated[Mapping[Name, Count], Few]  # functions that it runs, by package
    tree: tuple[Function, ...] = ()  # the tree of calls


class Block(
    Struct, frozen=True, kw_only=True, omit_defaults=True, rename={"no_experiments_reason": "whole"}
):
    """What one process of a backend did, from its start to its end. A line of the file."""

    backend: Name  # its name
    round: Count  # from 0
    at_s: Number  # when it began, since the run began
    took_s: Number = 0.0  # all of it
    status: Status = "ok"  # unavailable: it cannot run here
    reason: Text | None = None  # one sentence, where the status is not ok
    traceback: Text | None = None  # where it raised something
    output: Text = ""  # what it printed, without the middle where that is long
    runs: Words | None = None  # what ran: library, version, instruction set
    difference: Number | None = None  # the largest from the reference's probabilities
    cold_start: ColdStart | None = None  # the way to the first answer
    cache_probe: CacheProbe | None = None  # whether it remembers answers; in its first block
    samples_ns: Samples = ()  # each timed call
    slices: Slices = ()  # a number of calls, and the slower of each known loop beside them, ns
    quiet_share: Part | None = None  # in a shared file: the share of `made` that counts
    thinned_ns: Thinned = ()  # in a shared file instead: a time, and the number of calls
    quarters_ns: tuple[Number, Number] | None = None  # shared: first and last quarter's medians
    wall_ns: Count = 0  # from the first timed call to the end of the last
    made: Count = 0  # calls in that span, including those that were not kept
    cpu_ns: Count = 0  # CPU time of all the process's threads in that span
    preempted: Count = 0  # involuntary thread switches in that span
    waited: Count = 0  # voluntary thread switches in that span
    idle_share: Number | None = None  # CPU time between calls, as a share
    threads_alive: Count | None = None  # threads at the end
    threads_running: Count | None = None  # those that used more than 1 % of the timed span
    cores: Numbers = ()  # that its threads may use at the end
    peak_rss_mib: Number | None = None  # its peak memory, Python and NumPy included
    left: Annotated[tuple[Name, ...], Few] = ()  # names of daemons that it started, ended with it
    steal_share: Number | None = None  # of its cores' time, taken by a hypervisor
    other_share: Number | None = None  # of its cores' time, used by other processes
    mhz: Number | None = None  # the cores' clock at the end
    gpu: Gpu | None = None  # what it took of a GPU
    throttled: Throttled | None = None  # what the quota did
    gil: Gil | None = None  # how often it was held during calls
    batches: Annotated[tuple[Batch, ...], Few] = ()  # calls with several images, by size
    batch_refusals: Words = {}  # by size, the reason
    callers: Annotated[tuple[Callers, ...], Few] = ()  # calls of several callers at once
    callers_refused: Words = {}  # by number and way, the reason
    lines_of_code: Count | None = None  # of its implementation; in its first block
    installed_mib: Number | None = None  # on disk, the packages that a call needs; likewise
    converter_mib: Number | None = None  # further ones, which only write its model; likewise
    conversion_s: Number | None = None  # of a model of the user's own, for it; likewise
    file_mib: Number | None = None  # of that conversion; likewise
    experiments: Annotated[tuple[Experiment, ...], Few] = ()  # of `why`
    no_experiments_reason: Text | None = None  # why it has no experiments in a run of `why`
    anatomy: Anatomy | None = None  # of a call; in its first block

    @property
    def timed(self) -> tuple["Block | Batch", ...]:
        """What has calls: itself with those of one image, and its batches."""
        return (self, *self.batches)

    @property
    def calls(self) -> int:
        """The number of calls that count."""
        return len(self.samples_ns) or sum(count for _, count in self.thinned_ns)

    @property
    def calls_ns(self) -> NDArray[np.int64]:
        """Each timed call; of a thinned file, the times in their place, unordered."""
        return _calls_ns(self.samples_ns, self.thinned_ns)

    @property
    def median_us(self) -> float:
        """The median of its calls."""
        return float(np.median(self.calls_ns)) / 1000

    @property
    def first_and_last_ns(self) -> tuple[float, float] | None:
        """The medians of its first and of its last quarter."""
        if quarter := len(self.samples_ns) // 4:
            first, last = self.samples_ns[:quarter], self.samples_ns[-quarter:]
            return float(np.median(first)), float(np.median(last))
        return self.quarters_ns


def _calls_ns(samples_ns: Sequence[int], thinned_ns: Thinned) -> NDArray[np.int64]:
    if not thinned_ns:
        return np.array(samples_ns, np.int64)
    times, counts = np.array(thinned_ns, np.int64).T
    return np.repeat(times, counts)


class End(Struct, frozen=True):
    """The last line of a run that was not killed; a continued run has one for each end."""

    ended: Ended  # by which rule
    elapsed_s: Number  # all of it


@dataclass(frozen=True)
class Together:
    """What several callers at once get, from all blocks."""

    number: int  # of callers
    way: Way
    calls_per_s: float  # of all callers: the median start's
    p50_us: float | None  # of a call
    p99_us: float | None
    gain: float | None  # in calls a second, over one caller
    gain_low: float | None
    gain_high: float | None
    rss_mib: float | None  # of the process


@dataclass(frozen=True)
class Summary:
    """Figures from the samples; None where there are too few."""

    samples: int  # timed calls
    rounds: int  # that they come from
    starts: int  # processes that they come from
    minimum_us: float  # the fastest call
    mean_us: float  # of all calls
    p50_us: float | None  # the median start's median call
    p90_us: float | None  # nine calls in ten are faster
    p95_us: float | None
    p99_us: float | None
    p999_us: float | None
    p50_low_us: float | None  # where the median's interval begins
    p50_high_us: float | None  # and ends
    ratio: float | None  # to the baseline, of starts in pairs; above 1 is slower
    ratio_low: float | None
    ratio_high: float | None
    verdict: Verdict | None  # what the ratio's intervals say beside the margin
    p99_low_us: float | None = None  # of calls at an interval: where that of p99 begins
    p99_high_us: float | None = None  # and ends
    over_deadline: float | None = None  # likewise: the share that takes longer than it
    over_1ms: float | None = None  # or than these
    over_5ms: float | None = None
    over_20ms: float | None = None


@dataclass(frozen=True)
class Disturbance:
    """Other activity on the machine; None where unknown."""

    steal_share: float | None  # of the timed time
    other_share: float | None
    load_before: float | None  # processes that wanted to run, one minute's mean
    mhz_low: float | None  # the slowest clock that was seen
    mhz_high: float | None
    quiet_share: float | None  # of the timed time, as a known loop between the calls tells
    disturbed: int  # blocks without quiet time enough
    repeated: int  # of these, those that were measured once more
    blocks: int  # that were timed


@dataclass(frozen=True)
class BackendResult:
    """A backend and everything computed from its blocks."""

    name: str
    status: Status
    device: Literal["cpu", "gpu"] = "cpu"
    tolerance: float | None = None
    threads: int | None = None  # its own, where numbers of threads are compared
    reason: str | None = None
    traceback: str | None = None
    output: str = ""
    runs: Mapping[str, str] | None = None
    difference: float | None = None
    cold_starts: tuple[ColdStart, ...] = ()
    threads_running: int | None = None
    throttled_share: float | None = None  # of the quota's periods, those in which it was stopped
    gil_share: float | None = None  # of a call: while it holds the GIL
    idle_share: float | None = None
    peak_rss_mib: float | None = None
    gpu: Gpu | None = None
    lines_of_code: int | None = None
    installed_mib: float | None = None
    converter_mib: float | None = None
    conversion_s: float | None = None
    file_mib: float | None = None
    batches: tuple[Batch, ...] = ()
    batch_refusals: Mapping[str, str] = field(default_factory=dict)
    together: tuple[Together, ...] = ()
    callers_refused: Mapping[str, str] = field(default_factory=dict)
    anatomy: Anatomy | None = None
    starts: tuple[Block, ...] = ()  # a timed block of each round, also a disturbed one
    blocks: tuple[Block, ...] = ()  # of these, those that its own figures count
    beside_us: Mapping[int, float] = field(default_factory=dict)  # the baseline, near each start
    failures: int = 0  # blocks that failed before the last one
    summary: Summary | None = None

    @property
    def p50_us(self) -> float | None:
        """The median, as its summary has it."""
        return self.summary.p50_us if self.summary else None

    @property
    def cold_start_s(self) -> float | None:
        """The median start's way to its first answer."""
        return self.median_s("total_s")

    def median_s(self, part: str) -> float | None:
        """The same for a part of it."""
        starts = [getattr(start, part) for start in self.cold_starts]
        return median(starts) if starts else None


@dataclass(frozen=True)
class Result:
    """A comparison, over or under way."""

    schema: int
    version: str
    started: str
    ended: Ended  # running: under way, or killed
    elapsed_s: float
    machine: Machine
    rules: Rules
    rounds: int  # that were begun
    floor: BackendResult  # the empty backend
    backends: tuple[BackendResult, ...]
    disturbance: Disturbance
    warnings: tuple[str, ...] = ()  # what to know before believing it

    @property
    def baseline(self) -> str | None:
        """The backend that ratios are to."""
        rows = (row for row in self.backends if row.summary and row.summary.verdict == "baseline")
        return next((row.name for row in rows), None)

    @property
    def strictest(self) -> float:
        """The difference that is allowed to most backends: the least of all."""
        return min((row.tolerance for row in self.backends if row.tolerance), default=inf)

    def backend(self, name: str) -> BackendResult:
        for row in self.backends:
            if row.name == name:
                return row
        known = listed([row.name for row in self.backends])
        raise LenetBenchError(f"the result has no backend {name!r}; it has {known}")


def check_results(*given: object) -> None:
    """Raise TypeError for what is no result."""
    for one in given:
        if not isinstance(one, Result):
            kind = type(one).__name__
            raise TypeError(f"expected a result, as compare or read_result returns it, got {kind}")
