"""The GPU backends on a real NVIDIA GPU; all of it is skipped where there is none.

Parity is over MNIST's 10,000 test images where LENET_BENCH_MNIST names their folder.
"""

import os
import sys
import threading
import time
from functools import cache
from typing import Any

import numpy as np
import pytest
from lenet_bench import load
from lenet_bench.errors import LenetBenchError
from lenet_bench.registry import BACKENDS, find, tolerance
from processes import python, under_way

#: Our own; `infer` and `verify` of bench/gpu.sh ask the frameworks.
OURS = [backend for backend in BACKENDS if backend.device == "gpu" and not backend.framework]
ON_GPU = [name for backend in OURS for name in backend.names()]


@cache
def reason(backend):
    try:
        load(backend)
    except LenetBenchError as error:
        return str(error)
    return None


@pytest.fixture(scope="module", params=ON_GPU)  # skips before images are made
def backend(request):
    """Every GPU backend that runs here."""
    name = str(request.param)
    if why := reason(name):
        pytest.skip(why)
    return name


@pytest.fixture(scope="module")
def images():
    """MNIST's test images, or 200 of noise."""
    if folder := os.environ.get("LENET_BENCH_MNIST"):
        from lenet_bench.mnist import read_mnist

        return read_mnist("test", folder).ink()
    return np.random.default_rng(1).random((200, 28, 28), dtype=np.float32)


@pytest.fixture(scope="module")
def expected(images):
    return load("reference").infer(images)


def test_all_images_match_the_reference(backend, images, expected):
    assert np.abs(load(backend).infer(images) - expected).max() <= tolerance(backend)


def test_a_native_backend_is_timed_by_the_gpus_own_clock(backend, images):
    if not find(backend)[0].native:
        pytest.skip(f"{backend} is not native")
    net: Any = load(backend)
    assert net.profile(images[0], 20)["kernels_us"] > 0


def test_every_layer_matches_the_float64_reference(backend, images):
    found, reference = load(backend).layers(images[0]), load("reference").layers(images[0])
    for name, values in found.items():
        allowed = 1e-4 if tolerance(backend) <= 1e-5 else 5e-2
        assert np.abs(values - reference[name]).max() <= allowed, name


def test_two_sessions_answer_in_turn(backend, images, expected):
    one, two = load(backend), load(backend)
    for i in range(20):
        assert np.abs(one.infer(images[i]) - expected[i]).max() <= tolerance(backend)
        assert np.abs(two.infer(images[-i]) - expected[-i]).max() <= tolerance(backend)


IN_THEIR_OWN_PROCESS = """
import os, threading
import numpy as np
from lenet_bench import Unavailable, load
net, image = load("{backend}"), np.zeros((28, 28), np.float32)
"""

IN_FLIGHT = """
def work():
    while True:
        net.infer(image)
[threading.Thread(target=work, daemon=True).start() for _ in range(2)]
net.infer(image)
"""

FORKED = """
before = net.infer(image)
if os.fork() == 0:
    try:
        net.infer(image)
    except Unavailable:
        os._exit(0)
    os._exit(1)
assert os.wait()[1] == 0
assert (net.infer(image) == before).all()
"""


@pytest.mark.parametrize("name", ["cudnn:cudagraph", "cuda:mapped", "cuda:persistent"])
@pytest.mark.parametrize("code", [IN_FLIGHT, FORKED], ids=["calls in flight", "a forked child"])
def test_a_process_ends_well_with(name, code):
    if why := reason(name):
        pytest.skip(why)
    python(IN_THEIR_OWN_PROCESS.format(backend=name) + code, timeout=60)


@pytest.fixture
def resident():
    """`cuda:persistent`, where it runs here."""
    if why := reason("cuda:persistent"):
        pytest.skip(why)
    return load("cuda:persistent")


def test_it_answers_long_and_after_pauses(resident, images, expected):
    def answer(n):
        assert np.abs(resident.infer(images[n]) - expected[n]).max() <= 1e-5

    start, i = time.monotonic(), 0
    while time.monotonic() - start < 0.5:  # five lives
        i = (i + 1) % len(images)
        answer(i)
    for pause_s in (0.001, 0.004, 0.005, 0.006, 0.1):  # 5 ms is when its kernel leaves
        for i in range(20):
            time.sleep(pause_s)
            answer(i)


def test_other_sessions_come_and_go(resident, images, expected):
    done = threading.Event()
    calling = threading.Thread(
        target=lambda: [resident.infer(images[0]) for _ in iter(done.is_set, True)], daemon=True
    )
    calling.start()
    try:
        for i in range(3):  # each allocates, loads a module and frees: that waits for all kernels
            assert np.abs(load("cuda").infer(images[i]) - expected[i]).max() <= 1e-5
    finally:
        done.set()
        calling.join(10)
    assert not calling.is_alive()


def test_its_kernel_goes_with_its_owner(resident, images, expected):
    code = """
import numpy as np
from lenet_bench import load
net, image = load("cuda:persistent"), np.zeros((28, 28), np.float32)
print(net.infer(image).argmax(), flush=True)
while True:
    net.infer(image)
"""
    with under_way(sys.executable, "-c", code) as owner:
        said = owner.stdout.readline()
        owner.kill()
    assert said.strip().isdigit()
    assert np.abs(resident.infer(images[0]) - expected[0]).max() <= 1e-5
