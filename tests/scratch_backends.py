"""Backends that fail, lie and leak, to be measured: each is a factory for `Entry(factory=...)`."""

# ruff: noqa: ARG002 - a backend has its interface whether it looks at its arguments or not

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
from lenet_bench import CompareOptions, Entry, compare, load
from lenet_bench.errors import Unavailable
from lenet_bench.measure import calls


def entry(factory, name=None, **options):
    """The row that measures one of these."""
    here = str(Path(__file__).parent)
    path = f"scratch_backends:{factory.__name__}"
    return Entry(name or factory.__name__, factory=path, path=(here,), **options)


def measured(weights_file, *factories, **options):
    """Compare these."""
    entries = tuple(map(entry, factories))
    return compare(CompareOptions(entries, weights=weights_file, **options))


def timed():
    """Whether this call is a timed one: a backend cannot tell, but a test wants to be sure."""
    frame = sys._getframe()
    while frame is not None and frame.f_code is not calls.time_calls.__code__:
        frame = frame.f_back
    return frame is not None


class Honest:
    """The numpy backend."""

    def __init__(self, weights, *, threads):
        self.network = load("numpy", threads=threads, weights=weights)

    def infer(self, images):
        """What a subclass does to the right answer, and when."""
        return self.answer(images, self.network.infer(images))

    def answer(self, images, right):
        """The right answer."""
        return right

    def describe(self):
        """Nothing to tell."""
        return {"backend": type(self).__name__}


class SaysWhereItIs:
    """Prints and raises what an API may: its own place, a library's, somebody's home."""

    def __init__(self, *_, **__):
        print(f"loaded {__file__}, {sys.executable} and {Path.home() / 'my digits/weights.bin'}")
        raise RuntimeError(f"cannot open {Path.home()}/secret/libengine.so")


class FailsWhenTimed(Honest):
    """Right until it is timed."""

    def answer(self, images, right):
        """Fail, once it is timed."""
        if timed():
            self.fail()
        return right


class KillsItself(FailsWhenTimed):
    def fail(self):
        os.kill(os.getpid(), signal.SIGKILL)


class ReadsAddressZero(FailsWhenTimed):
    def fail(self):
        ctypes.string_at(0)


class Raises(FailsWhenTimed):
    def fail(self):
        raise ValueError("the descriptor is stale")


class ExitsQuietly(FailsWhenTimed):
    def fail(self):
        os._exit(0)


class ExitsPolitely(FailsWhenTimed):
    def fail(self):
        sys.exit("enough")


class Hangs(FailsWhenTimed):
    def fail(self):
        time.sleep(3600)


class RunsOutOfMemory(FailsWhenTimed):
    def fail(self):
        np.ones(1 << 50)


class ClosesEverything(FailsWhenTimed):
    def fail(self):
        os.closerange(3, 256)
        time.sleep(3600)


class TalksOverOurPipe(FailsWhenTimed):
    def fail(self):
        for fd in range(3, 512):
            try:
                os.write(fd, b"progress: 100 %\n" * 9)
            except OSError:
                continue


class HangsWhenStarted:
    def __init__(self, weights, *, threads):
        time.sleep(3600)


class RaisesWhenStarted:
    def __init__(self, weights, *, threads):
        raise RuntimeError("no such algorithm")


class CannotRun:
    def __init__(self, weights, *, threads):
        raise Unavailable("its library is missing; fix it with: pip install it")


class Prints(Honest):
    def answer(self, images, right):
        print("one more image", flush=True)
        os.write(1, b"from below Python\n")
        return right


class AnswersWrongly(Honest):
    def answer(self, images, right):
        return np.roll(right, 1)


class AnswersNaN(Honest):
    def answer(self, images, right):
        return np.full_like(right, np.nan)


class AnswersFloat64(Honest):
    def answer(self, images, right):
        return right.astype(np.float64)


class AnswersABatch(Honest):
    def answer(self, images, right):
        return right[np.newaxis]


class AnswersNothing(Honest):
    def answer(self, images, right):
        return None


class AnswersWronglyWhenTimed(Honest):
    def answer(self, images, right):
        return np.roll(right, 1) if timed() else right


class ReusesItsBuffer(Honest):
    def __init__(self, weights, *, threads):
        super().__init__(weights, threads=threads)
        self.buffer = np.empty(10, np.float32)

    def answer(self, images, right):
        self.buffer[:] = right
        return self.buffer


class ChangesItsInput(Honest):
    def answer(self, images, right):
        if timed():
            images *= np.float32(0.999)
        return right


class RemembersAnswers(Honest):
    """Keeps every answer, by the image's bytes."""

    def __init__(self, weights, *, threads):
        super().__init__(weights, threads=threads)
        self.known = {}

    def infer(self, images):
        """Look it up first."""
        key = images.tobytes()
        if key not in self.known:
            self.known[key] = super().infer(images)
        return self.known[key].copy()


class RemembersTheLastAnswer(RemembersAnswers):
    def infer(self, images):
        key = images.tobytes()
        if key not in self.known:
            self.known.clear()
        return super().infer(images)


class RemembersByIdentity(Honest):
    """Keeps every answer, by the array itself."""

    def __init__(self, weights, *, threads):
        super().__init__(weights, threads=threads)
        self.known = {}

    def infer(self, images):
        """Look it up first."""
        if id(images) not in self.known:
            self.known[id(images)] = (images, super().infer(images))
        return self.known[id(images)][1].copy()


class RefusesBatches(Honest):
    def answer(self, images, right):
        if images.ndim == 3:
            raise NotImplementedError("one image at a time")
        return right


class AnswersBatchesWrongly(Honest):
    def answer(self, images, right):
        return right[::-1].copy() if images.ndim == 3 else right


class DiesOfALargeBatch(Honest):
    def answer(self, images, right):
        if images.ndim == 3 and len(images) > 10:
            os.kill(os.getpid(), signal.SIGKILL)
        return right


class LeaksMemory(Honest):
    """A mebibyte a call."""

    leaked = ()

    def answer(self, images, right):
        """Keep some."""
        self.leaked = (*self.leaked, np.ones(1 << 17))
        return right


class SpinsUnasked(Honest):
    """Has a thread that never rests."""

    def __init__(self, weights, *, threads):
        super().__init__(weights, threads=threads)
        threading.Thread(target=self.spin, daemon=True).start()

    def spin(self):
        """Burn a core, mostly without Python's lock."""
        ones = np.ones(200_000)
        while True:
            ones.sum()


class StartsAProcess(Honest):
    """Has a child that would outlive it and holds all that it has open."""

    def __init__(self, weights, *, threads):
        super().__init__(weights, threads=threads)
        self.child = subprocess.Popen(["sleep", "3599"], close_fds=False)

    def describe(self):
        """Whom to look for."""
        return {"child": str(self.child.pid)}


class RaisesUnderLoadGen(Honest):
    """Right until MLPerf's LoadGen asks."""

    def answer(self, images, right):
        """Fail once LoadGen is there."""
        if "mlperf_loadgen" in sys.modules:
            raise RuntimeError("not for LoadGen")
        return right


class Sleeps(Honest):
    """Takes a millisecond and more, whoever calls."""

    def answer(self, images, right):
        """Later."""
        time.sleep(0.001)
        return right


class SlowsItsClock(Honest):
    """Puts a clock into its process that goes half as fast."""

    def __init__(self, weights, *, threads):
        super().__init__(weights, threads=threads)
        clock = calls.clock
        time.perf_counter_ns = calls.clock = lambda: clock() // 2


class LeavesItsCore(Honest):
    def __init__(self, weights, *, threads):
        super().__init__(weights, threads=threads)
        os.sched_setaffinity(0, range(os.cpu_count()))


class ForksWhenTimed(Honest):
    """Returns twice: in its own process and in a copy of it."""

    forked = False

    def answer(self, images, right):
        """Once."""
        if timed() and not self.forked:
            self.forked = True
            os.fork()
        return right


class FailsInColours(Honest):
    """Its reason would clear the screen."""

    def __init__(self, weights, *, threads):
        raise RuntimeError("\x1b[2Jgone\x07")


class RaisesUnlessWell(Honest):
    """Fails until the variable LENET_BENCH_TEST_WELL is set."""

    def __init__(self, weights, *, threads):
        super().__init__(weights, threads=threads)
        if "LENET_BENCH_TEST_WELL" not in os.environ:
            raise RuntimeError("not today")
