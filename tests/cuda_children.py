"""Children of the tests that run the GPU backends on the double of CUDA: `ask` starts one."""

import fcntl
import json
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from cuda_setting import (
    SOURCES,
    TESTS,
    Driver,
    build_double,
    build_libcuda,
    built_major,
    compile_options,
    compiler,
    link_with_nvidia,
    run,
)
from processes import python, ran

#: What every child starts with. `double` counts, fails and tells on request.
PRELUDE = """
import ctypes, gc, json, os, sys, threading, time
import numpy as np
import lenet_bench
from lenet_bench import LenetBenchError, Unavailable, load
from lenet_bench.registry import tolerance
from lenet_bench.network import LAYERS, PARAMETERS
from lenet_bench.weights import Weights

random = np.random.default_rng(7)
weights = Weights({
    name: (random.standard_normal(shape) * 0.1).astype(np.float32)
    for name, shape in PARAMETERS.items()
})
images = random.random((4, 28, 28), dtype=np.float32)
reference = load("reference", weights=weights)

def right(net, n=1):
    return float(np.abs(net.infer(images[n]) - reference.infer(images[n])).max()) < 1e-5

def double():
    return ctypes.CDLL(f"libcudart.so.{major}")

def answer(value):
    print("ANSWER", json.dumps(value))

def failure(work):
    try:
        work()
    except Exception as error:
        return [type(error).__name__, str(error)]
"""

CUDNN = ["cudnn", "cudnn:find", "cudnn:tf32", "cudnn:cudagraph", "cudnn:fused"]
CUDNN += ["cudnn:graph_api", "cudnn:graph_api_cudagraph"]
CUDA = ["cuda", "cuda:cudagraph", "cuda:mapped", "cuda:persistent"]
BACKENDS = [*CUDNN, *CUDA]

#: What other packages bring along: torch 2.10's builds for CUDA 13 pin these.
OTHERS = {
    13: ("nvidia-cudnn-cu13==9.20.0.48", "nvidia-cuda-nvrtc==13.0.88"),
    12: ("nvidia-cudnn-cu12==9.20.0.48", "nvidia-cuda-nvrtc-cu12==12.8.93"),
}

#: Calls `main` of the library `planner`, with what a GPU is like.
PLAN = """
program = ctypes.CDLL(sys.argv[1])
assert program.main(2, (ctypes.c_char_p * 3)(b"cudnn_plans", sys.argv[2].encode(), None)) == 0
"""

needs_cuda = pytest.mark.skipif(
    built_major() is None, reason="lenet_bench is built without CUDA (make test-cuda13)"
)


@contextmanager
def shared(name, factory):
    """A folder of all of pytest-xdist's workers, which enter it one at a time."""
    root = factory.getbasetemp()
    folder = (root.parent if "PYTEST_XDIST_WORKER" in os.environ else root) / name
    folder.mkdir(mode=0o700, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def fetched(name, *packages):
    """A folder with these packages alone, kept from one run of the tests to the next."""
    folder = TESTS.parent / ".cache" / name
    folder.parent.mkdir(exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            with TemporaryDirectory(dir=folder.parent) as unfinished:
                pip(sys.executable, "install", "--no-deps", "--target", unfinished, *packages)
                Path(unfinished).rename(folder)
    return folder


def pip(python, *words):
    """Run pip without the versions that make pins; skip the test where it cannot fetch."""
    unpinned = {name: value for name, value in os.environ.items() if "CONSTRAINT" not in name}
    done = ran(python, "-m", "pip", "--quiet", *words, code=None, env=unpinned)
    if done.returncode != 0:
        pytest.skip(f"pip cannot fetch {' '.join(words)}: {done.stderr[-500:]}")


@pytest.fixture(scope="session")
def double(tmp_path_factory):
    major = built_major()
    assert major is not None
    with shared("double", tmp_path_factory) as folder:
        if not (folder / "built").exists():
            build_double(folder, major)
            (folder / "built").touch()
        return folder


@pytest.fixture(scope="session")
def driver(double, tmp_path_factory):
    """The GPU backends without Python, on the double, to plant faults in."""
    with shared("driver", tmp_path_factory) as folder:
        return Driver(double, folder)


@pytest.fixture(scope="session")
def planner(tmp_path_factory):
    """cudnn_plans.cpp as a library, and beside it a driver, which cuDNN has to find one of."""
    major = built_major()
    assert major is not None
    folder = tmp_path_factory.mktemp("planner")
    (folder / "main.map").write_text("{ global: main; local: *; };")
    sources = [str(TESTS / "cudnn_plans.cpp"), str(SOURCES / "cuda" / "errors.cpp")]
    # The class is never built here: the linker drops it, and with it what it needs.
    unused = ["-ffunction-sections", f"-Wl,--gc-sections,--version-script={folder / 'main.map'}"]
    library = ["-shared", "-fPIC", "-o", str(folder / "planner.so")]
    options = [*compile_options(major), *unused]
    run([compiler(), *options, *sources, *library, *link_with_nvidia(major)])
    build_libcuda(folder, major)
    return folder / "planner.so"


@pytest.fixture(scope="session")
def ask(double, tmp_path_factory):
    """What the code, run in a process of its own on the double, gives to `answer`."""
    with shared("cubins", tmp_path_factory) as folder:
        cache = str(folder)

    def run(code, **environment):
        own = ("CUDA_", "LENET_BENCH_")
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(own)}
        fixed = {"LENET_BENCH_CUDA_LIBRARIES": str(double), "XDG_CACHE_HOME": cache}
        script = f"major = {built_major()}\n{PRELUDE}\n{code}"
        done = python(script, env={**inherited, **fixed, **environment}, timeout=900)
        lines = [line for line in done.stdout.splitlines() if line.startswith("ANSWER ")]
        return json.loads(lines[-1].removeprefix("ANSWER "))

    return run


def unavailable(ask, backend, before="", **environment):
    """The sentence with which it is refused, after this code."""
    code = f'{before}\nanswer(failure(lambda: load("{backend}", weights=weights)))'
    kind, sentence = ask(code, **environment)
    assert kind == "Unavailable"
    assert "\n" not in sentence
    return str(sentence)


def failing_once(backend, call, status, nth=1):
    """Code that brings in the libraries, of which this call then fails."""
    return f"""
load("{backend}", weights=weights)
gc.collect()
double().cuda_double_fail(b"{call}", {nth}, {status})
"""
