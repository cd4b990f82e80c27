"""How much of a call holds the GIL, where that is planted, and who asks for it after the end."""

import ctypes
from itertools import cycle

import numpy as np
import pytest
from lenet_bench.measure import gil
from lenet_bench.measure.gil import ask_for_gil
from processes import linux, python

IMAGES = [np.zeros(1, np.float32)]


def share_of(library):
    """Of calls of 20 ms of it."""
    asked, held = ask_for_gil(lambda _: library.usleep(20_000), IMAGES, 0.3, ())
    return held / asked


def test_a_call_that_holds_the_gil_is_told_from_one_that_does_not():
    """Beside other programs the first is found to hold it less, and the second more."""
    assert share_of(ctypes.CDLL(None)) < share_of(ctypes.PyDLL(None))


def test_each_moment_counts_once(monkeypatch):
    moments = cycle([True, False, False])
    monkeypatch.setattr(gil, "wait_for_gil", lambda _: next(moments))
    asked, held = ask_for_gil(lambda _: None, IMAGES, 0.1, ())
    assert held == -(-asked // 3)


def test_a_call_that_fails_ends_the_thread_that_asks():
    calls = iter(range(10))

    def fails_at_last(_):
        next(calls)

    with pytest.raises(StopIteration):
        ask_for_gil(fails_at_last, IMAGES, 1.0, ())


#: The thread asks for the GIL while the last object is freed, which waits until it sleeps.
COMES_BACK = """
import sys, threading
import numpy, lenet_bench._boundary, lenet_bench._images
class Last:
    def __del__(self):
        while self.open(self.stat).read().rpartition(")")[2].split()[0] != "S": pass
call, argument = map(eval, sys.argv[1:])
call(argument)  # pybind11 itself lets the GIL go when it first looks for NumPy
sys.setswitchinterval(1000)  # so the main thread goes on, and ends, when the call lets the GIL go
thread = threading.Thread(target=call, args=(argument,), daemon=True)
last = Last()
last.open = open
thread.start()
last.stat = f"/proc/self/task/{thread.native_id}/stat"
"""


@linux
@pytest.mark.parametrize(
    ("call", "argument"),
    [
        ("lenet_bench._boundary.wait_for_gil", "10**9"),
        ("lenet_bench._images.explain", "numpy.zeros((3000, 3000), numpy.float32)"),
    ],
)
def test_a_thread_that_comes_back_after_pythons_end_does_not_abort_it(call, argument):
    python(COMES_BACK, call, argument)
