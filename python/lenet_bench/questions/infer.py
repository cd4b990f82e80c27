"""From picture files to answers: load the backends, read each image, ask, and time the calls.

    digit.png -> images -> Network.infer -> Answer

A picture that cannot be read becomes a Failure in its place, and the others are answered.
"""

import io
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Floats
from ..atomic import write_file
from ..errors import ImageError, Unavailable
from ..images import Step, explain
from ..measure.calls import time_calls
from ..registry import (
    BACKENDS,
    Device,
    Network,
    every_name,
    find,
    load,
    names,
    on_device,
    tolerance,
    with_counterpart,
)
from ..weights import Weights

AUTO, ALL = "auto", "all"
STANDARD_INPUT = "-"

_WARM_UP_S = 0.010  # until the caches and the clock have settled
_TIMED_S = 0.010  # of calls; native code makes some hundred in it
_FEWEST_CALLS = 5  # where a call is slower than that
_SURE = 0.6  # about 3 of 1,000 of MNIST's test images are below it; two digits often are


@dataclass(frozen=True)
class Timing:
    """The time of a backend's call, from NumPy array to NumPy array, in microseconds."""

    first_us: float  # the first call after loading
    steady_us: float  # the median of later calls
    calls: int  # how many that median is of


@dataclass(frozen=True)
class Answer:
    """One backend's answer to one image."""

    backend: str
    probabilities: Floats
    timing: Timing  # the backend's, taken on the first image it answered
    difference: float | None  # largest, from the probabilities of the one it is judged by
    agrees: bool  # the same digit, within the tolerance

    @property
    def digit(self) -> int:
        return int(self.probabilities.argmax())

    @property
    def unsure(self) -> bool:
        return bool(self.probabilities.max() < _SURE)


@dataclass(frozen=True)
class Answered:
    """One image as the network gets it, and each backend's answer."""

    image: str
    seen: Floats
    answers: tuple[Answer, ...]


@dataclass(frozen=True)
class Failure:
    """One image that could not be answered, and why."""

    image: str
    error: str


Outcome = Answered | Failure


@dataclass
class OpenBackend:
    """A backend that has been loaded."""

    name: str
    backend: Network
    timing: Timing | None = None

    def infer(self, image: Floats) -> Floats:
        """The probabilities; the first call is timed, and the steady state after it."""
        if self.timing is not None:
            return self.backend.infer(image)
        start = time.perf_counter_ns()
        probabilities = self.backend.infer(image)
        first = time.perf_counter_ns() - start
        steady, calls = _steady_state(self.backend, image)
        self.timing = Timing(first / 1000, steady / 1000, calls)
        return probabilities


@dataclass(frozen=True)
class Opened:
    """The requested backends that run here, and why the others do not."""

    backends: tuple[OpenBackend, ...]
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def frameworks(self) -> bool:
        """Whether any is a framework, which may print when it answers."""
        return any(find(one.name)[0].framework for one in self.backends)


def open_backends(
    asked: Sequence[str],
    weights: Weights,
    threads: int = 1,
    device: Device | None = None,
    *,
    hide_output: bool = True,
    tell: Callable[[str], None] = lambda _: None,
) -> Opened:
    """Load backends: by name, `auto` for the first that runs here, `all` for each.

    `tell` hears which is being loaded.
    With a device, only what runs there: torch is then torch@gpu.
    Raises Unavailable where one asked for by name cannot run, or none can, and LenetBenchError
    where its API cannot run on that device.
    """
    opened: dict[str, OpenBackend] = {}
    missing: dict[str, str] = {}
    for name in asked:
        for candidate in _meant(name, device):
            try:
                if candidate not in opened:
                    tell(f"loading {candidate}")
                    backend = load(
                        candidate, threads=threads, weights=weights, hide_output=hide_output
                    )
                    opened[candidate] = OpenBackend(candidate, backend)
            except Unavailable as error:
                if name not in (AUTO, ALL):
                    raise Unavailable(with_counterpart(candidate, str(error))) from error
                missing[candidate] = str(error)
            else:
                if name == AUTO:
                    break
    if not opened:
        where = f"on the {device.upper()} here" if device else "here"
        raise Unavailable(f"no backend runs {where}; `lenet-bench doctor` says why")
    return Opened(tuple(opened[name] for name in every_name() if name in opened), missing)


def in_order(asked: Sequence[str], weights: Weights, device: Device | None = None) -> list[str]:
    """The names that `open_backends` would try, from C++ to Keras."""
    chosen = {one for name in asked if name != AUTO for one in _meant(name, device)}
    if AUTO in asked:
        chosen.add(open_backends([AUTO], weights, device=device).backends[0].name)
    return [name for name in every_name() if name in chosen]


def _meant(name: str, device: Device | None) -> list[str]:
    """The backends that a name may stand for: itself on that device, or several."""
    if name == ALL:
        return names(device=device)
    if name == AUTO:
        return [on_device(row.name, device) for row in BACKENDS if not device or row.on(device)]
    return [on_device(name, device)]


def infer(
    images: Iterable[str], backends: Sequence[OpenBackend], steps: Path | None = None
) -> Iterator[Outcome]:
    """Each image's answers in turn; with `steps`, the steps of its reading go into that folder."""
    stems = Counter[str]()
    for image in images:
        try:
            taken = _read(image)
        except ImageError as error:
            yield Failure(image, str(error))
            continue
        seen = taken[-1].picture
        yield Answered(image, seen, tuple(_ask(backends, seen)))
        if steps is not None:
            _write_steps(steps, _stem(image, stems), taken)


def all_agree(outcomes: Iterable[Outcome]) -> bool:
    """Whether every image was answered, and by all backends alike."""
    return all(
        isinstance(outcome, Answered) and all(answer.agrees for answer in outcome.answers)
        for outcome in outcomes
    )


def to_json(outcome: Outcome) -> Iterator[dict[str, Any]]:
    """An object for each backend's answer, or one for a failure."""
    if isinstance(outcome, Failure):
        yield {"image": outcome.image, "error": outcome.error}
        return
    for answer in outcome.answers:
        yield {
            "image": outcome.image,
            "digit": answer.digit,
            # the shortest decimals that give the same float32
            "probabilities": [float(str(value)) for value in answer.probabilities],
            "backend": answer.backend,
            "first_us": answer.timing.first_us,
            "steady_us": answer.timing.steady_us,
            "calls": answer.timing.calls,
            "difference": answer.difference,
            "agrees": answer.agrees,
        }


def _ask(backends: Sequence[OpenBackend], seen: Floats) -> Iterator[Answer]:
    """Each backend's answer, compared with the reference's if it is among them, else the first."""
    found = {one.name: one.infer(seen) for one in backends}
    judge = "reference" if "reference" in found else backends[0].name
    for one in backends:
        probabilities, expected = found[one.name], found[judge]
        difference = float(np.abs(probabilities - expected).max())
        allowed = max(tolerance(one.name), tolerance(judge))
        assert one.timing is not None
        yield Answer(
            backend=one.name,
            probabilities=probabilities,
            timing=one.timing,
            difference=None if one.name == judge else difference,
            # written so that NaN disagrees
            agrees=bool(probabilities.argmax() == expected.argmax()) and difference <= allowed,
        )


def _steady_state(backend: Network, image: Floats) -> tuple[float, int]:
    """The median nanoseconds of a warm call, and the number of calls.

    The calls use shifted copies of the image in turn, so that no cache can answer.
    """
    shifts = [(0, 0), (0, 1), (1, 0), (1, 1), (0, -1), (-1, 0), (-1, -1), (1, -1)]
    images = [np.roll(image, shift, axis=(0, 1)) for shift in shifts]
    time_calls(backend.infer, images, _WARM_UP_S, fewest=1)
    samples = time_calls(backend.infer, images, _TIMED_S, _FEWEST_CALLS).samples_ns
    return float(np.median(samples)), len(samples)


def _read(image: str) -> list[Step]:
    """The steps from the file to the network's input, which is the last one's picture."""
    if image != STANDARD_INPUT:
        return explain(image)
    if sys.stdin is None:
        raise ImageError("standard input is closed")
    try:
        return explain(sys.stdin.buffer)
    except OSError as error:
        raise ImageError(f"standard input cannot be read: {error.strerror}") from None


def _stem(image: str, taken: Counter[str]) -> str:
    """The name that an image's steps begin with; images of one name are numbered."""
    name = "stdin" if image == STANDARD_INPUT else Path(image).stem
    taken[name] += 1
    return name if taken[name] == 1 else f"{name}~{taken[name]}"


def _write_steps(folder: Path, stem: str, steps: Sequence[Step]) -> None:
    """Each step's picture as `<stem>-<number>-<step>.png`."""
    from PIL import Image

    for number, step in enumerate(steps, 1):
        path = folder / f"{stem}-{number}-{step.name}.png"
        content = io.BytesIO()
        pixels = np.rint(np.clip(step.picture, 0, 1) * 255).astype(np.uint8)
        Image.fromarray(pixels).save(content, "PNG")
        write_file(path, content.getvalue(), durable=False)
