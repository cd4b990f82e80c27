"""What a run under LoadGen found, and its file."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..errors import ResultError
from ..results.typed_json import decode
from ..results.versioned import read_object, write_object
from .logs import Summary
from .overhead import Block, Overhead

KIND, SCHEMA = "run under LoadGen", 1
LABEL = "MLPerf-style, not a submission"

_QUALITY = 0.99  # of the reference's accuracy: the rules' usual target
_MARGIN = 0.03  # the blocks' clock, cold as all is then, costs a query of 20 us that much


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
    accuracy: Accuracy
    performance: Summary | None  # None until LoadGen has ended, which alone writes a summary
    blocks: tuple[Block, ...]  # before performance and after it
    folder: str  # of the logs

    @property
    def overhead(self) -> Overhead:
        """What LoadGen takes of a query of this rung."""
        return Overhead.of(self.blocks)

    @property
    def agrees(self) -> bool | None:
        """Whether LoadGen's median is `compare`'s and the overhead; None where nobody can tell."""
        if self.performance is None:
            return None
        return self.overhead.explains(self.performance.p50_us, _MARGIN)

    @property
    def passed(self) -> bool:
        """Whether LoadGen calls it valid and the digits are right."""
        return self.performance is not None and self.performance.valid and self.accuracy.passed

    def to_json(self) -> dict[str, Any]:
        """Plain data, with what follows from it."""
        overhead, accuracy = self.overhead, self.accuracy
        return {
            "label": LABEL,
            **asdict(self),
            "accuracy": {
                **asdict(accuracy),
                "accuracy": accuracy.accuracy,
                "passed": accuracy.passed,
            },
            "overhead": {
                **asdict(overhead),
                "slower_us": overhead.slower_us,
                "expected_us": overhead.expected_us,
            },
            "agrees": self.agrees,
            "passed": self.passed,
        }


def write(path: Path, found: MlperfRun, machine: dict[str, Any]) -> None:
    """Keep it, with the machine."""
    write_object(path, {"kind": KIND, "schema": SCHEMA, **found.to_json(), "machine": machine})


def read(path: Path) -> MlperfRun:
    """What `write` kept; ResultError says what is wrong with it."""
    content = read_object(path, KIND, SCHEMA)
    try:
        found: MlperfRun = decode(MlperfRun, content)
    except (ValueError, KeyError, TypeError) as error:
        raise ResultError(f"{path}: not what `lenet-bench mlperf` writes: {error}") from None
    return found
