"""The backend `cupy` on NumPy under CuPy's name: its array code, not CuPy's kernels."""

import json
import os
from importlib.util import find_spec
from pathlib import Path

import pytest
from processes import python

HERE = str(Path(__file__).parent)

#: The part of CuPy that is used. Like the GPU's, its arrays do not mix with NumPy's.
CUPY_ON_NUMPY = """
import sys, types
import numpy as np

class ndarray(np.ndarray):
    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        assert all(type(i) is not np.ndarray for i in inputs), "an array of the host"
        plain = [i.view(np.ndarray) if isinstance(i, ndarray) else i for i in inputs]
        if "out" in options:
            options["out"] = tuple(o.view(np.ndarray) for o in options["out"])
        return np.asarray(getattr(ufunc, method)(*plain, **options)).view(ndarray)

class Context:
    def __init__(self, number=0): self.id = number
    def __enter__(self): return self
    def __exit__(self, *_): pass
    def synchronize(self): pass
    pci_bus_id = "0000:01:00.0"

def gemv(transa, alpha, a, x, beta, y):
    assert transa == "N"
    y[...] = alpha * np.matmul(a, x) + beta * y

def asnumpy(array):
    assert isinstance(array, ndarray)
    return np.array(array)

cupy = types.ModuleType("cupy")
cupy.asarray = lambda a: np.array(a, order="C").view(ndarray)
cupy.asnumpy = asnumpy
cupy.maximum, cupy.exp, cupy.tanh, cupy.ndarray = np.maximum, np.exp, np.tanh, ndarray
cupy.zeros = lambda shape, dtype: np.zeros(shape, dtype).view(ndarray)
cupy.__version__ = "14.0"
ndarray.data = types.SimpleNamespace(ptr=0)
runtime = types.SimpleNamespace(
    getDeviceCount=lambda: 2, CUDARuntimeError=RuntimeError,
    getDeviceProperties=lambda number: {"name": b"a GPU"},
    runtimeGetVersion=lambda: 13020,
    pointerGetAttributes=lambda pointer: types.SimpleNamespace(type=2, device=0),
)
cupy.cuda = types.SimpleNamespace(
    runtime=runtime, Device=Context, Stream=lambda non_blocking: Context(),
)
cupy.cublas = types.ModuleType("cupy.cublas")
cupy.cublas.gemv = gemv
tricks = types.ModuleType("cupy.lib.stride_tricks")
tricks.as_strided = lambda x, shape, strides: np.lib.stride_tricks.as_strided(
    x, shape, strides, subok=True
)
sys.modules.update({
    "cupy": cupy, "cupy.cublas": cupy.cublas, "cupy.lib": types.ModuleType("cupy.lib"),
    "cupy.lib.stride_tricks": tricks,
})

from lenet_bench.registry import gpu
gpu.why_none = lambda: None  # there is none that it would have to run on
"""


def answer(code, ends=0, gpu="0", **variables):
    """A child with this code, which ends so."""
    environment = {**os.environ, "LENET_BENCH_GPU": gpu, **variables}
    script = f"{CUPY_ON_NUMPY}\nsys.path.append({HERE!r})\nimport lenet_bench\n{code}"
    return python(script, code=ends, env=environment)


def test_the_array_code_matches_the_float64_reference():
    answer("""
from lenet_bench import load
from networks import random_images, random_weights
weights, images = random_weights(7), random_images(7, 3)
net, reference = load("cupy", weights=weights), load("reference", weights=weights)
assert np.abs(net.infer(images) - reference.infer(images)).max() < 1e-5
assert net.infer(images[:0]).shape == (0, 10)
found, expected = net.layers(images[0]), reference.layers(images[0])
assert list(found) == list(expected)
for name in found:
    assert np.abs(found[name] - expected[name]).max() < 1e-5, name
""")


def test_its_answers_are_in_the_memory_of_the_gpu():
    done = answer("import json\nprint(json.dumps(lenet_bench.load('cupy').describe()))")
    facts = json.loads(done.stdout)
    assert "memory of GPU 0" in facts["proof"]
    assert facts["CUDA runtime"] == "13.2"


def test_a_second_gpu_is_chosen_by_its_number():
    done = answer("print(lenet_bench.load('cupy').device.id)", gpu="1")
    assert done.stdout == "1\n"


def test_a_gpu_that_is_not_there_is_refused_in_one_sentence():
    done = answer("lenet_bench.load('cupy')", ends=1, gpu="2")
    sentence = done.stderr.splitlines()[-1]
    assert "0 to 1" in sentence
    assert "LENET_BENCH_GPU=0" in sentence


@pytest.mark.parametrize("variable", ["CUPY_TF32", "NVIDIA_TF32_OVERRIDE"])
def test_what_would_round_to_tf32_is_refused_with_what_mends_it(variable):
    done = answer("lenet_bench.load('cupy')", ends=1, **{variable: "1"})
    sentence = done.stderr.splitlines()[-1]
    assert "Unavailable" in sentence
    assert f"fix it with: unset {variable}" in sentence
    answer("lenet_bench.load('cupy')", **{variable: "0"})


def test_what_is_missing_is_one_sentence_with_what_mends_it():
    """Where the driver has a GPU: CuPy itself is asked."""
    code = (
        "import lenet_bench; from lenet_bench.registry import gpu; gpu.why_none = lambda: None\n"
        "lenet_bench.load('cupy')"
    )
    done = python(code, code=None)
    if done.returncode == 0:
        pytest.skip("there is an NVIDIA GPU here")
    mends = "nvidia-smi" if find_spec("cupy") else "pip install 'lenet-bench[cupy]'"
    assert "lenet_bench.errors.Unavailable: cupy " in done.stderr
    assert mends in done.stderr
