"""A rung that has been built, as the parent has it checked, probed and timed."""

import resource
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..backends import Backend
from ..errors import LenetBenchError
from ..network import CLASSES, IMAGE_SIDE
from .calls import Calls, Image, time_calls
from .nvml import Meter, Span
from .own_process import peak_rss_mib, running_threads, thread_cpu_ns
from .protocol import Message, decode, encode

_FEWEST_CALLS = 10  # of a turn, however slow the rung
_FEWEST_BATCHES = 3
_ROTATING_BATCHES = 3  # the same images, each time from another one on
_PROBE_BLOCK = 8
_PROBE_BLOCKS = 6
_PROBE_S = 0.5


class WrongAnswerError(Exception):
    """The rung answered with something that is not ten probabilities in float32."""


class MeasuredRung:
    """A rung that has been built, and the images that it is timed with."""

    def __init__(self, backend: Backend, meter: Meter | None = None) -> None:
        self._infer = backend.infer
        self._describe = backend.describe
        self._profile = getattr(backend, "profile", None)
        self._meter = meter  # of the GPU that it runs on
        self._images: list[Image] = []
        self._originals: list[bytes] = []
        self._first = 0
        self._fall_idle()

    def keep(self, message: Message) -> Message:
        """The images that will rotate; answer each, one call an image."""
        self._images = list(_separate(message["images"]))
        self._originals = [image.tobytes() for image in self._images]
        reply = self.check(message)
        self._fall_idle()
        return reply

    def check(self, message: Message) -> Message:
        """Answer these images, one call an image."""
        answers = [self._infer(image) for image in _separate(message["images"])]
        return {"answers": encode_answers(answers)}

    def probe(self, _: Message) -> Message:
        """Time an image repeated, images that rotate and images never seen, in turns of blocks."""
        random = np.random.default_rng(time.time_ns())
        times: dict[str, list[int]] = {"repeated": [], "rotated": [], "fresh": []}
        end = time.monotonic() + _PROBE_S
        for block in range(_PROBE_BLOCKS):
            if block > 1 and time.monotonic() > end:
                break
            for kind, found in times.items():
                first = True
                for number in range(_PROBE_BLOCK):
                    image = self._images[number % len(self._images)]
                    fresh = image * np.float32(random.uniform(0.9, 1))  # as sparse, as hot
                    choice = {"repeated": self._images[0], "rotated": image, "fresh": fresh}[kind]
                    begin = time.perf_counter_ns()
                    self._infer(choice)
                    took = time.perf_counter_ns() - begin
                    if not first:
                        found.append(took)
                    first = False
        self._fall_idle()
        return {f"{kind}_us": float(np.median(found)) / 1000 for kind, found in times.items()}

    def turn(self, message: Message) -> Message:
        """Re-warm by the clock, then time single calls with rotating images for some time."""
        came = time.perf_counter_ns(), time.process_time_ns()
        left = self._left
        rest = {"most": message["most"], "interval_s": message["interval_s"]}
        self._single_calls(message["warm_s"], fewest=2, **rest)

        span = Span(self._meter) if self._meter else None
        threads = thread_cpu_ns()
        before, cpu_ns = resource.getrusage(resource.RUSAGE_SELF), time.process_time_ns()
        calls = self._single_calls(message["timed_s"], fewest=_FEWEST_CALLS, **rest)
        cpu_ns = time.process_time_ns() - cpu_ns
        after = resource.getrusage(resource.RUSAGE_SELF)
        running = running_threads(threads, thread_cpu_ns(), sum(calls.samples_ns))
        gpu = span.end() if span else None

        if [image.tobytes() for image in self._images] != self._originals:
            raise WrongAnswerError("infer changed the image that it was given")
        reply = {
            "samples_ns": calls.samples_ns,
            "answers": encode_answers(list(calls.answers.values())),
            "answered": list(calls.answers),
            "wall_ns": calls.wall_ns,
            "cpu_ns": cpu_ns,
            "preempted": after.ru_nivcsw - before.ru_nivcsw,
            "waited": after.ru_nvcsw - before.ru_nvcsw,
            "idle_ns": came[0] - left[0],
            "idle_cpu_ns": came[1] - left[1],
            "turn_cpu_ns": time.process_time_ns() - came[1],
            "threads_alive": len(threads) or None,
            "threads_running": running,
            "peak_rss_mib": peak_rss_mib(),
            "gpu": gpu,
        }
        self._fall_idle()
        return reply

    def batch(self, message: Message) -> Message:
        """Re-warm, then time calls with so many images each; a refusal costs this size only."""
        size, count = message["size"], len(self._images)
        known = [[(n + first) % count for n in range(size)] for first in range(_ROTATING_BATCHES)]
        try:
            inputs = [np.stack([self._images[n] for n in numbers]) for numbers in known]
            time_calls(self._infer, inputs, message["warm_s"], fewest=1)
            calls = time_calls(self._infer, inputs, message["timed_s"], fewest=_FEWEST_BATCHES)
            answers = [_checked(answer, (size, CLASSES)) for answer in calls.answers.values()]
        except Exception as error:
            return {"refused": sentence(error)}
        return {
            "samples_ns": calls.samples_ns,
            "answers": encode(np.concatenate(answers)),
            "answered": [number for first in calls.answers for number in known[first]],
        }

    def profile(self, _: Message) -> Message:
        """Where the time of a call on a GPU goes, in a run that is not timed otherwise.

        First whether it computes there still: to describe it is to prove that.
        """
        self._describe()
        return {"profile_us": self._profile(self._images[0]) if self._profile else None}

    def dissect(self, message: Message) -> Message:
        """What a call is made of, by `why`."""
        from .anatomy import dissect

        return dissect(self._infer, self._images, message["seconds"])

    def loadgen(self, message: Message) -> Message:
        """Be asked by MLPerf's LoadGen."""
        from .loadgen import AtHand, Test, run

        images, folder = _separate(message["images"]), Path(message["folder"])
        test, parents = Test(**message["test"]), AtHand(**message["parents"])
        return run(self._infer, images, folder, test, parents)

    def _fall_idle(self) -> None:
        """What it uses from now to its next turn disturbs the others."""
        self._left = time.perf_counter_ns(), time.process_time_ns()

    def _single_calls(self, seconds: float, fewest: int, **rest: Any) -> Calls:
        """The images go on rotating where the last calls left off."""
        calls = time_calls(self._infer, self._images, seconds, fewest, first=self._first, **rest)
        self._first = (self._first + len(calls.samples_ns)) % len(self._images)
        return calls


def _separate(images: str) -> Sequence[Image]:
    """Each image an array of its own, as an application would have it."""
    return [image.copy() for image in decode(images, -1, IMAGE_SIDE, IMAGE_SIDE)]


def encode_answers(answers: Sequence[Any]) -> str:
    """Refused unless each is ten probabilities."""
    return encode(np.array([_checked(answer, (CLASSES,)) for answer in answers], np.float32))


def is_expected(error: BaseException) -> bool:
    """Whether one of our sentences says it all; else it has a traceback to show."""
    return isinstance(error, (LenetBenchError, WrongAnswerError))


def sentence(error: BaseException) -> str:
    """What is told of an error in one line."""
    return str(error) if is_expected(error) else f"{type(error).__name__}: {error}".rstrip(": ")


def _checked(answer: Any, shape: tuple[int, ...]) -> Image:
    if not isinstance(answer, np.ndarray):
        raise WrongAnswerError(f"infer returned {type(answer).__name__}, expected a NumPy array")
    if answer.shape != shape or answer.dtype != np.float32:
        found = f"{answer.dtype} {answer.shape}"
        raise WrongAnswerError(f"infer returned {found}, expected float32 {shape}")
    return answer
