"""The process of one backend: it builds the backend and answers the parent's questions.

The parent sets the cores and the environment before this process starts.
"""

import gc
import os
import resource
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import Unavailable, Unsupported
from ..network import CLASSES
from ..process import HungUp, Parent
from ..registry import Network, find
from ..registry.building import import_backend
from .build_arguments import (
    BuildArguments,
    Reply,
    WrongAnswerError,
    is_expected,
    sentence,
    weights_of,
)
from .calls import Before, Image, clock, time_calls
from .pinning import threads_cores

Question = Mapping[str, Any]

_FEWEST_BATCHES = 3
_PATIENCE = 4  # times as long as wanted, where the machine is disturbed
_ROTATING_BATCHES = 3  # of the same images, each beginning at another one
_PROBE_BLOCK = 8
_PROBE_TURNS, _PROBE_LONGEST_S = 3, 5.0  # for slow calls: a stall lasts longer than a turn
_IDLE_S = 0.02
_RUNNING = 0.01  # a thread with a smaller share of the span is idle


def serve(parent: Parent) -> None:
    """Answer until the parent hangs up or something fails."""
    began_ns = time.monotonic_ns()
    built: Built | None = None
    while True:
        question = parent.hear()
        try:
            if built is None:
                built, answer = _start(question, began_ns)
            else:
                answer = getattr(built, question["do"])(question)
            parent.say(answer)
        except HungUp:
            raise
        except BaseException as error:
            parent.say({"failure": _failure(error)})
            return


def _start(question: Mapping[str, Any], began_ns: int) -> tuple["Built", Reply]:
    """Build the backend and answer the first image, and time each step."""
    sys.path[:0] = question["path"]
    times = [clock()]
    factory = _import(question)
    times.append(clock())
    network_name, model = question["network"], _model(question)
    weights = weights_of(network_name, question["weights"], model)
    times.append(clock())
    arguments = BuildArguments(
        question["name"], weights, question["threads"], factory, network_name, model
    )
    network = arguments.build()
    times.append(clock())
    answer = network.infer(question["image"])
    times.append(clock())
    parts = (np.diff(times) / 1e9).tolist()
    reply = {
        "cold_start": {
            "process_s": (began_ns - question["started_ns"]) / 1e9,
            **dict(zip(("import_s", "weights_s", "build_s", "first_s"), parts, strict=True)),
        },
        "answers": checked_answers([answer], arguments.answers),
        "runs": getattr(network, "describe", dict)(),
    }
    built = Built(network, arguments)
    gc.collect()
    gc.freeze()  # collections while timing look at new objects only
    return built, reply


def _model(question: Mapping[str, Any]) -> Any:
    """The file that takes LeNet's place, where there is one."""
    if not question["model"]:
        return None
    from ..models.callers import Model

    known = question["model"]
    files = Path(known["path"]), Path(known["own"])
    return Model(*files, question["image"], tuple(known["outputs"]))


def _import(question: Mapping[str, Any]) -> Any:
    """Import the backend's API; for a backend from elsewhere, its factory."""
    if question["factory"]:
        module, _, name = question["factory"].partition(":")
        return getattr(import_module(module), name)
    with suppress(Exception):  # `load` gives the reason and the command that fixes it
        import_backend(find(question["name"])[0])
    return None


def _failure(error: BaseException) -> dict[str, Any]:
    status = "crashed"
    if isinstance(error, Unavailable):
        status = "unavailable"
    elif isinstance(error, Unsupported):
        status = "unsupported"
    elif isinstance(error, WrongAnswerError):
        status = "wrong"
    text = None if is_expected(error) else "".join(traceback.format_exception(error))
    return {"status": status, "reason": sentence(error), "traceback": text}


class Built:
    """A backend and the images that it is timed with. A method answers a question of the parent."""

    def __init__(self, network: Network, arguments: BuildArguments) -> None:
        self._arguments = arguments
        self._infer = network.infer
        self._describe = getattr(network, "describe", dict)
        self._profile = getattr(network, "profile", None)
        self._images: list[Image] = []
        self._threads: dict[str, int] = {}  # their CPU times before the timed calls
        self._before = Before()

    def keep(self, question: Question) -> Reply:
        """Receive the rotating images, and answer each, one call an image."""
        self._images = _separate(question["images"])
        return self.check(question)

    def check(self, question: Question) -> Reply:
        answers = [self._infer(image) for image in _separate(question["images"])]
        return {"answers": checked_answers(answers, self._arguments.answers)}

    def probe(self, question: Question) -> Reply:
        """Time an image repeated, images that rotate and new images, in turns."""
        new, known = _separate(question["images"]), self._images
        times: dict[str, list[int]] = {"repeated": [], "rotated": [], "fresh": []}
        answers: list[Any] = []  # to the new ones
        began = clock()
        end, longest = (began + int(s * 1e9) for s in (question["seconds"], _PROBE_LONGEST_S))
        for block in range(len(new) // _PROBE_BLOCK):
            if block and clock() > (longest if block < _PROBE_TURNS else end):
                break
            for kind, samples in times.items():
                for number in range(_PROBE_BLOCK):
                    image = {
                        "repeated": known[0],
                        "rotated": known[number % len(known)],
                        "fresh": new[len(answers)],
                    }[kind]
                    begin = clock()
                    answer = self._infer(image)
                    took = clock() - begin
                    if kind == "fresh":
                        answers.append(answer)
                    if number:  # the first follows another kind of call
                        samples.append(took)
                    if number > 1 and clock() > end:  # slow calls: few of each kind
                        break
        medians = {f"{kind}_us": float(np.median(ns)) / 1000 for kind, ns in times.items()}
        # A slow call has few samples, and a stall among them is no sign of a cache.
        medians["fresh_us"] = min(times["fresh"]) / 1000
        return {"answers": checked_answers(answers, self._arguments.answers), **medians}

    def warm(self, question: Question) -> Reply:
        """Make calls with the rotating images, then begin to count resources."""
        between = {name: question[name] for name in ("cold_mb", "interval_s", "keep_warm_s")}
        self._before = Before(**between, call=partial(self._infer, self._images[0]))
        seconds, most = question["warm_s"], question["most"]
        time_calls(self._infer, self._images, seconds, 2, most=most, before=self._before)
        self._threads = thread_cpu_ns()
        return {}

    def time(self, question: Question) -> Reply:
        """Time single calls with these images in turns. The parent takes the time around it."""
        images = _separate(question["images"])
        between = self._before if question["gaps"] else Before()
        before, cpu_ns = resource.getrusage(resource.RUSAGE_SELF), time.process_time_ns()
        cpu_ns -= between.cpu_ns
        calls = time_calls(
            self._infer,
            images,
            question["seconds"],
            question["fewest"],
            most=question["most"],
            before=between,
            patience=question["patience"],
            undisturbed_loop_ns=question["undisturbed_loop_ns"],
        )
        cpu_ns = time.process_time_ns() - between.cpu_ns - cpu_ns
        after = resource.getrusage(resource.RUSAGE_SELF)
        if self._arguments.answers and not np.array_equal(images, question["images"]):
            raise WrongAnswerError("infer changed the input that it was given")
        return {
            "samples_ns": np.array(calls.samples_ns, np.int64),
            "slices": calls.slices,
            "made": calls.made,
            "answers": checked_answers(
                [answer for _, answer in calls.answers], self._arguments.answers
            ),
            "answered": [number for number, _ in calls.answers],
            "began_ns": calls.began_ns,
            "wall_ns": calls.wall_ns,
            "cpu_ns": cpu_ns,
            "preempted": after.ru_nivcsw - before.ru_nivcsw,
            "waited": after.ru_nvcsw - before.ru_nvcsw,
            "now_ns": clock(),
        }

    def resources(self, question: Question) -> Reply:
        """What the process used since its warm-up, which had timed calls of so many ns."""
        threads = thread_cpu_ns()
        return {
            "threads_alive": len(threads) or None,
            "threads_running": running_threads(self._threads, threads, question["timed_ns"]),
            "idle_share": _idle_share(),
            "cores": _cores(),
            "peak_rss_mib": peak_rss_mib(),
        }

    def batch(self, question: Question) -> Reply:
        """Warm up, then time calls with so many images each; a refusal costs this size only."""
        size, count = question["size"], len(self._images)
        if size > 1 and self._arguments.takes_one_image():
            return {"refused": "it takes one image a call: a batch would be a loop of calls"}
        known = [[(n + first) % count for n in range(size)] for first in range(_ROTATING_BATCHES)]
        try:
            inputs = [np.stack([self._images[n] for n in numbers]) for numbers in known]
            time_calls(self._infer, inputs, question["warm_s"], fewest=1)
            calls = time_calls(
                self._infer, inputs, question["timed_s"], fewest=_FEWEST_BATCHES, patience=_PATIENCE
            )
            answers = [_checked(answer, (size, CLASSES)) for _, answer in calls.answers]
        except Exception as error:
            return {"refused": sentence(error)}
        return {
            "samples_ns": np.array(calls.samples_ns, np.int64),
            "slices": calls.slices,
            "answers": np.concatenate(answers),
            "answered": [number for first, _ in calls.answers for number in known[first]],
        }

    def time_few(self, question: Question) -> Reply:
        """Answer the first of these images, and time a few calls with the others in turn."""
        images = _separate(question["images"])
        time_calls(self._infer, images, 0.0, fewest=1)
        limits = {name: question[name] for name in ("seconds", "fewest", "most")}
        calls = time_calls(self._infer, images, **limits)
        first = next(answer for number, answer in calls.answers if number == 0)
        return {
            "probabilities": checked_answers([first])[0],
            "samples_ns": np.array(calls.samples_ns, np.int64),
        }

    def profile(self, _: Question) -> Reply:
        """Where the time of a call on a GPU goes, in a separate profiled run.

        Describing the backend first proves that it still computes on the GPU.
        """
        self._describe()
        return {"profile_us": self._profile(self._images[0]) if self._profile else None}

    def build_experiments(self, _: Question) -> Reply:
        """Build the networks of `why`, which are timed a turn at a time."""
        from .experiments import build_experiments

        self._experiments = build_experiments(self._arguments, self._infer, self._images)
        return self._experiments.turns

    def turn_of_experiments(self, question: Question) -> Reply:
        self._experiments.turn(question["seconds"])
        return self._experiments.turns

    def experiments(self, question: Question) -> Reply:
        """What they took; where there are any, the call on these cores too, if given."""
        found, cores = self._experiments.found(), question["cores"]
        return {"experiments": found + (self._experiments.on(cores) if found and cores else [])}

    def dissect(self, _: Question) -> Reply:
        from .anatomy import dissect

        return dissect(self._infer, self._images)


def checked_answers(answers: Sequence[Any], floats: int | None = CLASSES) -> Any:
    """Raise WrongAnswerError unless each answer is so many floats, ten probabilities of LeNet.

    The parent checks those of a model.
    """
    if floats is None:
        return answers
    return np.array([_checked(answer, (floats,)) for answer in answers], np.float32)


def _separate(images: Any) -> list[Any]:
    """Each image as a separate array, as in an application; of a model, all its inputs."""
    return [deepcopy(image) for image in images]


def _checked(answer: Any, shape: tuple[int, ...]) -> Image:
    # Not a subclass: it could compute when its shape is read, which is after the clock.
    if type(answer) is not np.ndarray:
        plain = "plain " if isinstance(answer, np.ndarray) else ""
        name = type(answer).__name__
        raise WrongAnswerError(f"infer returned {name}, expected a {plain}NumPy array")
    if answer.shape != shape or answer.dtype != np.float32:
        got = f"{answer.dtype} {answer.shape}"
        raise WrongAnswerError(f"infer returned {got}, expected float32 {shape}")
    return answer


def _idle_share() -> float:
    """The share of a core that this process uses while idle."""
    began, cpu_ns = clock(), time.process_time_ns()
    time.sleep(_IDLE_S)
    return (time.process_time_ns() - cpu_ns) / (clock() - began)


def _cores() -> list[int]:
    """The cores on which the threads of this process may run, from the system."""
    if not hasattr(os, "sched_getaffinity"):
        return []
    return sorted(os.sched_getaffinity(0).union(*threads_cores().values()))


def peak_rss_mib() -> float | None:
    """The peak memory from the kernel; getrusage's includes the parent's size at the fork."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return None


def thread_cpu_ns() -> dict[str, int]:
    """Each thread's CPU time, as far as this system gives it."""
    found = {}
    for thread in Path("/proc/self/task").glob("*/schedstat"):
        try:
            found[thread.parent.name] = int(thread.read_text().split()[0])
        except OSError:
            continue  # it ended just now
    return found


def running_threads(before: dict[str, int], after: dict[str, int], wall_ns: int) -> int | None:
    """How many threads used CPU time in that span; None where unknown."""
    busy = (name for name in after if after[name] - before.get(name, 0) > _RUNNING * wall_ns)
    return sum(1 for _ in busy) or None
