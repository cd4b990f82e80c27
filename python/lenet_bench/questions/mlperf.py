"""One backend under MLPerf's LoadGen: SingleStream, performance and accuracy. Not a submission.

The backend runs in a process of its own, pinned and checked as by `compare`. LoadGen also times
empty queries, which gives the time of a call by LoadGen's clock alone; `compare`'s clock times
calls of the same process before and after.
"""

import json
import os
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from msgspec import to_builtins
from numpy.typing import NDArray

from ..atomic import check_writable, writing
from ..errors import LenetBenchError, ResultError
from ..measure.environment import read_machine
from ..measure.interrupts import interrupts
from ..measure.loadgen import AtHand, Test, at_hand
from ..measure.options import Entry
from ..measure.start import Failed, Start, alone
from ..measure.truth import ROTATING, strokes
from ..mnist import Digits
from ..registry import exact_probabilities
from ..results.versioned import decode, read_bytes, read_object, write_object
from ..units import time as spell_time
from ..weights import Weights, read_weights

Floats = NDArray[np.float32]

KIND, SCHEMA = "run under LoadGen", 2
LABEL = "MLPerf-style, not a submission"
RESULT = "result.json"
USUAL_S = 5.0
FULL_S = 600.0  # the rules' least; LoadGen brings it itself

_QUALITY = 0.99  # of the reference's accuracy: the rules' usual target
_FULL_IMAGES = 1024  # loaded for a performance run, as the rules have it for small images
_FEWEST_QUERIES = 100  # LoadGen's own default
_ACCURACY_S = 60.0  # which a slow backend is asked the first images for
_FEWEST_IMAGES = 100
_STROKES = 1000  # images of an accuracy run without data
_TURNS = 4  # of calls back to back, before performance and after it
_DISTURBED = 1.2  # from one of these turns to another; a quiet machine keeps within 1.1
_LOADGEN_US = 1.5  # about what a query takes beside the call
_BYTES_A_QUERY = 300  # that LoadGen takes for each one it makes
_MADE = 2  # times as many as the expected latency asks for
_EXPECTED = 1.5  # the latency that LoadGen is given, against that measured: fewer, still enough
_PATIENCE = 20  # times as long as it should take: on a busy machine the mean is ten medians
_NOTHING_S, _QUERIES_OF_NOTHING = 0.1, 20_000
_SUMMARY = "mlperf_log_summary.txt"
_ACCURACY = "mlperf_log_accuracy.json"

_LINE = re.compile(r"^\s*\*?\s*(.+?)\s*:\s*(.+?)\s*$", re.MULTILINE)
_LATENCIES = {
    "minimum_us": "Min latency (ns)",
    "mean_us": "Mean latency (ns)",
    "p50_us": "50.00 percentile latency (ns)",
    "p90_us": "90.00 percentile latency (ns)",
    "p95_us": "95.00 percentile latency (ns)",
    "p99_us": "99.00 percentile latency (ns)",
    "p999_us": "99.90 percentile latency (ns)",
    "maximum_us": "Max latency (ns)",
}
_QUERIES = re.compile(r"Processed at least \d+ queries \((\d+)\)")
_WARM_S, _TIMED_S = 0.02, 0.1  # of a turn


@dataclass(frozen=True)
class Summary:
    """LoadGen's verdict on a performance run, and its latencies."""

    valid: bool
    unsatisfied: tuple[str, ...]  # the rules that it found broken
    recommendations: tuple[str, ...]
    least_s: float | None  # the time that it had to ask for at the least
    queries: int
    queries_per_s: float  # LoadGen's own work included
    p90_estimate_us: float | None  # SingleStream's metric: what p90 is not above, early stopping
    minimum_us: float
    mean_us: float
    p50_us: float
    p90_us: float
    p95_us: float
    p99_us: float
    p999_us: float
    maximum_us: float


@dataclass(frozen=True)
class Accuracy:
    """How many images the backend got right under LoadGen."""

    against: str  # the labels, or the reference's digits where there are none
    images: int
    correct: int
    reference_correct: int

    @property
    def accuracy(self) -> float:
        """From 0 to 1."""
        return self.correct / self.images

    @property
    def passed(self) -> bool:
        """Whether it keeps 99 % of the reference's accuracy."""
        return self.correct >= _QUALITY * self.reference_correct


@dataclass(frozen=True)
class MlperfRun:
    """The result of a run, and its conditions."""

    backend: str
    loadgen: str  # its version
    full: bool  # the rules' own durations
    duration_s: float  # the least
    images: int  # that performance was asked with
    threads: int
    cores: tuple[int, ...]
    accuracy: Accuracy
    performance: Summary | None  # None until LoadGen has ended, which alone writes a summary
    turns_us: tuple[float, ...]  # medians of calls back to back, before performance and after it
    folder: str  # of the logs
    nothing: Summary | None = None  # LoadGen's queries without a backend, in the same process

    @property
    def call_us(self) -> float:
        """The median of back-to-back calls, as `compare` times them, in the same process."""
        return float(np.median(self.turns_us))

    @property
    def loadgen_us(self) -> float | None:
        """A call by LoadGen's clock: its median query less its median empty query."""
        if self.performance is None or self.nothing is None:
            return None
        return self.performance.p50_us - self.nothing.p50_us

    @property
    def disturbed(self) -> bool:
        """Whether the turns differ more than on a quiet machine."""
        return max(self.turns_us) > _DISTURBED * min(self.turns_us)

    @property
    def passed(self) -> bool:
        """Whether LoadGen calls it valid and the digits are right."""
        return self.performance is not None and self.performance.valid and self.accuracy.passed

    def to_json(self) -> dict[str, Any]:
        """As plain data, with the computed figures."""
        found = asdict(self)
        found["accuracy"].update(accuracy=self.accuracy.accuracy, passed=self.accuracy.passed)
        derived = {name: getattr(self, name) for name in ("call_us", "loadgen_us", "disturbed")}
        return {"label": LABEL, **found, **derived, "passed": self.passed}


def mlperf(
    backend: str | Entry,
    folder: str | os.PathLike[str],
    *,
    full: bool = False,
    duration_s: float = USUAL_S,
    threads: int = 1,
    weights: str | os.PathLike[str] | None = None,
    digits: Digits | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> MlperfRun:
    """Run the backend under LoadGen, and keep LoadGen's logs in the folder.

    Without `digits`, images are pen strokes and the reference's digits count as right. `full` uses
    the rules' durations: at least ten minutes. Raises LenetBenchError if the backend or LoadGen
    fails. If interrupted, it leaves the result file without LoadGen's figures, since LoadGen writes
    them only at its end.
    """
    folder = Path(folder)
    entry = backend if isinstance(backend, Entry) else Entry.of_backend(backend, threads)
    library, parameters = at_hand(), read_weights(weights)
    images = strokes(_STROKES, seed=0) if digits is None else digits.ink()
    # As many as rotate in `compare`, or as the rules have it.
    loaded = images[: _FULL_IMAGES if full else ROTATING]
    with writing(folder, ResultError):
        check_writable(folder / RESULT)
    say(f"{entry.name}: checking its answers")
    with interrupts(), alone(entry, threads, weights) as start:
        loadgen = _LoadGen(start, library, folder, say)
        say("timing calls back to back")
        turns_us = _turns_us(start)
        query_us = float(np.median(turns_us)) + _LOADGEN_US
        if not full:
            images = images[: max(_FEWEST_IMAGES, int(_ACCURACY_S * 1e6 / query_us))]
        labels = None if digits is None else digits.labels[: len(images)]
        accuracy, version = _accuracy(loadgen, images, labels, parameters, query_us)
        run = MlperfRun(
            backend=entry.name,
            loadgen=version,
            full=full,
            duration_s=FULL_S if full else duration_s,
            images=len(loaded),
            threads=threads,
            cores=start.conditions.cores.worker,
            accuracy=accuracy,
            performance=None,
            turns_us=turns_us,
            folder=str(folder),
        )
        return _with_performance(loadgen, run, loaded)


@dataclass(frozen=True)
class _LoadGen:
    """LoadGen, which queries one start and keeps its logs in a folder."""

    start: Start
    library: AtHand
    folder: Path
    say: Callable[[str], None]

    def ask(self, test: Test, images: Floats, takes_s: float) -> tuple[Path, str]:
        """Run one test, to its end: the folder of its logs, and LoadGen's version."""
        folder = self.folder / test.purpose
        about = spell_time(takes_s * 1e6)
        self.say(f"{test.purpose}, {len(images):,} images, about {about}")
        try:
            reply = self.start.ask(
                "loadgen",
                _PATIENCE * takes_s,
                images=images,
                folder=str(folder.resolve()),
                test=asdict(test),
                parents=asdict(self.library),
            )
        except Failed as failure:
            if failure.status == "unavailable":
                raise
            raise Failed(failure.status, f"under LoadGen: {failure.reason}") from None
        (folder / "mlperf_log_trace.json").unlink(missing_ok=True)  # empty: nothing was traced
        return folder, reply["version"]


def _turns_us(start: Start) -> tuple[float, ...]:
    """Medians of turns of calls, as `compare` times them."""
    turns = (start.time(_WARM_S, _TIMED_S)["samples_ns"] for _ in range(_TURNS))
    return tuple(float(np.median(samples_ns)) / 1000 for samples_ns in turns)


def _accuracy(
    loadgen: _LoadGen,
    images: Floats,
    labels: NDArray[np.uint8] | None,
    parameters: Weights,
    query_us: float,
) -> tuple[Accuracy, str]:
    """How many digits the backend and the reference get right; and LoadGen's version."""
    known = exact_probabilities(parameters, images).argmax(axis=1)
    test = Test("accuracy", query_us, None, len(images))
    folder, version = loadgen.ask(test, images, len(images) * query_us / 1e6)
    answers = read_digits(folder)
    digits = np.array([answers.get(number, -1) for number in range(len(images))])
    right = known if labels is None else labels
    accuracy = Accuracy(
        against="the reference's digits" if labels is None else "the labels",
        images=len(images),
        correct=int((digits == right).sum()),
        reference_correct=int((known == right).sum()),
    )
    return accuracy, version


def _with_performance(loadgen: _LoadGen, run: MlperfRun, images: Floats) -> MlperfRun:
    """The run with LoadGen's figures and later turns; its file is written after each step."""
    _keep(run)
    query_us = min(run.turns_us) + _LOADGEN_US
    _check_memory(run.duration_s, _EXPECTED * query_us)
    duration_s = None if run.full else run.duration_s
    test = Test("performance", _EXPECTED * query_us, duration_s, _FEWEST_QUERIES)
    takes_s = max(run.duration_s, _FEWEST_QUERIES * query_us / 1e6)
    try:
        logs, _ = loadgen.ask(test, images, takes_s)
    except KeyboardInterrupt:
        loadgen.say(
            f"interrupted: LoadGen reports only at its end, so its figures are lost; "
            f"{loadgen.folder / RESULT} has the accuracy and the calls back to back"
        )
        raise
    run = replace(run, performance=read_summary(logs))
    _keep(run)
    test = Test("nothing", _LOADGEN_US, _NOTHING_S, _QUERIES_OF_NOTHING)
    run = replace(run, nothing=read_summary(loadgen.ask(test, images, _NOTHING_S)[0]))
    loadgen.say("timing calls back to back again")
    run = replace(run, turns_us=(*run.turns_us, *_turns_us(loadgen.start)))
    _keep(run)
    return run


def _keep(run: MlperfRun) -> None:
    """Write everything so far into the file."""
    content = {"kind": KIND, "schema": SCHEMA, **run.to_json()}
    del content["folder"]  # which it lies in
    content["machine"] = to_builtins(read_machine())
    write_object(Path(run.folder) / RESULT, content)


def _check_memory(duration_s: float, expected_us: float) -> None:
    """Refuse a run whose queries do not fit into memory: LoadGen makes all of them beforehand."""
    queries = _MADE * duration_s * 1e6 / expected_us
    needed, free = queries * _BYTES_A_QUERY, psutil.virtual_memory().available
    if needed > free:
        raise LenetBenchError(
            f"LoadGen makes its {queries:,.0f} queries beforehand, which takes about "
            f"{needed / 2**30:.1f} GiB, and {free / 2**30:.1f} GiB are free; choose a shorter "
            "--duration or a slower backend"
        )


def read(path: Path) -> MlperfRun:
    """Read a run's file; ResultError says what is wrong with it."""
    content = read_object(path, KIND, SCHEMA)
    try:
        found: MlperfRun = decode(MlperfRun, content | {"folder": str(path.parent)})
    except ValueError as error:
        raise ResultError(f"{path}: not what `lenet-bench mlperf` writes: {error}") from None
    return found


def read_summary(folder: Path) -> Summary:
    """The summary in a folder of LoadGen's logs."""
    text = read_bytes(folder / _SUMMARY).decode(errors="replace")
    lines = dict(_LINE.findall(text))
    try:
        verdict, queries = lines["Result is"], _QUERIES.search(text)
        latencies = {name: float(lines[spelt]) / 1000 for name, spelt in _LATENCIES.items()}
        least_ms = lines.get("min_duration (ms)")
        estimate = lines.get("Early stopping 90.0th percentile estimate")
        return Summary(
            valid=verdict == "VALID",
            unsatisfied=tuple(name for name, value in lines.items() if value == "NO"),
            recommendations=_recommendations(text),
            least_s=float(least_ms) / 1000 if least_ms else None,
            queries=int(queries[1]) if queries else 0,
            queries_per_s=float(lines["QPS w/ loadgen overhead"]),
            p90_estimate_us=float(estimate) / 1000 if estimate else None,
            **latencies,
        )
    except (KeyError, ValueError) as error:
        raise ResultError(f"{folder / _SUMMARY}: not a summary of LoadGen's: {error}") from None


def read_digits(folder: Path) -> dict[int, int]:
    """The backend's digit for each image, from the log of an accuracy run."""
    try:
        answers = json.loads(read_bytes(folder / _ACCURACY))
        return {int(one["qsl_idx"]): int(one["data"], 16) for one in answers}
    except (ValueError, KeyError, TypeError) as error:
        raise ResultError(f"{folder / _ACCURACY}: not a log of LoadGen's: {error}") from None


def _recommendations(text: str) -> tuple[str, ...]:
    _, _, rest = text.partition("Recommendations:\n")
    section, _, _ = rest.partition("Early Stopping Result")
    return tuple(line.strip(" *") for line in section.splitlines() if line.strip())
