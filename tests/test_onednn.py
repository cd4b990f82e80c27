"""What is particular to the backend `onednn`: which kernels the library chose."""

import ctypes
import os

import pytest
from lenet_bench import Network, Unavailable, load
from networks import random_image, random_weights
from processes import python


@pytest.fixture
def onednn() -> Network:
    """The backend, with random weights; skips where it is not built."""
    try:
        return load("onednn", weights=random_weights(0))
    except Unavailable as reason:
        pytest.skip(str(reason))


def test_describe_names_each_primitives_kernel_and_none_is_the_librarys_reference(
    onednn: Network,
) -> None:
    description = onednn.describe()
    primitives = {"conv1", "pool1", "conv2", "pool2", "fc1", "fc2", "probabilities"}
    assert primitives <= set(description)
    assert [name for name, kernel in description.items() if kernel.startswith("ref")] == []


def test_float32_stays_float32_whatever_the_environment_says() -> None:
    program = (
        "from lenet_bench import load\n"
        "import numpy as np\n"
        "image = np.random.default_rng(1).random((28, 28), dtype=np.float32)\n"
        "print(abs(load('onednn').infer(image) - load('reference').infer(image)).max() < 1e-6)"
    )
    environment = {**os.environ, "ONEDNN_DEFAULT_FPMATH_MODE": "ANY", "ONEDNN_VERBOSE": "1"}
    done = python(program, env=environment, timeout=60)
    assert done.stdout.splitlines()[-1:] == ["True"], done.stderr


def test_the_callers_own_openmp_threads_are_put_back(onednn: Network) -> None:
    openmp = ctypes.CDLL("libgomp.so.1")
    openmp.omp_set_num_threads(3)
    onednn.infer(random_image(1))
    assert openmp.omp_get_max_threads() == 3
