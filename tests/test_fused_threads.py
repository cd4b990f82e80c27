"""The backend `fused` with threads that share one image, and what becomes of them."""

import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from lenet_bench import load
from lenet_bench.registry import usable_cores
from networks import loaded
from processes import linux, under_way, wait_for

IMAGES = np.random.default_rng(0).random((9, 28, 28), dtype=np.float32)


@pytest.fixture(scope="module", params=["", ":int16"])
def variant(request):
    return f"fused{request.param}"


def tasks():
    return {path.name for path in Path("/proc/self/task").iterdir()}


def answers(net, times=1):
    return [net.infer(image).tobytes() for _ in range(times) for image in IMAGES]


@pytest.mark.parametrize("isa", ["sse2", "avx2", "avx512", "neon"])
@pytest.mark.parametrize("threads", [2, 3, 8, 4 * usable_cores() + 1])
def test_a_shared_image_has_the_answer_of_one_thread_to_the_bit(variant, threads, isa, monkeypatch):
    monkeypatch.setenv("LENET_BENCH_ISA", isa)
    alone = answers(loaded(variant))
    assert answers(loaded(variant, threads=threads), times=20) == alone * 20


def sleep(threads):
    """Whether all do: the system has the letter S for it."""
    texts = [Path(f"/proc/self/task/{task}/stat").read_text() for task in threads]
    return all(text.rpartition(")")[2].split()[0] == "S" for text in texts)


@linux
def test_idle_helpers_sleep_until_they_are_called_again():
    expected, before = answers(load("fused", threads=1)), tasks()
    net = load("fused", threads=2)
    for _ in range(5):
        assert answers(net) == expected
        wait_for(lambda: sleep(tasks() - before))


@linux
def test_a_dropped_network_takes_its_threads_with_it():
    before = tasks()
    net = load("fused", threads=3)
    answers(net)
    assert len(tasks() - before) == 2
    del net
    wait_for(lambda: tasks() <= before)  # a joined thread is listed until the kernel let it go


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_gets_answers():
    net = load("fused", threads=2)
    expected = answers(net)
    child = os.fork()
    if child == 0:
        right = answers(net) == expected and len(net.infer(IMAGES)) == len(IMAGES)
        del net
        os._exit(0 if right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert answers(net) == expected


def test_ctrl_c_ends_a_program_that_infers_with_helpers():
    program = (
        "import numpy, lenet_bench\n"
        "net = lenet_bench.load('fused', threads=2)\n"
        "print('ready', flush=True)\n"
        "while True: net.infer(numpy.zeros((28, 28), numpy.float32))\n"
    )
    with under_way(sys.executable, "-c", program) as child:
        assert child.stdout.readline() == "ready\n"
        child.send_signal(signal.SIGINT)
        _, error = child.communicate(timeout=180)
    assert "KeyboardInterrupt" in error
    assert child.returncode == -signal.SIGINT
