"""What a comparison found, as plain data: every raw sample, the machine, the rules."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Literal

#: Raised with every change that an older reader would misread.
SCHEMA = 1

Status = Literal["ok", "wrong", "unavailable", "crashed", "timeout", "unmeasured"]
Verdict = Literal["baseline", "faster", "slower", "same", "ambiguous"]
Ended = Literal["running", "budget", "precision", "rounds", "interrupted", "nothing to time"]


@dataclass(frozen=True)
class Turn:
    """What one rung did in one round."""

    round: int  # its number, from 0
    at_s: float  # when it began, since the first round began
    wall_ns: int  # from the first timed call to the end of the last
    cpu_ns: int  # CPU time of all the worker's threads in that span
    preempted: int  # times that something else took the core
    waited: int  # times that the rung gave it away
    samples_ns: tuple[int, ...]  # each timed call
    start: int | None = None  # in which of its processes, from 1


@dataclass(frozen=True)
class ColdStart:
    """The way to the first answer, in parts that add up. Steady state is the summary's."""

    process_s: float  # start of the process, Python, NumPy, this package
    import_s: float  # the rung's API
    weights_s: float  # reading and checking the file
    build_s: float  # the rung from the weights
    first_s: float  # the first inference

    @property
    def total_s(self) -> float:
        """From nothing to the first answer."""
        return self.process_s + self.import_s + self.weights_s + self.build_s + self.first_s


@dataclass(frozen=True)
class Resources:
    """What the worker's process took."""

    threads_alive: int | None  # the most that there were at once
    threads_running: int | None  # those that used more than 1 % of a timed span
    idle_share: float  # CPU time between its turns against the time that passed there
    peak_rss_mib: float | None  # the most memory that it held, Python and NumPy included


@dataclass(frozen=True)
class CacheProbe:
    """Medians of single calls, us: a rung that remembers answers is slow on new images only."""

    repeated_us: float  # of one image again and again
    rotated_us: float  # of known images in turns
    fresh_us: float  # of images that it never saw


@dataclass(frozen=True)
class Batch:
    """Calls with so many images each, timed apart from the single-image ones."""

    size: int  # images in a call
    samples_ns: tuple[int, ...]  # each timed call
    rounds: int = 0  # that they come from

    @property
    def images_per_s(self) -> float:
        """Throughput: by the median call."""
        return self.size / median(self.samples_ns) * 1e9


@dataclass(frozen=True)
class Gpu:
    """What a rung took of its device; None where the device does not tell."""

    name: str  # as its driver tells it
    memory_mib: float | None = None  # that the process holds there
    power_w: float | None = None  # mean over its turns
    energy_mj: float | None = None  # an inference
    mhz_before: float | None = None  # the multiprocessors' clock before the turns
    mhz_after: float | None = None  # and after them
    profile_us: Mapping[str, float] | None = None  # a profiled run: copies in and out, kernels, ...


@dataclass(frozen=True)
class Summary:
    """What the samples say; None where they are too few to say it."""

    samples: int  # timed calls
    rounds: int  # that they come from
    starts: int  # times that its process was started
    minimum_us: float  # the fastest call
    mean_us: float  # of all calls
    p50_us: float | None  # the median call
    p90_us: float | None  # nine calls in ten are faster
    p95_us: float | None  # 95 in 100
    p99_us: float | None  # 99 in 100
    p999_us: float | None  # 999 in 1000
    p50_low_us: float | None  # where the median's interval begins
    p50_high_us: float | None  # and ends
    ratio: float | None  # to the baseline; above 1 is slower
    ratio_low: float | None  # where its interval begins
    ratio_high: float | None  # and ends
    verdict: Verdict | None  # what the interval says beside the margin


@dataclass(frozen=True)
class RungResult:
    """One row: what became of a rung and everything that was measured of it."""

    name: str  # of the rung, with its variant: keras:call
    status: Status  # unavailable: it cannot run here; unmeasured: its turn never came
    reason: str | None = None  # one sentence, where the status is not ok
    traceback: str | None = None  # where it raised something
    output: str = ""  # what it printed since its last start, without the middle where that is long
    python: str = ""  # the interpreter that ran it
    runs: Mapping[str, str] | None = None  # what really ran: library, version, ISA
    tolerance: float | None = None  # allowed difference from the reference
    difference: float | None = None  # the largest one seen
    cold_starts: tuple[ColdStart, ...] = ()  # one for each time that it was started
    cache_probe: CacheProbe | None = None  # whether it remembers answers
    resources: Resources | None = None  # what its process took
    lines_of_code: int | None = None  # of its exhibit, when it was measured
    installed_mib: float | None = None  # on disk: what its API's packages and theirs take
    device: Literal["cpu", "gpu"] = "cpu"  # where it computes
    gpu: Gpu | None = None  # what it took of a GPU
    batches: tuple[Batch, ...] = ()  # calls with several images, by size
    batch_refusals: Mapping[str, str] = field(default_factory=dict)  # by size, why not
    summary: Summary | None = None  # absent from the file of a run that was killed
    turns: tuple[Turn, ...] = ()  # every timed call, round by round

    @property
    def cold_start_s(self) -> float | None:
        """From nothing to the first answer: the median over its starts."""
        return median(start.total_s for start in self.cold_starts) if self.cold_starts else None


@dataclass(frozen=True)
class Rules:
    """How it was measured, so that it can be measured again."""

    seed: int  # of the order, of the unforeseen images and of the bootstrap
    baseline: str | None  # that was asked for; else it is the first rung that runs
    margin: float  # two rungs that differ by less are the same
    confidence: float  # of the intervals, nominally
    budget_s: float | None  # the rounds end after so long
    precision: float | None  # or once every median is known to within this share of it
    rounds: int | None  # or after so many
    timeout_s: float  # for one rung's start, or one turn
    warm_s: float  # of a turn, before calls are timed
    timed_s: float  # of a turn, while they are
    rounds_a_start: int  # after so many rounds the workers are started anew
    images: int  # that rotate
    threads: int  # of a rung
    worker_cores: tuple[int, ...]  # that rungs are pinned to; empty: not pinned
    parent_cores: tuple[int, ...]  # that the program which measures them is pinned to
    variables: Mapping[str, str]  # pinned in each worker's environment
    weights: str  # their file
    weights_sha256: str  # its parameters' checksum
    interval_s: float | None = None  # idle time before each call
    batches: tuple[int, ...] = ()  # sizes that throughput was measured for
    restarts: int = 0  # of the rungs that are slow to start; the others' follow from rounds_a_start
    memory_bytes: int | None = None  # the most that the workers together may use
    groups: tuple[tuple[str, ...], ...] = ()  # who ran together, where memory was too small for all


@dataclass(frozen=True)
class Disturbance:
    """What else happened on the machine during the turns; None where the system does not tell."""

    steal_share: float | None  # of the workers' cores, taken by the hypervisor
    other_share: float | None  # of them, used by other processes
    load_before: float | None  # processes that wanted to run, one minute's mean
    mhz_low: float | None  # the slowest clock that was seen
    mhz_high: float | None  # and the fastest


@dataclass(frozen=True)
class Resumption:
    """Where a run that had been interrupted was taken up again."""

    at: str  # ISO 8601, UTC
    argv: tuple[str, ...]  # the command that did so
    rounds: int  # that were over by then


@dataclass(frozen=True)
class Result:
    """A comparison, over or under way."""

    schema: int  # of this form; a change that an older reader would misread raises it
    version: str  # of lenet-bench
    argv: tuple[str, ...]  # the command that measured it
    started: str  # ISO 8601, UTC
    ended: Ended  # by which rule; running: under way, or killed
    elapsed_s: float  # all of it, the workers' start included
    machine: Mapping[str, Any]  # processor, memory, load and software, as far as it tells
    rules: Rules  # how it was measured
    order: tuple[tuple[str, ...], ...]  # who ran when, round by round
    floor: RungResult | None  # the empty rung: what the harness itself costs
    rungs: tuple[RungResult, ...]  # a row each
    disturbance: Disturbance  # what else happened
    warnings: tuple[str, ...]  # what to know before believing it
    resumed: tuple[Resumption, ...] = ()  # each time that it was interrupted and taken up again

    def rung(self, name: str) -> RungResult:
        """The row of that name."""
        return next(rung for rung in self.rungs if rung.name == name)
