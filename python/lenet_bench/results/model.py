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

    round: int
    at_s: float  # since the first round began
    wall_ns: int  # from the first timed call to the end of the last
    cpu_ns: int  # CPU time of all the worker's threads in that span
    preempted: int  # times that something else took the core
    waited: int  # times that the rung gave it away
    samples_ns: tuple[int, ...]  # each timed call


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

    threads_alive: int | None
    threads_running: int | None  # those that used more than 1 % of a timed span
    idle_share: float  # CPU time between its turns against the time that passed there
    peak_rss_mib: float | None


@dataclass(frozen=True)
class CacheProbe:
    """Medians of single calls, us: a rung that remembers answers is slow on new images only."""

    repeated_us: float
    rotated_us: float
    fresh_us: float


@dataclass(frozen=True)
class Batch:
    """Calls with so many images each, timed apart from the single-image ones."""

    size: int
    samples_ns: tuple[int, ...]  # each timed call
    rounds: int = 0  # that they come from

    @property
    def images_per_s(self) -> float:
        """Throughput: by the median call."""
        return self.size / median(self.samples_ns) * 1e9


@dataclass(frozen=True)
class Gpu:
    """What a rung took of its device; None where the device does not tell."""

    name: str
    memory_mib: float | None = None  # that the process holds there
    power_w: float | None = None  # mean over its turns
    energy_mj: float | None = None  # an inference
    mhz_before: float | None = None  # the multiprocessors' clock
    mhz_after: float | None = None
    profile_us: Mapping[str, float] | None = None  # a profiled run: copies in and out, kernels, ...


@dataclass(frozen=True)
class Summary:
    """What the samples say; None where they are too few to say it."""

    samples: int
    rounds: int
    starts: int
    minimum_us: float
    mean_us: float
    p50_us: float | None
    p90_us: float | None
    p95_us: float | None
    p99_us: float | None
    p999_us: float | None
    p50_low_us: float | None
    p50_high_us: float | None
    ratio: float | None  # to the baseline; above 1 is slower
    ratio_low: float | None
    ratio_high: float | None
    verdict: Verdict | None


@dataclass(frozen=True)
class RungResult:
    """One row: what became of a rung and everything that was measured of it."""

    name: str
    status: Status
    reason: str | None = None  # one sentence, where the status is not ok
    traceback: str | None = None
    output: str = ""  # what it printed since its last start, without the middle where that is long
    python: str = ""  # the interpreter that ran it
    runs: Mapping[str, str] | None = None  # what really ran: library, version, ISA
    tolerance: float | None = None  # allowed difference from the reference
    difference: float | None = None  # the largest one seen
    cold_starts: tuple[ColdStart, ...] = ()  # one for each time that it was started
    cache_probe: CacheProbe | None = None
    resources: Resources | None = None
    lines_of_code: int | None = None  # of its exhibit, when it was measured
    installed_mib: float | None = None  # on disk: what its API's packages and theirs take
    device: Literal["cpu", "gpu"] = "cpu"
    gpu: Gpu | None = None
    batches: tuple[Batch, ...] = ()
    batch_refusals: Mapping[str, str] = field(default_factory=dict)  # by size, why not
    summary: Summary | None = None  # absent from the file of a run that was killed
    turns: tuple[Turn, ...] = ()

    @property
    def cold_start_s(self) -> float | None:
        """From nothing to the first answer: the median over its starts."""
        return median(start.total_s for start in self.cold_starts) if self.cold_starts else None


@dataclass(frozen=True)
class Rules:
    """How it was measured, so that it can be measured again."""

    seed: int
    baseline: str | None
    margin: float  # two rungs that differ by less are the same
    confidence: float
    budget_s: float | None
    precision: float | None
    rounds: int | None
    timeout_s: float
    warm_s: float
    timed_s: float
    rounds_a_start: int  # after so many rounds the workers are started anew
    images: int
    threads: int
    worker_cores: tuple[int, ...]
    parent_cores: tuple[int, ...]
    variables: Mapping[str, str]  # pinned in each worker's environment
    weights: str
    weights_sha256: str
    interval_s: float | None = None  # idle time before each call
    batches: tuple[int, ...] = ()  # sizes that throughput was measured for


@dataclass(frozen=True)
class Disturbance:
    """What else happened on the machine during the turns; None where the system does not tell."""

    steal_share: float | None  # of the workers' cores, taken by the hypervisor
    other_share: float | None  # of them, used by other processes
    load_before: float | None  # processes that wanted to run, one minute's mean
    mhz_low: float | None
    mhz_high: float | None


@dataclass(frozen=True)
class Result:
    """A comparison, over or under way."""

    schema: int
    version: str  # of lenet-bench
    argv: tuple[str, ...]
    started: str  # ISO 8601, UTC
    ended: Ended
    elapsed_s: float  # all of it, the workers' start included
    machine: Mapping[str, Any]
    rules: Rules
    order: tuple[tuple[str, ...], ...]  # who ran when, round by round
    floor: RungResult | None  # the empty rung: what the harness itself costs
    rungs: tuple[RungResult, ...]
    disturbance: Disturbance
    warnings: tuple[str, ...]

    def rung(self, name: str) -> RungResult:
        """The row of that name."""
        return next(rung for rung in self.rungs if rung.name == name)
