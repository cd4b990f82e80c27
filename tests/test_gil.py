"""How much of a call holds the GIL, where that is planted, and who asks for it after the end."""

import ctypes

import numpy as np
import pytest
from lenet_bench.measure.gil import ask_for_gil
from processes import linux, python

_MICROSECONDS = 2000
_TRIES = 20  # beside other programs a thread that is woken late holds nothing
IMAGES = [np.zeros(1, np.float32)]


def planted(share):
    """A call that holds the GIL for this share of its time."""
    holds, lets_go = ctypes.PyDLL(None).usleep, ctypes.CDLL(None).usleep

    def infer(_):
        holds(round(share * _MICROSECONDS))
        lets_go(round((1 - share) * _MICROSECONDS))

    return infer


@pytest.mark.parametrize(("share", "low", "high"), [(0, 0, 0.2), (0.3, 0.15, 0.45), (1, 0.75, 1)])
def test_the_share_that_is_planted_is_found(share, low, high):
    found = []
    for _ in range(_TRIES):
        asked, held = ask_for_gil(planted(share), IMAGES, 0.3, ())
        assert 0 <= held <= asked
        found.append(held / max(1, asked))
        if low <= found[-1] <= high:
            return
    raise AssertionError(f"found {found} of {share}")


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
        ("lenet_bench._boundary.wait_for_gil_ns", "10**9"),
        ("lenet_bench._images.explain", "numpy.zeros((3000, 3000), numpy.float32)"),
    ],
)
def test_a_thread_that_comes_back_after_pythons_end_does_not_abort_it(call, argument):
    python(COMES_BACK, call, argument)
