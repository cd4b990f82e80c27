"""The backend `cupy` on NumPy under CuPy's name: its array code, not CuPy's kernels."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

#: The part of CuPy that is used. Like the GPU's, its arrays do not mix with NumPy's.
CUPY_ON_NUMPY = """
import sys, time, types
import numpy as np

class ndarray(np.ndarray):
    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        assert all(type(i) is not np.ndarray for i in inputs), "an array of the host"
        plain = [i.view(np.ndarray) if isinstance(i, ndarray) else i for i in inputs]
        if "out" in options:
            options["out"] = tuple(o.view(np.ndarray) for o in options["out"])
        return np.asarray(getattr(ufunc, method)(*plain, **options)).view(ndarray)

class Context:
    cublas_handle = 0
    def __init__(self, number=0): self.id = number
    def __enter__(self): return self
    def __exit__(self, *_): pass
    def synchronize(self): pass
    def record(self, event): event.at = time.perf_counter()
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
cupy.get_default_memory_pool = lambda: types.SimpleNamespace(total_bytes=lambda: 4096)
ndarray.data = types.SimpleNamespace(ptr=0)
runtime = types.SimpleNamespace(
    getDeviceCount=lambda: 2, CUDARuntimeError=RuntimeError,
    getDeviceProperties=lambda number: {"name": b"a GPU"},
    runtimeGetVersion=lambda: 13020, driverGetVersion=lambda: 13000,
    pointerGetAttributes=lambda pointer: types.SimpleNamespace(type=2, device=0),
)
cupy.cuda = types.SimpleNamespace(
    runtime=runtime, Device=Context, Stream=lambda non_blocking: Context(),
    Event=types.SimpleNamespace, get_elapsed_time=lambda a, b: 1000 * (b.at - a.at),
    cublas=types.SimpleNamespace(getVersion=lambda handle: 130100),
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
"""

#: There is no GPU that it would have to run on.
CUPY_ON_NUMPY += """
from lenet_bench.registry import gpu
gpu.why_none = lambda: None
"""

COMPARE = """
from lenet_bench import load
from lenet_bench.network import PARAMETERS
from lenet_bench.weights import Weights
random = np.random.default_rng(7)
weights = Weights({
    name: (random.standard_normal(shape) * 0.1).astype(np.float32)
    for name, shape in PARAMETERS.items()
})
images = random.random((3, 28, 28), dtype=np.float32)
net, reference = load("cupy", weights=weights), load("reference", weights=weights)
assert np.abs(net.infer(images) - reference.infer(images)).max() < 1e-5
assert net.infer(images[:0]).shape == (0, 10)
found, expected = net.layers(images[0]), reference.layers(images[0])
assert list(found) == list(expected)
for name in found:
    assert np.abs(found[name] - expected[name]).max() < 1e-5, name
"""


def answer(code: str, gpu: str = "0", **variables: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "LENET_BENCH_GPU": gpu, **variables}
    script = f"{CUPY_ON_NUMPY}\nimport lenet_bench\n{code}"
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment
    )


def test_the_array_code_matches_the_float64_reference() -> None:
    done = answer(COMPARE)
    assert done.returncode == 0, done.stderr


def test_it_tells_what_every_gpu_backend_tells() -> None:
    done = answer(
        "import json\n"
        "net, image = lenet_bench.load('cupy'), np.zeros((28, 28), np.float32)\n"
        "print(json.dumps([net.describe(), net.profile(image, 3)]))"
    )
    assert done.returncode == 0, done.stderr
    facts, profile = json.loads(done.stdout)
    assert "memory of GPU 0" in facts["proof"]
    assert (facts["CUDA runtime"], facts["driver supports CUDA"]) == ("13.2", "13.0")
    assert (facts["cuBLAS"], facts["device memory"]) == ("13.1", "4 KiB")
    stages = [profile[name] for name in ("h2d_us", "kernels_us", "d2h_us")]
    assert min(stages) > 0
    assert sum(stages) <= profile["total_us"] * 1.5  # medians of three calls each
    assert profile["enqueue_us"] < profile["total_us"]


def test_what_it_is_taken_apart_by_computes_what_it_does() -> None:
    done = answer(
        "from lenet_bench.probes import CUTS, IMAGES, probes_of\n"
        "from lenet_bench.registry import find\n"
        "net, weights = lenet_bench.load('cupy'), lenet_bench.read_weights()\n"
        "probes = probes_of(*find('cupy'), weights, 1)\n"
        "made = {(p.kind, p.name): np.array(p.infer(IMAGES[0])) for p in probes}\n"
        "layers, ten = net.layers(IMAGES[0]), IMAGES.ravel()[:10]\n"
        "for cut in CUTS:\n"
        "    assert np.allclose(made['stage', cut], layers[cut], atol=1e-5), cut\n"
        "assert np.isclose(made['stage', 'softmax'].sum(), 1)\n"
        "for way in ('checks', 'copies', 'entering'):\n"
        "    assert np.allclose(made['way', way], np.tanh(ten)), way\n"
        "assert np.allclose(made['operations', '4'], np.tanh(np.tanh(np.tanh(np.tanh(ten)))))\n"
    )
    assert done.returncode == 0, done.stderr


def test_a_second_gpu_is_chosen_by_its_number() -> None:
    done = answer("print(lenet_bench.load('cupy').device.id)", gpu="1")
    assert done.stdout.strip() == "1", done.stderr


def test_a_gpu_that_does_not_exist_is_one_sentence_with_what_mends_it() -> None:
    done = answer("lenet_bench.load('cupy')", gpu="2")
    sentence = done.stderr.splitlines()[-1]
    assert "0 to 1" in sentence
    assert "LENET_BENCH_GPU=0" in sentence


@pytest.mark.parametrize("variable", ["CUPY_TF32", "NVIDIA_TF32_OVERRIDE"])
def test_what_would_round_to_tf32_is_refused_with_what_mends_it(variable: str) -> None:
    done = answer("lenet_bench.load('cupy')", **{variable: "1"})
    sentence = done.stderr.splitlines()[-1]
    assert "Unavailable" in sentence
    assert f"fix it with: unset {variable}" in sentence
    assert answer("lenet_bench.load('cupy')", **{variable: "0"}).returncode == 0


def test_what_is_missing_is_one_sentence_with_what_mends_it() -> None:
    """Where the driver has a GPU: CuPy itself is asked."""
    code = (
        "import lenet_bench; from lenet_bench.registry import gpu; gpu.why_none = lambda: None\n"
        "lenet_bench.load('cupy')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    if done.returncode == 0:
        pytest.skip("there is an NVIDIA GPU here")
    mends = "nvidia-smi" if find_spec("cupy") else "pip install 'lenet-bench[cupy]'"
    assert "lenet_bench.errors.Unavailable: cupy " in done.stderr
    assert mends in done.stderr
