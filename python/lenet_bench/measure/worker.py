"""One rung in a process of its own: it builds the rung and does as the parent tells it.

    python -m lenet_bench.measure.worker READ_FD WRITE_FD PARENT_PID

The cores and the environment were pinned before this process began. It says nothing on standard
output: what is printed there, the rung printed.
"""

import gc
import os
import resource
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..backends import Backend, find, load
from ..errors import LenetBenchError, Unavailable
from ..lifeline import die_with
from ..network import CLASSES, IMAGE_SIDE
from ..weights import read_weights
from .nvml import Meter, Span, open_meter
from .own_process import peak_rss_mib
from .protocol import Channel, ClosedError, Message, decode, encode

Image = NDArray[np.float32]

_FEWEST_CALLS = 10  # of a turn, however slow the rung
_FEWEST_BATCHES = 3
_ROTATING_BATCHES = 3  # the same images, each time from another one on
_PROBE_BLOCK = 8
_PROBE_BLOCKS = 6
_PROBE_S = 0.5
_RUNNING = 0.01  # a thread that used less of the span is not running


class WrongAnswerError(Exception):
    """The rung answered with something that is not ten probabilities in float32."""


def main() -> None:
    """Answer the parent until it hangs up."""
    began_ns = time.monotonic_ns()
    read_fd, write_fd, parent = map(int, sys.argv[1:])
    die_with(parent)
    for fd in (read_fd, write_fd):
        os.set_inheritable(fd, False)
    channel = Channel(read_fd, write_fd)
    try:
        rung = _start(channel, began_ns)
        while True:
            _answer(channel, rung)
    except (ClosedError, EOFError):
        return


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
        return {"answers": _encode_answers(answers)}

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
        threads = _thread_cpu_ns()
        before, cpu_ns = resource.getrusage(resource.RUSAGE_SELF), time.process_time_ns()
        calls = self._single_calls(message["timed_s"], fewest=_FEWEST_CALLS, **rest)
        cpu_ns = time.process_time_ns() - cpu_ns
        after = resource.getrusage(resource.RUSAGE_SELF)
        running = _running(threads, _thread_cpu_ns(), sum(calls.samples_ns))
        gpu = span.end() if span else None

        if [image.tobytes() for image in self._images] != self._originals:
            raise WrongAnswerError("infer changed the image that it was given")
        reply = {
            "samples_ns": calls.samples_ns,
            "answers": _encode_answers(list(calls.answers.values())),
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
            _time_calls(self._infer, inputs, message["warm_s"], fewest=1)
            calls = _time_calls(self._infer, inputs, message["timed_s"], fewest=_FEWEST_BATCHES)
            answers = [_checked(answer, (size, CLASSES)) for answer in calls.answers.values()]
        except Exception as error:
            return {"refused": _sentence(error)}
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
        from .loadgen import run

        folder, accuracy = Path(message["folder"]), message["accuracy"]
        return run(self._infer, _separate(message["images"]), folder, accuracy=accuracy)

    def _fall_idle(self) -> None:
        """What it uses from now to its next turn disturbs the others."""
        self._left = time.perf_counter_ns(), time.process_time_ns()

    def _single_calls(self, seconds: float, fewest: int, **rest: Any) -> "Calls":
        """The images go on rotating where the last calls left off."""
        calls = _time_calls(self._infer, self._images, seconds, fewest, first=self._first, **rest)
        self._first = (self._first + len(calls.samples_ns)) % len(self._images)
        return calls


@dataclass(frozen=True)
class Calls:
    """Some timed calls."""

    samples_ns: list[int]
    answers: dict[int, Any]  # the last one to each input, by its number
    wall_ns: int  # from the first call, or the wait before it, to the end of the last


def _time_calls(
    infer: Callable[[Image], Any],
    inputs: Sequence[Image],
    seconds: float,
    fewest: int,
    most: int | None = None,
    interval_s: float | None = None,
    first: int = 0,
) -> Calls:
    """Time calls until the clock says so, idle before each where there is an interval.

    Within a sample lie the call and one reading of the clock; everything else is outside.
    """
    clock, sleep = time.perf_counter_ns, time.sleep
    samples: list[int] = []
    answers: dict[int, Any] = {}
    number = first
    began = stop = clock()
    end = began + int(seconds * 1e9)
    enough = most or sys.maxsize
    while len(samples) < enough and (stop < end or len(samples) < fewest):
        image = inputs[number]
        if interval_s:
            sleep(interval_s)
        start = clock()
        answer = infer(image)
        stop = clock()
        samples.append(stop - start)
        answers[number] = answer
        number += 1
        if number == len(inputs):
            number = 0
    return Calls(samples, answers, stop - began)


def _start(channel: Channel, began_ns: int) -> MeasuredRung:
    """Build the rung and answer the first image; every part of the way has its time."""
    message = channel.receive()
    try:
        sys.path[:0] = message["path"]
        image = decode(message["image"], IMAGE_SIDE, IMAGE_SIDE)
        clock = time.perf_counter
        times = [clock()]
        factory = _import(message)
        times.append(clock())
        weights = read_weights(message["weights"])
        times.append(clock())
        backend = factory(weights)
        times.append(clock())
        answer = backend.infer(image)
        times.append(clock())
        runs = backend.describe()
        meter = open_meter(runs) if message["device"] == "gpu" else None
        rung = MeasuredRung(backend, meter)
        parts = np.diff(times).tolist()
        reply = {
            "cold_start": {
                "process_s": (began_ns - message["spawned_ns"]) / 1e9,
                **dict(zip(("import_s", "weights_s", "build_s", "first_s"), parts, strict=True)),
            },
            "answers": _encode_answers([answer]),
            "runs": runs,
            "gpu": meter.name if meter else None,
        }
    except BaseException as error:
        _give_up(channel, error)
    gc.collect()
    gc.freeze()  # collections while timing look at the rung's new objects only
    channel.send(reply)
    return rung


def _import(message: Message) -> Callable[[Any], Backend]:
    """Import the rung's API now; what comes back builds the rung from weights."""
    threads = message["threads"]
    if message["factory"]:  # from outside the ladder
        module, _, name = message["factory"].partition(":")
        make = getattr(import_module(module), name)
        return lambda weights: make(weights, threads=threads)
    name = message["name"]
    module, _, _ = find(name)[0].exhibit.partition(":")
    with suppress(Exception):  # `load` says it in a sentence that ends with what mends it
        import_module(f"lenet_bench.backends.{module}")
    return lambda weights: load(name, threads=threads, weights=weights, quiet=False)


def _answer(channel: Channel, rung: MeasuredRung) -> None:
    message = channel.receive()
    commands = (
        rung.keep,
        rung.check,
        rung.probe,
        rung.turn,
        rung.batch,
        rung.profile,
        rung.dissect,
        rung.loadgen,
    )
    try:
        reply = {command.__name__: command for command in commands}[message["do"]](message)
    except BaseException as error:
        _give_up(channel, error)
    channel.send(reply)


def _give_up(channel: Channel, error: BaseException) -> NoReturn:
    """Tell the parent all of it and end: a rung that failed once is not timed again."""
    status = "crashed"
    if isinstance(error, Unavailable):
        status = "unavailable"
    elif isinstance(error, WrongAnswerError):
        status = "wrong"
    text = None if _is_expected(error) else "".join(traceback.format_exception(error))
    with suppress(ClosedError):
        failure = {"status": status, "reason": _sentence(error), "traceback": text}
        channel.send({"failure": failure})
    sys.stdout.flush()
    os._exit(1)  # what the rung registered for the exit may hang


def _is_expected(error: BaseException) -> bool:
    return isinstance(error, (LenetBenchError, WrongAnswerError))


def _sentence(error: BaseException) -> str:
    return str(error) if _is_expected(error) else f"{type(error).__name__}: {error}".rstrip(": ")


def _separate(images: str) -> Sequence[Image]:
    """Each image an array of its own, as an application would have it."""
    return [image.copy() for image in decode(images, -1, IMAGE_SIDE, IMAGE_SIDE)]


def _encode_answers(answers: Sequence[Any]) -> str:
    return encode(np.array([_checked(answer, (CLASSES,)) for answer in answers], np.float32))


def _checked(answer: Any, shape: tuple[int, ...]) -> Image:
    if not isinstance(answer, np.ndarray):
        raise WrongAnswerError(f"infer returned {type(answer).__name__}, expected a NumPy array")
    if answer.shape != shape or answer.dtype != np.float32:
        found = f"{answer.dtype} {answer.shape}"
        raise WrongAnswerError(f"infer returned {found}, expected float32 {shape}")
    return answer


def _thread_cpu_ns() -> dict[str, int]:
    """Each thread's CPU time, as far as this system tells."""
    found = {}
    for thread in Path("/proc/self/task").glob("*/schedstat"):
        try:
            found[thread.parent.name] = int(thread.read_text().split()[0])
        except OSError:
            continue  # it ended just now
    return found


def _running(before: dict[str, int], after: dict[str, int], wall_ns: int) -> int | None:
    busy = (name for name in after if after[name] - before.get(name, 0) > _RUNNING * wall_ns)
    return sum(1 for _ in busy) or None


if __name__ == "__main__":
    main()
