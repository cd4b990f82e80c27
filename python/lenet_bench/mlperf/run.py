"""One rung under LoadGen: SingleStream, performance and accuracy. MLPerf-style, no submission.

The rung lives in a process of its own, pinned and checked as `compare`'s are. In the same process
`compare`'s own clock times it before and after, in turns with what LoadGen itself takes, so that
the two medians can be held together.
"""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..atomic import check_writable, writing
from ..backends.reference import Reference
from ..errors import LenetBenchError, ResultError, Unavailable
from ..measure import inputs
from ..measure.environment import read_environment
from ..measure.interrupts import interrupts
from ..measure.loadgen import Test, at_hand
from ..measure.memory import Memory
from ..measure.options import Entry
from ..measure.pinning import choose_cores, thread_variables
from ..measure.protocol import Message
from ..measure.row import Conditions, Row
from ..measure.schedule import Pace
from ..measure.truth import ROTATING, Truth
from ..mnist import Digits
from ..weights import default_path, read_weights
from .logs import Summary, read_digits, read_summary
from .overhead import Block
from .result import Accuracy, MlperfRun, write

Floats = NDArray[np.float32]

RESULT = "result.json"
USUAL_S = 5.0
FULL_S = 600.0  # the rules' least; LoadGen brings it itself

_FULL_IMAGES = 1024  # loaded for a performance run, as the rules have it for small images
_FEWEST_QUERIES = 100  # LoadGen's own default
_FEWEST_OF_BLOCK = 10
_ACCURACY_S = 60.0  # which a slow rung is asked the first images for
_FEWEST_IMAGES = 100
_STROKES = 1000  # images of an accuracy run without data
_BLOCKS = 4  # before performance, and as many after it: eight give an interval
_BLOCK_S = 0.1
_LOADGEN_US = 1.5  # about what a query takes beside the rung, until a block has measured it
_BYTES_A_QUERY = 300  # that LoadGen takes for each one it makes
_MADE = 2  # times as many as the expected latency asks for
_EXPECTED = 1.5  # the latency that LoadGen is told, against that measured: fewer, still enough
_TIMEOUT_S = 120.0
_PATIENCE = 20  # times as long as it should take: on a busy machine the mean is ten medians
_PACE = Pace(warm_s=0.02, timed_s=0.1, rounds_a_start=1)


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
    or LoadGen fails. Interrupted, it leaves the result file with all but LoadGen's own figures,
    which LoadGen has only at its end.
    """
    with interrupts():
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
        self._at_hand = at_hand()
        self._loadgen = ""  # its version, once it has run
        self._blocks: list[Block] = []
        self._conditions = Conditions(
            cores=choose_cores(threads),
            variables=thread_variables(threads),
            threads=threads,
            weights=str(weights or default_path()),
            timeout_s=_TIMEOUT_S,
            interval_s=None,
            truth=Truth(self._weights, seed=0),
        )

    def run(self) -> MlperfRun:
        """Checks, blocks, accuracy, performance, blocks again; the file has all there is so far."""
        with writing(self._folder, ResultError):
            check_writable(self._folder / RESULT)
        self._told(f"{self._entry.name}: checks")
        row = self._start()
        try:
            self._told("what LoadGen itself takes of a query")
            self._measure_overhead(row)
            accuracy = self._accuracy(row)
            self._keep(accuracy, None)
            try:
                performance = self._performance(row)
            except KeyboardInterrupt:
                self._told(
                    f"interrupted: LoadGen sums up at its end only, so its figures are lost; "
                    f"{self._folder / RESULT} has the accuracy and what LoadGen takes of a query"
                )
                raise
            self._keep(accuracy, performance)
            self._told("once more what LoadGen itself takes")
            self._measure_overhead(row)
            return self._keep(accuracy, performance)
        finally:
            row.close()

    def _start(self) -> Row:
        """In a process of its own, with the reference's answers."""
        row = Row(self._entry, self._conditions)
        row.start()
        _check_live(row)
        return row

    def _measure_overhead(self, row: Row) -> None:
        """Blocks of calls as `compare` times them, and of LoadGen's queries with the same rung."""
        for _ in range(_BLOCKS):
            row.turn(len(row.turns), 0.0, _PACE)
            _check_live(row)
            samples_us = np.array(row.turns[-1].samples_ns) / 1000
            folder = self._folder / "overhead" / str(len(self._blocks) + 1)
            expected_us = float(samples_us.mean()) + _LOADGEN_US
            test = Test("overhead", expected_us, _BLOCK_S, _FEWEST_OF_BLOCK)
            takes_s = max(_BLOCK_S, _FEWEST_OF_BLOCK * expected_us / 1e6)
            reply = self._ask(row, self._images[: self._loaded], folder, test, takes_s)
            summary = read_summary(folder)
            self._blocks.append(
                Block(
                    compare_us=float(np.median(samples_us)),
                    around_us=summary.p50_us,
                    call_us=float(reply["call_us"]),
                )
            )

    def _performance(self, row: Row) -> Summary:
        expected_us = _EXPECTED * min(block.query_us for block in self._blocks)
        _check_memory(self._duration_s, expected_us)
        folder = self._folder / "performance"
        duration_s = None if self._full else self._duration_s
        test = Test("performance", expected_us, duration_s, _FEWEST_QUERIES)
        takes_s = max(self._duration_s, _FEWEST_QUERIES * self._query_s)
        self._told(f"performance, {_spell(takes_s)}")
        self._ask(row, self._images[: self._loaded], folder, test, takes_s)
        return read_summary(folder)

    def _accuracy(self, row: Row) -> Accuracy:
        images, folder = self._images, self._folder / "accuracy"
        if not self._full:
            images = images[: max(_FEWEST_IMAGES, int(_ACCURACY_S / self._query_s))]
        test = Test("accuracy", self._query_s * 1e6, None, len(images))
        takes_s = len(images) * self._query_s
        self._told(f"accuracy, {len(images):,} images, {_spell(takes_s)}")
        self._ask(row, images, folder, test, takes_s)
        found = read_digits(folder)
        digits = np.array([found.get(number, -1) for number in range(len(images))])
        reference = Reference(self._weights, threads=1)
        known = reference.probabilities(images).argmax(axis=1)
        labels = known if self._labels is None else self._labels[: len(images)]
        return Accuracy(
            against="the reference's digits" if self._labels is None else "the labels",
            images=len(labels),
            correct=int((digits == labels).sum()),
            reference_correct=int((known == labels).sum()),
        )

    def _keep(self, accuracy: Accuracy, performance: Summary | None) -> MlperfRun:
        """What was found so far, in the result file too."""
        found = MlperfRun(
            rung=self._entry.name,
            loadgen=self._loadgen,
            full=self._full,
            duration_s=self._duration_s,
            images=self._loaded,
            threads=self._conditions.threads,
            cores=self._conditions.cores.worker,
            accuracy=accuracy,
            performance=performance,
            blocks=tuple(self._blocks),
            folder=str(self._folder),
        )
        write(self._folder / RESULT, found, read_environment().to_json())
        return found

    @property
    def _loaded(self) -> int:
        """Images of a performance run: as many as rotate in `compare`, or as the rules have it."""
        return min(len(self._images), _FULL_IMAGES if self._full else ROTATING)

    @property
    def _query_s(self) -> float:
        """What a query of this rung takes, as the blocks tell so far."""
        return float(np.median([block.query_us for block in self._blocks])) / 1e6

    def _ask(self, row: Row, images: Floats, folder: Path, test: Test, takes_s: float) -> Message:
        reply = row.loadgen(images, folder, test, self._at_hand, _PATIENCE * takes_s)
        _check_live(row)
        assert reply is not None
        self._loadgen = reply["version"]
        (folder / "mlperf_log_trace.json").unlink(missing_ok=True)  # empty: nothing was traced
        return reply


def _spell(seconds: float) -> str:
    return f"about {seconds:,.0f} s" if seconds >= 1 else "less than a second"


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
    needed, free = queries * _BYTES_A_QUERY, Memory().left_bytes(())
    if free is not None and needed > free:
        raise LenetBenchError(
            f"LoadGen makes its {queries:,.0f} queries beforehand, which takes about "
            f"{needed / 2**30:.1f} GiB, and {free / 2**30:.1f} GiB are free; choose a slower rung "
            "or a shorter --duration"
        )
