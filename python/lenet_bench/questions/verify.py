"""Accuracy and parity: every test image through every backend, against the float64 reference.

Backends run one after the other, each framework in a process of its own that ends before the next
begins: all of them at once would fill the memory, and a crash affects only one line.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import to_builtins
from numpy.typing import NDArray

from ..atomic import is_stream, write_file
from ..errors import LenetBenchError, ResultError, Unavailable
from ..measure.environment import read_machine
from ..mnist import Digits
from ..network import CLASSES
from ..registry import Network, exact_probabilities, find, load, tolerance
from ..registry.own_process import InOwnProcess
from ..results.portable import portable
from ..texts import json_text
from ..weights import Weights

Array = NDArray[np.float64]

KIND, SCHEMA = "verification", 2  # of the result file
BEGINS = f'{{\n "kind": "{KIND}"'.encode()  # how each begins

_BATCH = 250  # images a call, where that is as one image is asked: often enough to show progress

#: Called after each batch: whose it was, and how many images it had.
BatchProgress = Callable[[str, int], None]


@dataclass(frozen=True)
class Disagreement:
    """An image for which a backend and the reference give different digits."""

    index: int  # in the test set
    label: int
    reference: int
    digit: int  # the backend's
    margin: float  # by how much the reference prefers its own digit: how close a call it was


@dataclass(frozen=True)
class Verification:
    """The verification of one backend."""

    backend: str
    images: int
    accuracy: float  # of the labels, from 0 to 1
    max_difference: float  # of any probability of any image, from the reference's
    tolerance: float
    disagreements: tuple[Disagreement, ...]
    runs: Mapping[str, str] = field(default_factory=dict)  # library, version, algorithm

    @property
    def passed(self) -> bool:
        """Whether the backend is within its tolerance; false for NaN.

        It must also give the reference's digit wherever that leads by more than the tolerance.
        """
        return self.max_difference <= self.tolerance and all(
            image.margin <= self.tolerance for image in self.disagreements
        )

    def to_json(self) -> dict[str, Any]:
        """As plain data, with the verdict."""
        return {**asdict(self), "passed": self.passed}


@dataclass(frozen=True)
class Unverified:
    """A backend that does not run here, that failed, or that was not reached."""

    backend: str
    reason: str
    failed: bool = False


@dataclass
class Outcomes:
    """What became of each of `names` so far, in this order, and which were asked for by name."""

    weights: Weights
    threads: int
    names: Sequence[str]
    named: Collection[str]
    verified: list[Verification] = field(default_factory=list)
    unverified: list[Unverified] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.verified) + len(self.unverified)

    def add(self, outcome: Verification | Unverified) -> None:
        if isinstance(outcome, Verification):
            self.verified.append(outcome)
        else:
            self.unverified.append(outcome)

    @property
    def wanting(self) -> list[Unverified]:
        """Those that failed, and those that were named and do not run here."""
        return [one for one in self.unverified if one.failed or one.backend in self.named]

    @property
    def passed(self) -> bool:
        """Whether there are any, and all are within their tolerance."""
        all_passed = all(backend.passed for backend in self.verified)
        return bool(self.verified) and not self.wanting and all_passed

    def write(self, path: Path, *, last: bool = True) -> None:
        """All, also those not reached yet, with the machine, the versions and the weights."""
        rest = [Unverified(name, "not reached") for name in self.names[len(self) :]]
        record = {
            "kind": KIND,
            "schema": SCHEMA,
            "ended": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "environment": to_builtins(read_machine()),
            "weights_sha256": self.weights.sha256,
            "threads": self.threads,
            "backends": [backend.to_json() for backend in self.verified],
            "unverified": [asdict(backend) for backend in (*self.unverified, *rest)],
        }
        if last or not is_stream(path):  # which keeps everything
            write_file(path, f"{json_text(record, indent=1)}\n".encode(), ResultError)


def verify_each(
    names: Iterable[str],
    digits: Digits,
    weights: Weights,
    progress: BatchProgress = lambda *_: None,
    *,
    threads: int = 1,
    hide_output: bool = True,
) -> Iterator[Verification | Unverified]:
    """Load, verify and close one backend after the other."""
    reference = reference_probabilities(digits, weights, progress)
    for name in names:
        try:
            opened = _open(name, weights, threads, hide_output)
        except Unavailable as error:
            yield Unverified(name, str(error))
            progress(name, len(digits))
            continue
        try:
            with opened as backend:
                yield verify(name, backend, digits, reference, progress)
        except LenetBenchError as error:
            yield Unverified(name, str(error), failed=True)


def _open(
    name: str, weights: Weights, threads: int, hide_output: bool
) -> AbstractContextManager[Network]:
    if find(name)[0].framework:
        return closing(InOwnProcess(name, weights, threads=threads, hide_output=hide_output))
    return nullcontext(load(name, threads=threads, weights=weights, hide_output=hide_output))


def reference_probabilities(digits: Digits, weights: Weights, progress: BatchProgress) -> Array:
    """The probabilities (n, 10) that all backends are compared with, in float64."""
    ask = partial(exact_probabilities, weights)
    return _in_batches("reference", ask, digits, progress)


def verify(
    name: str, backend: Network, digits: Digits, reference: Array, progress: BatchProgress
) -> Verification:
    """Compare one backend with the reference's probabilities of the same images.

    A variant that is built again for batches is asked as it is timed, one image a call.
    """
    row, variant = find(name)
    at_once = 1 if variant in row.batch else _BATCH
    found = _in_batches(name, backend.infer, digits, progress, at_once)
    answers, expected = found.argmax(axis=1), reference.argmax(axis=1)
    return Verification(
        backend=name,
        images=len(digits),
        accuracy=float((answers == digits.labels).mean()),
        max_difference=float(np.abs(found - reference).max()),
        tolerance=tolerance(name),
        disagreements=tuple(
            Disagreement(
                index=int(index),
                label=int(digits.labels[index]),
                reference=int(expected[index]),
                digit=int(answers[index]),
                margin=float(reference[index, expected[index]] - reference[index, answers[index]]),
            )
            for index in np.flatnonzero(answers != expected)
        ),
        runs={name: portable(value) for name, value in backend.describe().items()},
    )


def _in_batches(
    name: str,
    infer: Callable[[NDArray[np.float32]], NDArray[np.floating]],
    digits: Digits,
    progress: BatchProgress,
    at_once: int = _BATCH,
) -> Array:
    found = np.empty((len(digits), CLASSES))
    for start in range(0, len(digits), at_once):
        part = slice(start, min(start + at_once, len(digits)))
        found[part] = infer(digits.ink(part))
        progress(name, part.stop - part.start)
    return found
