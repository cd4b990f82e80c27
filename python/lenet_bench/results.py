"""The result of a comparison: every raw sample, the machine, the rules; and its file.

A result file is one JSON object with a `schema` number. It is replaced whole after each round, so
at any moment it is a complete file that holds every sample of the rounds that are over. Older
schemas stay readable.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from pathlib import Path
from statistics import median
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from .errors import ResultError

#: Raised with every change that an older reader would misread.
SCHEMA = 1

Status = Literal["ok", "wrong", "unavailable", "crashed", "timeout", "unmeasured"]
Verdict = Literal["baseline", "faster", "slower", "same", "ambiguous"]
Ended = Literal["running", "budget", "precision", "rounds", "interrupted", "nothing to time"]

_JSON = dict[str, Any]
_T = TypeVar("_T")


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


def rows(result: Result) -> list[_JSON]:
    """The rungs as flat rows, `--json`'s: figures for those that are ok, None for the others."""
    return [_row(rung) for rung in result.rungs]


def digest(result: Result) -> _JSON:
    """What `--json` prints: the rows and what they must be read with, without the samples."""
    baseline = [r.name for r in result.rungs if r.summary and r.summary.verdict == "baseline"]
    floor = result.floor.summary if result.floor else None
    return {
        "schema": result.schema,
        "started": result.started,
        "ended": result.ended,
        "elapsed_s": result.elapsed_s,
        "rounds": len(result.order),
        "seed": result.rules.seed,
        "threads": result.rules.threads,
        "margin": result.rules.margin,
        "baseline": baseline[0] if baseline else None,
        "harness_us": floor.p50_us if floor else None,
        "rungs": rows(result),
        "warnings": list(result.warnings),
    }


def failures(result: Result, named: Sequence[str] = ()) -> list[str]:
    """The rungs that failed; one that cannot run here counts where it was asked for by name."""
    return [
        rung.name
        for rung in result.rungs
        if rung.status != "ok" and (rung.status != "unavailable" or rung.name in named)
    ]


def _row(rung: RungResult) -> _JSON:
    ok = rung.status == "ok"
    summary = rung.summary if ok else None
    figures = [field.name for field in fields(Summary)]
    return {
        "name": rung.name,
        "status": rung.status,
        "reason": rung.reason,
        **{name: getattr(summary, name) if summary else None for name in figures},
        "cold_start_s": rung.cold_start_s if ok else None,
        "peak_rss_mib": rung.resources.peak_rss_mib if ok and rung.resources else None,
        "lines_of_code": rung.lines_of_code,
    }


def read_result(path: str | os.PathLike[str]) -> Result:
    """Read and check a result file; ResultError says what is wrong with it."""
    path = Path(path)
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise ResultError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):  # JSON's and UTF-8's errors, and brackets without end
        raise ResultError(f"{path}: not a result file: it is not JSON") from None
    schema = content.get("schema") if isinstance(content, dict) else None
    if type(schema) is not int:
        raise ResultError(f"{path}: not a result file: it has no schema number")
    if schema > SCHEMA:
        raise ResultError(
            f"{path}: written by a newer lenet-bench (schema {schema}, this one reads up to "
            f"{SCHEMA}); upgrade with: pip install --upgrade lenet-bench"
        )
    try:
        return _from_json(content)
    except ValueError as error:
        raise ResultError(f"{path}: damaged result file: {error}") from None


class ResultFile:
    """A result's file while it grows: checked first, then replaced whole as often as one likes."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not self._is_stream():
            self.path = self.path.resolve()  # replace what a link means, not the link
        self._turns: dict[tuple[str, int], str] = {}  # those already turned into text

    def check(self) -> None:
        """Raise ResultError where it could not be written; leave what is there as it is."""
        try:
            if self._is_stream():
                return
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.is_dir():
                raise ResultError(f"{self.path}: expected a file to write, found a directory")
            self._temporary.touch()
            self._temporary.unlink()
        except OSError as error:
            raise ResultError(f"{self.path}: cannot be written: {error.strerror}") from None

    def write(self, result: Result, *, last: bool = True) -> None:
        """Replace the file. A stream (/dev/stdout) cannot be, so it gets the `last` one only."""
        content = self._content(result).encode()
        try:
            if self._is_stream():
                if last:
                    self.path.write_bytes(content)
                return
            try:
                with self._temporary.open("wb") as file:
                    file.write(content)
                    if last:  # in between it would disturb the turns, and guards only power cuts
                        file.flush()
                        os.fsync(file.fileno())
                self._temporary.replace(self.path)
            finally:
                self._temporary.unlink(missing_ok=True)
        except OSError as error:
            raise ResultError(f"{self.path}: cannot be written: {error.strerror}") from None

    @property
    def _temporary(self) -> Path:
        return self.path.with_name(f".{self.path.name}.{os.getpid()}")

    def _is_stream(self) -> bool:
        """A device or a pipe: writing beside it and renaming would replace the device itself."""
        return self.path.exists() and not (self.path.is_file() or self.path.is_dir())

    def _content(self, result: Result) -> str:
        """One turn a line at the end of the file, each turned into text only once."""
        everyone = (*result.rungs, *((result.floor,) if result.floor else ()))
        head = json.dumps(_head(result), indent=1, allow_nan=False)
        turns = ",\n".join(f"  {json.dumps(rung.name)}: {self._lines(rung)}" for rung in everyone)
        return f'{head[:-2]},\n "turns": {{\n{turns}\n }}\n}}\n'

    def _lines(self, rung: RungResult) -> str:
        lines = []
        for turn in rung.turns:
            key = (rung.name, turn.round)
            if key not in self._turns:
                self._turns[key] = json.dumps(asdict(turn), allow_nan=False, separators=(",", ":"))
            lines.append("\n   " + self._turns[key])
        return f"[{','.join(lines)}]"


def _head(result: Result) -> _JSON:
    """Everything but the turns."""
    bare = replace(
        result,
        rungs=tuple(replace(rung, turns=()) for rung in result.rungs),
        floor=replace(result.floor, turns=()) if result.floor else None,
    )
    head = asdict(bare)
    for rung in (*head["rungs"], *([head["floor"]] if head["floor"] else [])):
        del rung["turns"]
    return head


def _from_json(content: _JSON) -> Result:
    turns = content.pop("turns", {})
    if not isinstance(turns, dict):
        raise ValueError("turns: expected an object")
    everyone = [*_list(content, "rungs"), *([content["floor"]] if content.get("floor") else [])]
    for rung in everyone:
        if isinstance(rung, dict):
            rung["turns"] = turns.get(rung.get("name"), [])
    result: Result = _decode(Result, content, "")
    return result


def _list(content: _JSON, key: str) -> list[Any]:
    value = content.get(key)
    if not isinstance(value, list):
        raise ValueError(f"{key}: expected a list")
    return value


def _decode(kind: Any, value: Any, where: str) -> Any:
    """The JSON value as that type; ValueError names the place where it is of another."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin in (Union, UnionType):  # X | None
        return None if value is None else _decode(arguments[0], value, where)
    if origin is Literal and value in arguments:
        return value
    if origin is tuple and isinstance(value, list):
        if arguments[0] is int and all(type(item) is int for item in value):
            return tuple(value)  # a hundred thousand samples: no call for each
        return tuple(_decode(arguments[0], v, f"{where}[{n}]") for n, v in enumerate(value))
    if origin is Mapping and isinstance(value, dict):
        return {key: _decode(arguments[1], v, f"{where}.{key}") for key, v in value.items()}
    if is_dataclass(kind) and isinstance(value, dict):
        return _decode_fields(kind, value, where)
    if kind is float and type(value) in (int, float):
        return float(value)
    if kind in (int, str) and type(value) is kind:
        return value
    raise ValueError(f"{where}: expected {_spell(kind)}, found {str(value)[:40]!r}")


def _decode_fields(kind: Any, value: _JSON, where: str) -> Any:
    """Unknown fields are of a later version and are passed over."""
    hints = get_type_hints(kind)
    found = {}
    for name, hint in hints.items():
        place = f"{where}.{name}".lstrip(".")
        if name in value:
            found[name] = _decode(hint, value[name], place)
    try:
        return kind(**found)
    except TypeError:
        missing = [name for name in hints if name not in value]
        raise ValueError(f"{where or 'top'}: {', '.join(missing)} missing") from None


def _spell(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(map(repr, get_args(kind)))
    return getattr(kind, "__name__", str(kind))
