"""From picture files to answers: open the rungs, read each image, ask, and time the calls.

    digit.png -> images -> Backend.infer -> Answer

A picture that cannot be read becomes a Failure in its place, and the others are answered.
"""

import glob
import io
import itertools
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .atomic import write_atomically, writing
from .backends import LADDER, Backend, Device, every_name, find, load, names, on_device, tolerance
from .errors import ImageError, Unavailable
from .images import Step, explain
from .weights import Weights

AUTO, ALL = "auto", "all"
STANDARD_INPUT = "-"

_WARM_UP = 10_000_000  # ns: until the caches and the clock have settled
_TIMED = 25_000_000  # ns of calls that are timed; a native rung makes about a thousand in it
_FEWEST_CALLS = 5  # of a rung that is slower than that


@dataclass(frozen=True)
class Timing:
    """How long a call of a rung takes, from Python to Python, in microseconds."""

    first_us: float  # the first call after loading
    steady_us: float  # the median of later calls
    calls: int  # how many that median is of


@dataclass(frozen=True)
class Answer:
    """What one rung says of one image."""

    image: str
    backend: str
    probabilities: NDArray[np.float32]
    timing: Timing  # the rung's, taken on the first image it answered
    difference: float | None  # largest, from the probabilities of the rung it is judged by
    agrees: bool  # the same digit, within the tolerance

    @property
    def digit(self) -> int:
        """The most probable class."""
        return int(self.probabilities.argmax())


@dataclass(frozen=True)
class Answered:
    """One image: what was seen, and each rung's answer."""

    image: str
    seen: NDArray[np.float32]
    answers: tuple[Answer, ...]


@dataclass(frozen=True)
class Failure:
    """One image that could not be answered, and why."""

    image: str
    error: str


Outcome = Answered | Failure


@dataclass
class OpenRung:
    """A rung that has been loaded."""

    name: str
    backend: Backend
    timing: Timing | None = None

    def infer(self, image: NDArray[np.float32]) -> NDArray[np.float32]:
        """The probabilities; the very first call is timed, and the steady state after it."""
        if self.timing is not None:
            return self.backend.infer(image)
        start = time.perf_counter_ns()
        probabilities = self.backend.infer(image)
        first = time.perf_counter_ns() - start
        steady, calls = _steady_state(self.backend, image)
        self.timing = Timing(first / 1000, steady / 1000, calls)
        return probabilities


@dataclass(frozen=True)
class OpenLadder:
    """The rungs that were asked for and run here, and why the others do not."""

    rungs: tuple[OpenRung, ...]
    passed_over: dict[str, str] = field(default_factory=dict)

    @property
    def frameworks(self) -> bool:
        """Whether any of them is somebody else's, who may print what he likes when he answers."""
        return any(find(rung.name)[0].framework for rung in self.rungs)


def open_rungs(
    asked: Sequence[str],
    weights: Weights,
    threads: int = 1,
    device: Device | None = None,
    *,
    quiet: bool = True,
) -> OpenLadder:
    """Load the rungs: by name, `auto` for the first of the ladder that runs, `all` for each.

    With a device, only what runs there: torch is then torch@gpu.
    Raises Unavailable where a rung asked for by name cannot run, or none can, and LenetBenchError
    where its API cannot run on that device.
    """
    opened: dict[str, OpenRung] = {}
    passed_over: dict[str, str] = {}
    usual = [rung for rung in LADDER if device is None or rung.on(device)]
    several = {
        AUTO: [on_device(rung.name, device) for rung in usual],
        ALL: names(gone=False, device=device),
    }
    for name in asked:
        candidates = several.get(name) or [name := on_device(name, device)]
        for candidate in candidates:
            try:
                if candidate not in opened:
                    backend = load(candidate, threads=threads, weights=weights, quiet=quiet)
                    opened[candidate] = OpenRung(candidate, backend)
            except Unavailable as error:
                if candidate == name:
                    raise
                passed_over[candidate] = str(error)
            else:
                if name == AUTO:
                    break
    if not opened:
        raise Unavailable("no rung runs here; `lenet-bench doctor` says why and what mends it")
    ladder = tuple(opened[name] for name in every_name() if name in opened)
    return OpenLadder(ladder, passed_over)


def in_order(asked: Sequence[str], weights: Weights, device: Device | None = None) -> list[str]:
    """The names of those that `open_rungs` would try, in the ladder's order."""
    chosen = {on_device(name, device) for name in asked if name not in (AUTO, ALL)}
    if ALL in asked:
        chosen.update(names(gone=False, device=device))
    if AUTO in asked:
        chosen.add(open_rungs([AUTO], weights, device=device).rungs[0].name)
    return [name for name in every_name() if name in chosen]


def expand(arguments: Iterable[str]) -> list[str]:
    """The images that the arguments name; patterns that no shell expanded are expanded here."""
    images: list[str] = []
    for argument in arguments:
        is_pattern = glob.has_magic(argument) and not os.path.lexists(argument)
        found = sorted(glob.glob(argument, recursive=True)) if is_pattern else []  # noqa: PTH207
        images += found or [argument]
    return images


def infer(
    images: Iterable[str], rungs: Sequence[OpenRung], steps: Path | None = None
) -> Iterator[Outcome]:
    """Each image's answers in turn; with `steps`, the steps of its reading go into that folder."""
    stems: set[str] = set()
    for image in images:
        try:
            taken = _read(image)
        except ImageError as error:
            yield Failure(image, str(error))
            continue
        seen = taken[-1].picture
        yield Answered(image, seen, tuple(_ask(rungs, image, seen)))
        if steps is not None:
            _write_steps(steps, _stem(image, stems), taken)


def all_agree(outcomes: Iterable[Outcome]) -> bool:
    """Whether every image was answered, and by all rungs alike."""
    return all(
        isinstance(outcome, Answered) and all(answer.agrees for answer in outcome.answers)
        for outcome in outcomes
    )


def to_json(outcome: Outcome) -> Iterator[dict[str, Any]]:
    """An object for each rung's answer, or one for a failure."""
    if isinstance(outcome, Failure):
        yield {"image": outcome.image, "error": outcome.error}
        return
    for answer in outcome.answers:
        yield {
            "image": answer.image,
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


def _ask(rungs: Sequence[OpenRung], image: str, seen: NDArray[np.float32]) -> Iterator[Answer]:
    """Each rung's answer, judged by the reference where it is among them, else by the first."""
    found = {rung.name: rung.infer(seen) for rung in rungs}
    judge = "reference" if "reference" in found else rungs[0].name
    for rung in rungs:
        probabilities, truth = found[rung.name], found[judge]
        difference = float(np.abs(probabilities - truth).max())
        allowed = max(tolerance(rung.name), tolerance(judge))
        assert rung.timing is not None
        yield Answer(
            image=image,
            backend=rung.name,
            probabilities=probabilities,
            timing=rung.timing,
            difference=None if rung.name == judge else difference,
            # written so that NaN disagrees
            agrees=bool(probabilities.argmax() == truth.argmax()) and difference <= allowed,
        )


def _steady_state(backend: Backend, image: NDArray[np.float32]) -> tuple[float, int]:
    """The median nanoseconds of a call once warm, and how many calls it is of.

    The clock decides when the rung is warm and when there are enough calls. The calls take turns
    with shifted copies of the image, so that nobody can answer from a cache.
    """
    shifts = [(0, 0), (0, 1), (1, 0), (1, 1), (0, -1), (-1, 0), (-1, -1), (1, -1)]
    images = [np.roll(image, shift, axis=(0, 1)) for shift in shifts]
    samples: list[int] = []
    clock, infer = time.perf_counter_ns, backend.infer
    calls, end = 0, clock() + _WARM_UP
    while clock() < end:
        infer(images[calls % len(images)])
        calls += 1
    end = clock() + _TIMED
    while (start := clock()) < end or len(samples) < _FEWEST_CALLS:
        infer(images[len(samples) % len(images)])
        samples.append(clock() - start)
    return float(np.median(samples)), len(samples)


def _read(image: str) -> list[Step]:
    """The steps from the file to what the network sees, the last one's picture."""
    if image != STANDARD_INPUT:
        return explain(image)
    if sys.stdin is None:
        raise ImageError("standard input is closed")
    try:
        return explain(sys.stdin.buffer)
    except OSError as error:
        raise ImageError(f"standard input cannot be read: {error.strerror}") from None


def _stem(image: str, taken: set[str]) -> str:
    """The name that an image's steps begin with; images of one name are numbered."""
    name = "stdin" if image == STANDARD_INPUT else Path(image).stem
    numbered = (f"{name}~{n}" for n in itertools.count(2))
    stem = next(stem for stem in itertools.chain([name], numbered) if stem not in taken)
    taken.add(stem)
    return stem


def _write_steps(folder: Path, stem: str, steps: Sequence[Step]) -> None:
    """Each step's picture as `<stem>-<number>-<step>.png`."""
    from PIL import Image

    for number, step in enumerate(steps, 1):
        path = folder / f"{stem}-{number}-{step.name}.png"
        content = io.BytesIO()
        pixels = np.rint(np.clip(step.picture, 0, 1) * 255).astype(np.uint8)
        Image.fromarray(pixels).save(content, "PNG")
        with writing(path):
            write_atomically(path, content.getvalue(), durable=False)
