"""Backends that fail, lie and leak, to be measured: each is a factory for `Entry(factory=...)`."""

# ruff: noqa: ARG002 - a backend has its interface whether it looks at its arguments or not

import ctypes
import mmap
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from lenet_bench import CompareOptions, Entry, compare, load
from lenet_bench.errors import Unavailable
from lenet_bench.measure import calls, messages, worker
from lenet_bench.why import Probe

LONG = 50_000_000  # characters


def entry(factory, name=None, **options):
    """The row that measures one of these."""
    here = str(Path(__file__).parent)
    path = f"scratch_backends:{factory.__name__}"
    return Entry(name or factory.__name__, factory=path, path=(here,), **options)


def measured(*factories, **options):
    """Compare these."""
    return compare(CompareOptions(tuple(map(entry, factories)), **options))


_TIME_CALLS = calls.time_calls


def timing():
    """The frame of the clock around this call, if this call is timed."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code is not _TIME_CALLS.__code__:
        frame = frame.f_back
    return frame


def timed():
    """Whether this call is a timed one: a backend cannot tell, but a test wants to be sure."""
    return timing() is not None


class Honest:
    """The numpy backend."""

    def __init__(self, weights, *, threads):
        self.network = load("numpy", threads=threads, weights=weights)
        self.begin()

    def begin(self):
        """What a subclass does once its network is there."""

    def infer(self, images):
        """What a subclass does to the right answer, and when."""
        return self.answer(images, self.network.infer(images))

    def answer(self, images, right):
        return right

    def describe(self):
        return {"backend": type(self).__name__}


def answering(name, answer):
    """Honest but for its answer, made of the images and of the right one."""
    return type(name, (Honest,), {"answer": lambda _, images, right: answer(images, right)})


AnswersWrongly = answering("AnswersWrongly", lambda _, right: np.roll(right, 1))
AnswersNaN = answering("AnswersNaN", lambda _, right: np.full_like(right, np.nan))
AnswersFloat64 = answering("AnswersFloat64", lambda _, right: right.astype(np.float64))
AnswersABatch = answering("AnswersABatch", lambda _, right: right[np.newaxis])
AnswersWronglyWhenTimed = answering(
    "AnswersWronglyWhenTimed", lambda _, right: np.roll(right, 1) if timed() else right
)
AnswersBatchesWrongly = answering(
    "AnswersBatchesWrongly", lambda images, right: right[::-1].copy() if images.ndim == 3 else right
)
AnswersOneWrongly = answering(
    "AnswersOneWrongly", lambda _, right: np.roll(right, 1) if right.size == 10 else right
)


class FailsWhenTimed(Honest):
    """Right until it is timed."""

    def answer(self, images, right):
        if timed():
            self.fail()  # type: ignore[attr-defined]
        return right


def failing(name, fail):
    """Right until it is timed; then it does this."""
    return type(name, (FailsWhenTimed,), {"fail": staticmethod(fail)})


KillsItself = failing("KillsItself", lambda: os.kill(os.getpid(), signal.SIGKILL))
ExitsQuietly = failing("ExitsQuietly", lambda: os._exit(0))
Hangs = failing("Hangs", lambda: time.sleep(3600))


class HangsInABatch(Honest):
    def answer(self, images, right):
        if images.ndim == 3:
            time.sleep(3600)
        return right


class HasASlowExperiment(Honest):
    @staticmethod
    def probes(_weights, **_):
        return [Probe("stage", "slow", lambda _: time.sleep(4))]


def closes_everything():
    os.closerange(3, 256)
    time.sleep(3600)


ClosesEverything = failing("ClosesEverything", closes_everything)


class ReadsAddressZero(FailsWhenTimed):
    def fail(self):
        ctypes.string_at(0)


class RaisesAtLength(FailsWhenTimed):
    """Its message is 100 MB long, and so its reason would be."""

    def fail(self):
        raise ValueError("é" * LONG)


class Raises(FailsWhenTimed):
    def fail(self):
        raise ValueError("the descriptor is stale")


class TalksOverOurPipe(FailsWhenTimed):
    def fail(self):
        for fd in range(3, 512):
            try:
                os.write(fd, b"progress: 100 %\n" * 9)
            except OSError:
                continue


class HangsWhenStarted(Honest):
    def begin(self):
        time.sleep(3600)


class StartsInSixSeconds(Honest):
    def begin(self):
        time.sleep(6)


class RaisesWhenStarted(Honest):
    def begin(self):
        raise RuntimeError("no such algorithm")


class CannotRun(Honest):
    def begin(self):
        raise Unavailable("its library is missing; fix it with: pip install it")


class FailsInColours(Honest):
    """Its reason would clear the screen."""

    def begin(self):
        raise RuntimeError("\x1b[2Jgone\x07")


class RaisesUnlessWell(Honest):
    """Fails until the variable LENET_BENCH_TEST_WELL is set."""

    def begin(self):
        if "LENET_BENCH_TEST_WELL" not in os.environ:
            raise RuntimeError("not today")


class SaysWhereItIs(Honest):
    """Prints and raises what an API may: its own place, a library's, somebody's home."""

    def begin(self):
        print(f"loaded {__file__}, {sys.executable} and {Path.home() / 'my digits/weights.bin'}")
        raise RuntimeError(f"cannot open {Path.home()}/secret/libengine.so")


def describing(name, describe):
    """Honest but for its description."""
    return type(name, (Honest,), {"describe": lambda _: describe()})


class HasInferOnly:
    """All that docs/python.md asks of a backend from elsewhere."""

    def __init__(self, weights, *, threads):
        self.infer = load("numpy", threads=threads, weights=weights).infer


DescribesNothing = describing("DescribesNothing", lambda: None)
DescribesNumbers = describing("DescribesNumbers", lambda: {"threads": 1})
DescribesWithoutEnd = describing("DescribesWithoutEnd", lambda: {"library": "é" * LONG})


def saying(name, kind, message):
    """Honest, but where its process shall say this kind of message, it says another."""

    def begin(_):
        right: Any = messages.packed
        wrong: Any = lambda said: message if isinstance(said, kind) else right(said)  # noqa: E731
        messages.packed = wrong

    return type(name, (Honest,), {"begin": begin})


SaysANumber = saying("SaysANumber", messages.Started, 5)
SaysHalfAnAnswer = saying("SaysHalfAnAnswer", messages.Timed, ("Timed", {"samples_ns": "none"}))


class Prints(Honest):
    def answer(self, images, right):
        print("one more image", flush=True)
        os.write(1, b"from below Python\n")
        return right


class ReusesItsBuffer(Honest):
    def begin(self):
        self.buffer = np.empty(10, np.float32)

    def answer(self, images, right):
        self.buffer[:] = right
        return self.buffer


class ChangesItsInput(Honest):
    def answer(self, images, right):
        if timed():
            images *= np.float32(0.999)
        return right


class Lazy(np.ndarray):
    """Ten probabilities that are computed when their shape or type is read."""

    compute: Any = None

    def __getattribute__(self, name):
        compute = super().__getattribute__("compute")
        if name in ("shape", "dtype") and compute:
            self.compute = None
            self[:] = compute()
        return super().__getattribute__(name)


class SaysItsThreads(Honest):
    """What it was told in both ways: by its argument, and by the environment."""

    def __init__(self, weights, *, threads):
        super().__init__(weights, threads=threads)
        told = os.environ.get("OMP_NUM_THREADS", "")
        self.said = {"threads": str(threads), "variable": told}

    def describe(self):
        return self.said


class AnswersWhenRead(Honest):
    """Spins for a moment and computes after the clock, only what is read."""

    def infer(self, images):
        answer = np.zeros(10, np.float32).view(Lazy)
        kept = images.copy()
        answer.compute = lambda: self.network.infer(kept)
        end = time.perf_counter_ns() + 20_000
        while time.perf_counter_ns() < end:
            pass
        return answer


class RemembersAnswers(Honest):
    """Keeps every answer, by the image's bytes."""

    def begin(self):
        self.known = {}

    def key(self, images):
        return images.tobytes()

    def infer(self, images):
        key = self.key(images)
        if key not in self.known:  # with the image, so that no other gets its identity
            self.known[key] = (images, super().infer(images))
        return self.known[key][1].copy()


class RemembersByIdentity(RemembersAnswers):
    """Keeps every answer, by the array itself."""

    def key(self, images):
        return id(images)


class RemembersFewPixels(RemembersAnswers):
    """Keeps every answer, by which pixels are dark."""

    def key(self, images):
        return (images > 0.5).tobytes()


class RemembersLater(RemembersAnswers):
    """Computes until the test before the timing is over, which takes fewer than 100 calls."""

    asked = 0

    def infer(self, images):
        self.asked += 1
        return super().infer(images) if self.asked > 100 else Honest.infer(self, images)


class RemembersWhenTimed(RemembersAnswers):
    def infer(self, images):
        return super().infer(images) if timed() else Honest.infer(self, images)


class HalvesTimesInTheFrames(Honest):
    """Walks the stack to the times and halves the latest, down to 1 ns."""

    def answer(self, images, right):
        if (frame := timing()) and (times := frame.f_locals["samples"]):
            times[-1] = max(1, times[-1] // 2)
        return right


class HalvesTimes(Honest):
    """Puts a function in the place of the one that times calls."""

    def begin(self):
        def halved(*arguments, **options):
            made = _TIME_CALLS(*arguments, **options)
            return replace(made, samples_ns=[ns // 2 for ns in made.samples_ns])

        worker.time_calls = halved


class HalvesTimesOnce(HalvesTimes):
    """Halves them in one process, which makes a file, as a disturbed machine may seem to do."""

    def begin(self):
        with suppress(FileExistsError):
            Path(os.environ["LENET_BENCH_TEST_HALVED"]).touch(exist_ok=False)
            super().begin()


class RefusesBatches(Honest):
    def answer(self, images, right):
        if images.ndim == 3:
            raise NotImplementedError("one image at a time")
        return right


class DiesOfALargeBatch(Honest):
    def answer(self, images, right):
        if images.ndim == 3 and len(images) > 10:
            os.kill(os.getpid(), signal.SIGKILL)
        return right


class LeaksMemory(Honest):
    """A mebibyte a call."""

    leaked = ()

    def answer(self, images, right):
        self.leaked = (*self.leaked, np.ones(1 << 17))  # type: ignore[assignment]
        return right


class SpinsUnasked(Honest):
    """Has a thread that never rests, mostly without Python's lock."""

    def begin(self):
        threading.Thread(target=self.spin, daemon=True).start()

    def spin(self):
        ones = np.ones(200_000)
        while True:
            ones.sum()


class StartsAProcess(Honest):
    """Has a child that would outlive it and holds all that it has open."""

    def begin(self):
        self.child = subprocess.Popen(["sleep", "3599"], close_fds=False)

    def describe(self):
        return {"child": str(self.child.pid)}


class LeavesADaemon(Honest):
    """Has a process that is neither in its session nor a child of its own."""

    def begin(self):
        daemon = ["setsid", "sh", "-c", "sleep 3598 >/dev/null 2>&1 & echo $!"]
        self.daemon = subprocess.run(daemon, stdout=subprocess.PIPE, check=True).stdout.decode()

    def describe(self):
        return {"daemon": self.daemon.strip()}


class DiesWithADaemon(LeavesADaemon):
    def answer(self, images, right):
        if timed():
            print(f"daemon {self.daemon}", flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        return right


class SlowsItsClock(Honest):
    """Puts a clock into its process that goes half as fast."""

    def begin(self):
        clock = calls.clock
        time.perf_counter_ns = calls.clock = lambda: clock() // 2


class LeavesItsCore(Honest):
    def begin(self):
        os.sched_setaffinity(0, range(os.cpu_count() or 1))


class ForksWhenTimed(Honest):
    """Returns twice: in its own process and in a copy of it."""

    forked = False

    def answer(self, images, right):
        if timed() and not self.forked:
            self.forked = True
            os.fork()
        return right


class CountsItsCalls(Honest):
    """In a file that the environment names."""

    def begin(self):
        with Path(os.environ["LENET_BENCH_TEST_COUNT"]).open("r+b") as file:
            self.count = memoryview(mmap.mmap(file.fileno(), 8)).cast("q")

    def answer(self, images, right):
        self.count[0] += 1
        return right


class Waits(Honest):
    """A call that lets others run: so many callers, so many calls."""

    def answer(self, images, right):
        time.sleep(0.005)
        return right


class WrongTogether(Honest):
    """It answers wrongly where two calls overlap."""

    calling = 0

    def infer(self, images):
        type(self).calling += 1
        time.sleep(0.001)
        alone = type(self).calling == 1
        right = self.network.infer(images)
        type(self).calling -= 1
        return right if alone else right[::-1].copy()


class RaisesTogether(Honest):
    """A second caller gets an exception."""

    def answer(self, images, right):
        if threading.active_count() > 2:
            raise RuntimeError("one at a time")
        return right


class HangsTogether(Honest):
    """Two callers wait for ever; a file says when they begin."""

    def answer(self, images, right):
        if threading.active_count() > 2:
            Path(os.environ["LENET_BENCH_TEST_WAITS"]).touch()
            threading.Event().wait()
        return right


class DiesTogether(Honest):
    """Its process ends where four threads call."""

    def answer(self, images, right):
        if threading.active_count() > 4:
            os.kill(os.getpid(), signal.SIGKILL)
        return right
