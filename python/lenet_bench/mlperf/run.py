"""One rung under LoadGen: SingleStream, performance and accuracy. MLPerf-style, no submission.

The rung lives in a process of its own, pinned and checked as `compare`'s are. In the same process
`compare`'s own clock times it before and after, so that the two medians can be held together, and
an empty rung shows what LoadGen itself takes.
"""

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..atomic import check_writable, write_atomically
from ..backends.reference import Reference
from ..errors import LenetBenchError, ResultError, Unavailable
from ..measure import empty, inputs
from ..measure.loadgen import CONFIGURATION
from ..measure.options import Entry
from ..measure.pinning import choose_cores, thread_variables
from ..measure.protocol import Message
from ..measure.row import Conditions, Row
from ..measure.schedule import Pace
from ..measure.truth import ROTATING, Truth
from ..mnist import Digits
from ..weights import default_path, read_weights
from .logs import Summary, read_digits, read_summary

Floats = NDArray[np.float32]

RESULT = "result.json"
LABEL = "MLPerf-style, not a submission"
USUAL_S = 5.0
FULL_S = 600.0  # the rules' least; LoadGen brings it itself

_FULL_IMAGES = 1024  # loaded for a performance run, as the rules have it for small images
_FEWEST_QUERIES = 1024
_STROKES = 1000  # images of an accuracy run without data
_QUALITY = 0.99  # of the reference's accuracy: the rules' usual target
_OVERHEAD_S = 0.1
_LOADGEN_US = 1.5  # about what a query takes beside the rung
_BYTES_A_QUERY = 300  # that LoadGen takes for each one it makes
_MADE = 2  # times as many as the expected latency asks for
_SAFE = 1.3  # the expected latency against the one measured: fewer queries, and still enough
_TIMEOUT_S = 120.0
_OWN_TURNS = 4
_PACE = Pace(warm_s=0.05, timed_s=0.2, rounds_a_start=1)


@dataclass(frozen=True)
class Accuracy:
    """How many images the rung got right under LoadGen."""

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
    """What LoadGen found, and what it must be read with."""

    rung: str
    loadgen: str  # its version
    full: bool  # the rules' own durations
    duration_s: float  # the least
    images: int  # that performance was asked with
    threads: int
    cores: tuple[int, ...]
    performance: Summary
    accuracy: Accuracy
    call_us: float  # the median of what the rung itself took of a query
    compare_us: float  # the same process, timed as compare does
    overhead_us: float  # LoadGen's median with an empty rung
    folder: Path  # of the logs

    @property
    def passed(self) -> bool:
        """Whether LoadGen calls it valid and the digits are right."""
        return self.performance.valid and self.accuracy.passed

    def to_json(self) -> dict[str, Any]:
        """Plain data, with what follows from it."""
        return {
            "label": LABEL,
            **asdict(self),
            "accuracy": {
                **asdict(self.accuracy),
                "accuracy": self.accuracy.accuracy,
                "passed": self.accuracy.passed,
            },
            "folder": str(self.folder),
            "passed": self.passed,
        }


def mlperf(
    rung: str | Entry,
    folder: str | os.PathLike[str],
    *,
    full: bool = False,
    duration_s: float = USUAL_S,
    threads: int = 1,
    weights: str | os.PathLike[str] | None = None,
    digits: Digits | None = None,
    told: Callable[[str], None] = lambda _: None,
) -> MlperfRun:
    """Ask the rung as LoadGen does, and keep LoadGen's logs in the folder.

    Without `digits`, images are pen strokes and accuracy is against the reference's digits. `full`
    takes the rules' own durations: ten minutes at the least. Raises LenetBenchError where the rung
    or LoadGen fails.
    """
    return _Run(rung, Path(folder), full, duration_s, threads, weights, digits, told).run()


class _Run:
    """One run, to its end."""

    def __init__(
        self,
        rung: str | Entry,
        folder: Path,
        full: bool,
        duration_s: float,
        threads: int,
        weights: str | os.PathLike[str] | None,
        digits: Digits | None,
        told: Callable[[str], None],
    ) -> None:
        self._entry = rung if isinstance(rung, Entry) else Entry.of_ladder(rung, threads)
        self._folder, self._told = folder, told
        self._full, self._duration_s = full, FULL_S if full else duration_s
        self._weights = read_weights(weights)
        self._images = inputs.strokes(_STROKES, seed=0) if digits is None else digits.ink()
        self._labels = None if digits is None else digits.labels
        self._loadgen = ""  # its version, once it has run
        self._conditions = Conditions(
            cores=choose_cores(threads),
            variables=thread_variables(threads),
            threads=threads,
            weights=str(weights or default_path()),
            timeout_s=_TIMEOUT_S + 5 * self._duration_s,
            interval_s=None,
            truth=Truth(self._weights, seed=0),
        )

    def run(self) -> MlperfRun:
        """Checks, the empty rung, our own clock, performance, our own clock again, accuracy."""
        self._check_folder()
        self._told(f"{self._entry.name}: checks")
        row = self._start(self._entry)
        try:
            self._told("an empty rung, for what LoadGen itself takes")
            overhead_us = self._overhead_us()
            self._own_clock(row)
            self._told(f"performance, {self._duration_s:g} s at the least")
            performance, call_us = self._performance(row, "performance", self._duration_s)
            self._own_clock(row)
            self._told(f"accuracy, {len(self._images):,} images")
            accuracy = self._accuracy(row)
            compare_us = float(np.median(_samples_us(row)))
        finally:
            row.close()
        found = MlperfRun(
            rung=self._entry.name,
            loadgen=self._loadgen,
            full=self._full,
            duration_s=self._duration_s,
            images=self._loaded,
            threads=self._conditions.threads,
            cores=self._conditions.cores.worker,
            performance=performance,
            accuracy=accuracy,
            call_us=call_us,
            compare_us=compare_us,
            overhead_us=overhead_us,
            folder=self._folder,
        )
        content = json.dumps(found.to_json(), indent=1) + "\n"
        write_atomically(self._folder / RESULT, content.encode())
        return found

    def _check_folder(self) -> None:
        try:
            check_writable(self._folder / RESULT)
        except OSError as error:
            raise ResultError(f"{self._folder}: cannot be written: {error.strerror}") from None

    def _overhead_us(self) -> float:
        floor = Entry(empty.NAME, factory=f"{empty.__name__}:Empty", checked=False)
        row = self._start(floor)
        try:
            self._own_clock(row)
            return self._performance(row, "overhead", _OVERHEAD_S)[0].p50_us
        finally:
            row.close()

    def _start(self, entry: Entry) -> Row:
        """In a process of its own, with the reference's answers."""
        row = Row(entry, self._conditions)
        row.start()
        _check_live(row)
        return row

    def _own_clock(self, row: Row) -> None:
        """A few turns as `compare` times them."""
        for _ in range(_OWN_TURNS):
            row.turn(len(row.turns), 0.0, _PACE)
            _check_live(row)

    def _performance(self, row: Row, name: str, duration_s: float) -> tuple[Summary, float]:
        """What LoadGen says, and the median of what the rung itself took of a query."""
        expected_us = _SAFE * float(np.mean(_samples_us(row))) + _LOADGEN_US
        _check_memory(duration_s, expected_us)
        folder = self._prepare(name, duration_s, expected_us)
        call_us = self._ask(row, self._images[: self._loaded], folder, accuracy=False)["call_us"]
        return read_summary(folder), float(call_us)

    def _accuracy(self, row: Row) -> Accuracy:
        folder = self._prepare("accuracy", self._duration_s, 1000.0)
        self._ask(row, self._images, folder, accuracy=True)
        found = read_digits(folder)
        digits = np.array([found.get(number, -1) for number in range(len(self._images))])
        reference = Reference(self._weights, threads=1)
        known = reference.probabilities(self._images).argmax(axis=1)
        labels = known if self._labels is None else self._labels
        return Accuracy(
            against="the reference's digits" if self._labels is None else "the labels",
            images=len(labels),
            correct=int((digits == labels).sum()),
            reference_correct=int((known == labels).sum()),
        )

    @property
    def _loaded(self) -> int:
        """Images of a performance run: as many as rotate in `compare`, or as the rules have it."""
        return min(len(self._images), _FULL_IMAGES if self._full else ROTATING)

    def _ask(self, row: Row, images: Floats, folder: Path, *, accuracy: bool) -> Message:
        reply = row.loadgen(images, folder, accuracy=accuracy)
        _check_live(row)
        assert reply is not None
        self._loadgen = reply["version"]
        (folder / "mlperf_log_trace.json").unlink(missing_ok=True)  # empty: nothing was traced
        return reply

    def _prepare(self, name: str, duration_s: float, expected_us: float) -> Path:
        """The logs' folder with LoadGen's configuration: what it does not say, the rules say."""
        lines = [
            f"*.SingleStream.target_latency = {expected_us / 1000:.6f}",
            f"*.SingleStream.min_query_count = {_FEWEST_QUERIES}",
        ]
        if not (self._full and name == "performance"):
            lines.append(f"*.SingleStream.min_duration = {duration_s * 1000:.0f}")
        folder = self._folder / name
        write_atomically(folder / CONFIGURATION, ("\n".join(lines) + "\n").encode())
        return folder


def _samples_us(row: Row) -> NDArray[np.float64]:
    return np.concatenate([turn.samples_ns for turn in row.turns]) / 1000


def _check_live(row: Row) -> None:
    """Raise what ended the row."""
    if row.live:
        return
    result = row.result()
    row.close()
    if result.status == "unavailable":
        raise Unavailable(result.reason or f"{row.name} cannot run here")
    raise LenetBenchError(f"{row.name}: {result.status}: {result.reason}")


def _check_memory(duration_s: float, expected_us: float) -> None:
    """LoadGen makes all its queries beforehand; a fast rung's take gigabytes in ten minutes."""
    queries = _MADE * duration_s * 1e6 / expected_us
    needed, free = queries * _BYTES_A_QUERY, _free_bytes()
    if free is not None and needed > free:
        raise LenetBenchError(
            f"LoadGen makes its {queries:,.0f} queries beforehand, which takes about "
            f"{needed / 2**30:.1f} GiB, and {free / 2**30:.1f} GiB are free; choose a slower rung "
            "or a shorter --duration"
        )


def _free_bytes() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    found = (line.split()[1] for line in lines if line.startswith("MemAvailable:"))
    return next((int(kib) * 1024 for kib in found), None)
