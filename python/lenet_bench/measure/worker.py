"""The process of one backend: it builds the backend and answers the parent's questions.

The parent sets the cores and the environment before this process starts.
"""

import gc
import os
import resource
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..between import Between
from ..errors import LenetBenchError, Unavailable, Unsupported
from ..network import CLASSES
from ..process import HungUp, Parent
from ..registry import Network
from ..subjects.subject import Subject, received
from ..weights import Weights
from . import messages
from .calls import Before, Image, clock, time_calls
from .messages import Answers
from .pinning import threads_cores

_FEWEST_BATCHES = 3
_PATIENCE = 4  # times as long as wanted, where the machine is disturbed
_ROTATING_BATCHES = 3  # of the same images, each beginning at another one
_PROBE_BLOCK = 8
_PROBE_TURNS, _PROBE_LONGEST_S = 3, 5.0  # for slow calls: a stall lasts longer than a turn
_IDLE_S = 0.02
_RUNNING = 0.01  # a thread with a smaller share of the span is idle


class WrongAnswerError(Exception):
    """The backend answered with something of another kind than what it was asked for."""


def serve(parent: Parent) -> None:
    """Answer until the parent hangs up or something fails."""
    began_ns = time.monotonic_ns()
    built: Built | None = None
    while True:
        question = messages.question_of(parent.hear())
        try:
            answer: Any
            if built is None:
                built, answer = _start(question, began_ns)
            else:
                answer = _ANSWERS[type(question)](built, question)
            parent.say(messages.packed(answer))
        except HungUp:
            raise
        except BaseException as error:
            parent.say(messages.packed(_failure(error)))
            return


def _start(question: messages.Build, began_ns: int) -> tuple["Built", messages.Started]:
    """Build the backend and answer the first input, and time each step."""
    sys.path[:0] = question.path
    name, threads = question.name, question.threads
    subject = received(question.subject)
    times = [clock()]
    subject.import_api(name)
    times.append(clock())
    weights = subject.weights()
    times.append(clock())
    network = subject.build(name, threads, weights, question.first)
    times.append(clock())
    answer = network.infer(question.first)
    times.append(clock())
    checked_answers([answer], subject.floats)
    built = Built(network, subject, weights, name, threads)
    parts = (np.diff(times) / 1e9).tolist()
    steps = dict(zip(("import_s", "weights_s", "build_s", "first_s"), parts, strict=True))
    process_s = (began_ns - question.started_ns) / 1e9
    started = messages.Started(process_s, **steps, runs=built.describe())
    gc.collect()
    gc.freeze()  # collections while timing look at new objects only
    return built, started


def _failure(error: BaseException) -> messages.Failure:
    status: messages.How = "crashed"
    if isinstance(error, Unavailable):
        status = "unavailable"
    elif isinstance(error, Unsupported):
        status = "unsupported"
    elif isinstance(error, WrongAnswerError):
        status = "wrong"
    text = None if _is_expected(error) else "".join(traceback.format_exception(error))
    return messages.Failure(status, _sentence(error), text)


def _is_expected(error: BaseException) -> bool:
    """Whether the message alone explains the error; else the traceback is kept."""
    return isinstance(error, (LenetBenchError, WrongAnswerError))


def _sentence(error: BaseException) -> str:
    """An error in one line."""
    return str(error) if _is_expected(error) else f"{type(error).__name__}: {error}".rstrip(": ")


class Built:
    """A backend and the inputs that it is timed with. A method answers a question of the parent."""

    def __init__(
        self, network: Network, subject: Subject, weights: Weights, name: str, threads: int
    ) -> None:
        self._subject, self._weights = subject, weights
        self._name, self._threads = name, threads
        self._networks = [network]
        self._infer = network.infer
        self.describe = getattr(network, "describe", dict)
        self._profile = getattr(network, "profile", None)
        self._images: list[Image] = []
        self._cpu_ns: dict[str, int] = {}  # of each thread, before the timed calls
        self._before = Before()

    def keep(self, question: messages.Keep) -> Answers:
        self._images = _separate(question.inputs)
        return self._answers(question.inputs)

    def check(self, question: messages.Check) -> Answers:
        return self._answers(question.inputs)

    def _answers(self, inputs: Any) -> Answers:
        """To each, in a call of its own."""
        return Answers(self._checked([self._infer(one) for one in _separate(inputs)]))

    def _checked(self, answers: Sequence[Any]) -> Any:
        return checked_answers(answers, self._subject.floats)

    def probe(self, question: messages.Probe) -> messages.Probed:
        new, known = _separate(question.inputs), self._images
        times: dict[str, list[int]] = {"repeated": [], "rotated": [], "fresh": []}
        answers: list[Any] = []  # to the new ones
        began = clock()
        end, longest = (began + int(s * 1e9) for s in (question.seconds, _PROBE_LONGEST_S))
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
        return messages.Probed(len(answers), self._checked(answers), **medians)

    def warm(self, question: messages.Warm) -> messages.Nothing:
        between = Between(**question.between)
        self._before = Before(between, partial(self._infer, self._images[0]))
        limits: dict[str, Any] = {"most": question.most, "before": self._before}
        time_calls(self._infer, self._images, question.seconds, 2, **limits)
        self._cpu_ns = thread_cpu_ns()
        return messages.Nothing()

    def time(self, question: messages.Time) -> messages.Timed:
        """The parent takes the time around it."""
        images = _separate(question.inputs)
        between = self._before if question.has_gaps else Before()
        before, cpu_ns = resource.getrusage(resource.RUSAGE_SELF), time.process_time_ns()
        cpu_ns -= between.cpu_ns
        calls = time_calls(
            self._infer,
            images,
            question.seconds,
            question.fewest,
            most=question.most,
            before=between,
            patience=question.patience,
            undisturbed_ns=question.undisturbed_ns,
        )
        cpu_ns = time.process_time_ns() - between.cpu_ns - cpu_ns
        after = resource.getrusage(resource.RUSAGE_SELF)
        of_images = isinstance(question.inputs, np.ndarray)  # a model's are dicts of arrays
        if of_images and not np.array_equal(images, question.inputs):
            raise WrongAnswerError("infer changed the input that it was given")
        return messages.Timed(
            np.array(calls.samples_ns, np.int64),
            calls.slices,
            calls.made,
            answers=self._checked([answer for _, answer in calls.answers]),
            answered=[number for number, _ in calls.answers],
            began_ns=calls.began_ns,
            wall_ns=calls.wall_ns,
            cpu_ns=cpu_ns,
            preempted=after.ru_nivcsw - before.ru_nivcsw,
            waited=after.ru_nvcsw - before.ru_nvcsw,
            now_ns=clock(),
        )

    def resources(self, question: messages.AskResources) -> messages.Resources:
        threads = thread_cpu_ns()
        return messages.Resources(
            len(threads) or None,
            running_threads(self._cpu_ns, threads, question.timed_ns),
            _idle_share(),
            tuple(_cores()),
            peak_rss_mib(),
        )

    def batch(self, question: messages.TimeBatch) -> messages.BatchTimed:
        """A refusal costs this size only."""
        size, count = question.size, len(self._images)
        if size > 1 and self._subject.takes_one_input(self._name):
            return messages.BatchTimed(
                "it takes one image a call: a batch would be a loop of calls"
            )
        known = [[(n + first) % count for n in range(size)] for first in range(_ROTATING_BATCHES)]
        try:
            together = self._subject.together
            inputs = [together([self._images[n] for n in numbers]) for numbers in known]
            time_calls(self._infer, inputs, question.warm_s, fewest=1)
            calls = time_calls(
                self._infer, inputs, question.timed_s, fewest=_FEWEST_BATCHES, patience=_PATIENCE
            )
            answers = [self._apart(answer, size) for _, answer in calls.answers]
        except Exception as error:
            return messages.BatchTimed(_sentence(error))
        return messages.BatchTimed(
            None,
            np.array(calls.samples_ns, np.int64),
            calls.slices,
            self._checked([one for answer in answers for one in answer]),
            [number for first, _ in calls.answers for number in known[first]],
        )

    def _apart(self, answer: Any, size: int) -> Sequence[Any]:
        """The answers to the inputs of a batch."""
        if self._subject.floats is None:
            return self._subject.apart(answer, size)
        return list(_checked(answer, (size, self._subject.floats)))

    def callers(self, question: messages.TimeCallers) -> messages.CallersTimed:
        """A refusal costs this number of callers only."""
        from .callers import call_together

        try:
            calls = self._calls_of(question.number, question.is_shared)
            call_together(calls, self._images, question.warm_s)
            found = call_together(calls, self._images, question.timed_s, question.begin_ns)
        except Exception as error:
            return messages.CallersTimed(_sentence(error))
        answered = [one for own in found for one in own.answers]
        return messages.CallersTimed(
            None,
            np.array([ns for own in found for ns in own.samples_ns], np.int64),
            min(own.began_ns for own in found),
            [(own.made, own.began_ns + own.wall_ns) for own in found],
            rss_mib(),
            self._checked([answer for _, answer in answered]),
            [number for number, _ in answered],
        )

    def _calls_of(self, number: int, is_shared: bool) -> list[Callable[[Any], Any]]:
        """What each of so many callers calls, without a lock of ours."""
        first = self._images[0]
        while not is_shared and len(self._networks) < number:
            build = (self._name, self._threads, self._weights, first)
            self._networks.append(self._subject.build(*build))
        networks = self._networks[:1] * number if is_shared else self._networks[:number]
        for network in networks:
            getattr(network, "let_all_in", lambda: None)()
        return [network.infer for network in networks]

    def gil(self, question: messages.AskForGil) -> messages.GilAsked:
        from .gil import ask_for_gil

        asked = ask_for_gil(self._infer, self._images, question.seconds, question.cores)
        return messages.GilAsked(*asked)

    def time_few(self, question: messages.TimeFew) -> messages.FewTimed:
        images = _separate(question.inputs)
        time_calls(self._infer, images, 0.0, fewest=1)
        calls = time_calls(
            self._infer, images, question.seconds, question.fewest, most=question.most
        )
        first = next(answer for number, answer in calls.answers if number == 0)
        return messages.FewTimed(self._checked([first])[0], np.array(calls.samples_ns, np.int64))

    def profile(self, _: messages.Profile) -> messages.Profiled:
        """Describing the backend first proves that it still computes on the GPU."""
        self.describe()
        return messages.Profiled(self._profile(self._images[0]) if self._profile else None)

    def build_experiments(self, _: messages.BuildExperiments) -> messages.Turns:
        from .experiments import Experiments, built_probes

        first = self._images[0]
        build = (self._subject, self._name, self._weights, self._threads, first)
        probes = built_probes(*build, self._infer)
        self._experiments = Experiments(probes, self._infer, self._images)
        return self._experiments.turns

    def turn_of_experiments(self, question: messages.TurnOfExperiments) -> messages.Turns:
        self._experiments.turn(question.seconds)
        return self._experiments.turns

    def experiments(self, question: messages.AskExperiments) -> messages.Experiments:
        found, cores = self._experiments.found(), question.cores
        alone = self._experiments.on(cores) if found and cores else []
        return messages.Experiments(found + alone)

    def dissect(self, _: messages.Dissect) -> messages.Dissected:
        from .anatomy import dissect

        return messages.Dissected(dissect(self._infer, self._images))


_ANSWERS: dict[type, Callable[[Built, Any], Any]] = {
    messages.Keep: Built.keep,
    messages.Check: Built.check,
    messages.Probe: Built.probe,
    messages.Warm: Built.warm,
    messages.Time: Built.time,
    messages.AskResources: Built.resources,
    messages.TimeBatch: Built.batch,
    messages.TimeCallers: Built.callers,
    messages.AskForGil: Built.gil,
    messages.TimeFew: Built.time_few,
    messages.Profile: Built.profile,
    messages.Dissect: Built.dissect,
    messages.BuildExperiments: Built.build_experiments,
    messages.TurnOfExperiments: Built.turn_of_experiments,
    messages.AskExperiments: Built.experiments,
}


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
    return _memory_mib("VmHWM:")


def rss_mib() -> float | None:
    """The memory now."""
    return _memory_mib("VmRSS:")


def _memory_mib(kind: str) -> float | None:
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(kind):
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
