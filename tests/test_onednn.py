"""What is particular to the rung `onednn`: which kernels the library chose."""

import ctypes
import os
import subprocess
import sys

import pytest
from networks import random_image, random_weights

_onednn = pytest.importorskip("lenet_bench.backends.onednn", exc_type=Exception)


def test_describe_names_the_kernel_of_each_primitive() -> None:
    description = _onednn.OneDnn(random_weights(0), threads=1).describe()
    primitives = {"conv1", "pool1", "conv2", "pool2", "fc1", "fc2", "probabilities"}
    assert primitives <= set(description)


def test_no_kernel_is_the_librarys_own_reference() -> None:
    description = _onednn.OneDnn(random_weights(0), threads=1).describe()
    assert [name for name, kernel in description.items() if kernel.startswith("ref")] == []


def test_float32_stays_float32_whatever_the_environment_says() -> None:
    program = (
        "from lenet_bench import load\n"
        "import numpy as np\n"
        "image = np.random.default_rng(1).random((28, 28), dtype=np.float32)\n"
        "print(abs(load('onednn').infer(image) - load('reference').infer(image)).max() < 1e-6)"
    )
    environment = {**os.environ, "ONEDNN_DEFAULT_FPMATH_MODE": "ANY", "ONEDNN_VERBOSE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=60
    )
    assert (done.stdout.splitlines()[-1:], done.returncode) == (["True"], 0), done.stderr


def test_the_callers_own_openmp_threads_are_put_back() -> None:
    openmp = ctypes.CDLL("libgomp.so.1")
    openmp.omp_set_num_threads(3)
    _onednn.OneDnn(random_weights(0), threads=1).infer(random_image(1))
    assert openmp.omp_get_max_threads() == 3
