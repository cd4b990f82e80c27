"""What is particular to `numpy`, `onednn` and `openblas`: threads, kernels, the library beneath."""

import ast
import ctypes
import os

import numpy as np
import pytest
from lenet_bench.weights import Weights
from networks import loaded, random_image, random_weights
from processes import python

VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
ABSENT = object()


@pytest.mark.parametrize("variable", [None, *VARIABLES])
def test_describe_names_what_sets_the_threads(variable, monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    if variable:
        monkeypatch.setenv(variable, "3")
    description = loaded("numpy", threads=3).describe()
    if variable:
        assert description["threads"] == f"3 ({variable})"
    else:
        assert "OPENBLAS_NUM_THREADS=3" in description["threads"]
    assert description["blas"] != "unknown"


def test_no_kernel_of_onednn_is_its_reference():
    description = loaded("onednn").describe()
    primitives = {"conv1", "pool1", "conv2", "pool2", "fc1", "fc2", "probabilities"}
    assert primitives <= set(description)
    assert [name for name, kernel in description.items() if kernel.startswith("ref")] == []


def test_float32_stays_float32_whatever_the_environment_says():
    program = (
        "from lenet_bench import load\n"
        "import numpy as np\n"
        "image = np.random.default_rng(1).random((28, 28), dtype=np.float32)\n"
        "print(abs(load('onednn').infer(image) - load('reference').infer(image)).max() < 1e-6)"
    )
    environment = {**os.environ, "ONEDNN_DEFAULT_FPMATH_MODE": "ANY", "ONEDNN_VERBOSE": "1"}
    done = python(program, env=environment, timeout=300)
    assert done.stdout.splitlines()[-1:] == ["True"], done.stderr


def test_the_callers_own_openmp_threads_are_put_back():
    onednn, openmp = loaded("onednn"), ctypes.CDLL("libgomp.so.1")
    openmp.omp_set_num_threads(3)
    onednn.infer(random_image(1))
    assert openmp.omp_get_max_threads() == 3


def test_openblas_names_its_kernels():
    description = loaded("openblas").describe()
    assert description["library"].startswith("OpenBLAS ")
    assert description["kernels"]
    assert description["convolution"] == "im2col + sgemm"


def test_openblas_says_the_threads_that_it_has():
    """In a process of its own, which ends with them."""
    program = "import lenet_bench; print(lenet_bench.load('openblas', threads=300).describe())"
    described = ast.literal_eval(python(program).stdout)
    assert f"MAX_THREADS={described['threads']}" in described["library"].split()


@pytest.mark.parametrize(
    ("name", "wrong", "error"),
    [
        ("fc1.weight", np.zeros((500, 799), np.float32), ValueError),
        ("fc2.bias", np.zeros(10), TypeError),
        ("conv2.weight", np.zeros((5, 5, 20, 50), np.float32).T, TypeError),
        ("conv2.bias", ABSENT, KeyError),
    ],
)
def test_weights_made_by_hand_are_checked(name, wrong, error):
    parameters = {**random_weights(0).parameters, name: wrong}
    if wrong is ABSENT:
        del parameters[name]
    with pytest.raises(error, match=name):
        loaded("openblas", weights=Weights(parameters))  # type: ignore[arg-type]
