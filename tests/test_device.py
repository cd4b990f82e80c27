"""Backends on a GPU by name, `torch:compile@gpu`: who can, and how each refuses.

There need be no GPU: what is proven here is that without one nobody answers from the CPU.
"""

import re
from contextlib import nullcontext

import numpy as np
import pytest
from lenet_bench import CompareOptions, Unavailable, compare, load
from lenet_bench.cost import lines_of_code
from lenet_bench.errors import LenetBenchError
from lenet_bench.registry import (
    BACKENDS,
    canonical_name,
    check_needs,
    every_name,
    find,
    names,
    on_cpu,
    on_device,
    precision,
    tolerance,
)
from lenet_bench.registry.devices import ProvenOnGpu
from lenet_bench.registry.gpu import _without_driver, why_none
from lenet_bench.subjects.model import ModelFile
from processes import python

MOVED = [name for name in every_name() if name.endswith("@gpu")]
MOVABLE = [backend.on("gpu") for backend in BACKENDS if backend.gpu]

without_gpu = pytest.mark.skipif(why_none() is None, reason="there is an NVIDIA GPU here")

#: Build the network as if the driver had been found, and say what it says.
BUILD = """
import sys, os
import numpy
from lenet_bench import Unavailable, read_weights
from lenet_bench.registry import find
from lenet_bench.registry.building import build
backend, variant = find(sys.argv[1])
os.environ.update(backend.variables_for(1))
try:
    network = build(backend, variant, read_weights(), 1)
    network.infer(numpy.zeros((28, 28), numpy.float32))
except Unavailable as error:
    print(error)
else:
    print("it answered")
"""


def test_a_name_on_the_gpu_is_the_same_file_there():
    backend, variant = find("torch:compile@gpu")
    assert backend.name == "torch"
    assert variant == "compile"
    assert backend.device == "gpu"
    assert backend.module == find("torch")[0].module
    assert canonical_name("keras:predict@gpu") == "keras@gpu"
    assert lines_of_code("torch@gpu") == lines_of_code("torch")


def test_a_device_moves_what_can_be_moved():
    assert not set(MOVED) & set(names())
    assert set(names(device="gpu")) >= {"cudnn", "torch@gpu", "keras:call@gpu"}
    assert "torch" not in names(device="gpu")
    moved = [on_device(name, "gpu") for name in ("torch", "keras:call@gpu", "cudnn:cudagraph")]
    assert moved == ["torch@gpu", "keras:call@gpu", "cudnn:cudagraph"]


def test_what_cannot_be_on_a_gpu_says_so():
    for name, reason in (
        ("fused@gpu", "the CPU only; .* run on a GPU too"),
        ("cudnn@gpu", "cudnn always runs on the GPU"),
        ("torch:cudagraph", "its name is torch:cudagraph@gpu"),
    ):
        with pytest.raises(LenetBenchError, match=reason):
            find(name)


def test_tf32_is_forbidden_to_all_rows_but_its_own():
    for name in MOVED:
        row, variant = find(name)
        forbidden = row.variables_for(1).get("NVIDIA_TF32_OVERRIDE") == "0"
        assert forbidden == (variant != "tf32") or row.name == "tinygrad"  # uses none of them


def test_a_reduced_precision_on_a_gpu_has_a_tolerance_of_its_own():
    reduced = {name: tolerance(name) for name in MOVED if precision(name) != "float32"}
    assert reduced
    assert min(reduced.values()) > 1e-5


@pytest.mark.parametrize("name", ["torch@gpu", "triton", "cupy", "cudnn"])
def test_of_several_gpus_all_rows_take_the_same(monkeypatch, name):
    """A framework takes the first, so it says no where another is chosen."""
    monkeypatch.setattr("lenet_bench.registry.gpu.why_none", lambda: None)
    row = find(name)
    for number in ("0", "1"):
        monkeypatch.setenv("LENET_BENCH_GPU", number)
        refused = row[0].framework and number == "1"
        with pytest.raises(Unavailable, match="the first GPU") if refused else nullcontext():
            check_needs(*row)


@without_gpu
@pytest.mark.parametrize("name", MOVED)
def test_without_a_gpu_it_says_what_would_bring_it(name):
    environment = find(name)[0].environment
    brings = f"lenet-bench env create {environment}" if environment else "pip install .*tinygrad.*"
    mends = f"fix it with: {brings}$"
    with pytest.raises(Unavailable, match=rf"{name} cannot run here: .*GPU.*{mends}"):
        load(name)


@without_gpu
@pytest.mark.parametrize("name", ["cudnn", "cuda:cudagraph", "cupy", "torch:compile@gpu"])
def test_a_newcomer_reads_what_runs_on_the_cpu(refused, picture, name):
    said = refused("infer", picture, "--backend", name)
    assert f"{name} cannot run here" in said
    assert f"the backend {on_cpu(name)};" in said
    assert "fix it with: " in said.rpartition("; ")[2]


def test_what_cannot_run_on_a_device_is_refused(run, picture):
    done = run("infer", picture, "--backend", "fused", "--device", "gpu")
    assert done.code == 2
    assert done.output == ""
    assert done.errors.count("\n") == 1
    assert "the CPU only" in done.errors


def a_system(root, *, device_file="", pci=None):
    """A made-up system with this file in /dev, and a PCI device of this vendor and class."""
    for folder in ("dev", "sys/bus/pci/devices/0000:01:00.0"):
        (root / folder).mkdir(parents=True)
    if device_file:
        (root / "dev" / device_file).touch()
    for name, value in zip(("vendor", "class"), pci or (), strict=False):
        (root / "sys/bus/pci/devices/0000:01:00.0" / name).write_text(f"{value}\n")
    return root


SYSTEMS = [
    ({"device_file": ""}, "None"),
    ({"pci": ("0x10de", "0x040300")}, "None"),  # a GPU's sound, passed on alone
    ({"pci": ("0x1002", "0x030000")}, "None"),  # another vendor's
    ({"pci": ("0x10de", "0x030200")}, "nvidia-driver"),
    ({"device_file": "nvidiactl"}, "libcuda1"),
]


@pytest.mark.parametrize(("system", "brings"), SYSTEMS)
def test_without_a_driver_the_system_says_whether_there_is_a_gpu(tmp_path, system, brings):
    assert brings in str(_without_driver(a_system(tmp_path, **system)).remedy)


@without_gpu
@pytest.mark.parametrize("name", [backend.spell(backend.default) for backend in MOVABLE if backend])
def test_no_framework_answers_from_the_cpu_what_it_was_asked_on_the_gpu(name):
    done = python(BUILD, name, code=None)
    answer = done.stdout.strip().splitlines()[-1]
    if "No module named" in answer:
        pytest.skip(answer)
    assert re.match(rf"{name} cannot run on the GPU \(\S+ \S+ \S+", answer), done.stderr
    assert "fix it with: " in answer


class ComputesOn:
    """Answers, and says on which device; counts how often it is asked that."""

    def __init__(self, device):
        self.device, self.asked = device, 0

    def infer(self, images):
        return np.full((*images.shape[:-2], 10), 0.1, np.float32)

    def layers(self, image):
        return {"probabilities": self.infer(image)}

    def describe(self):
        self.asked += 1
        return {"device": self.device}


PAPER = np.zeros((28, 28), np.float32)


def test_a_silent_fall_back_is_no_answer():
    for device in ("cpu", "/device:CPU:0, /device:GPU:0"):
        backend = ProvenOnGpu(ComputesOn(device), "torch@gpu", "fix it")
        for ask in (backend.describe, lambda b=backend: b.infer(PAPER)):
            with pytest.raises(Unavailable, match=f"torch@gpu cannot .* computed on {device} "):
                ask()


def test_a_network_that_does_not_name_its_device_is_no_proof():
    class Silent(ComputesOn):
        def describe(self):
            return {}

    network = Silent("cuda:0")
    with pytest.raises(Unavailable, match="computed on a device that it does not name"):
        ProvenOnGpu(network, "torch@gpu", "fix it").infer(PAPER)


def test_a_model_file_is_read_on_a_gpu_too():
    known = {"onnxruntime@gpu", "onnxruntime:iobinding@gpu", "onnxruntime:extended@gpu"}
    assert set(ModelFile("my.onnx").backends("gpu")) == known


def test_the_first_answer_on_a_gpu_is_proven():
    for device in ("cuda:0", "/device:GPU:0", "CUDAExecutionProvider"):
        network = ComputesOn(device)
        backend = ProvenOnGpu(network, "torch@gpu", "fix it")
        for _ in range(3):
            assert backend.infer(PAPER).shape == (10,)
        assert network.asked == 1


@without_gpu
def test_a_comparison_says_what_runs_on_the_cpu_instead():
    result = compare(CompareOptions(backends=("numpy", "torch@gpu"), rounds=1))
    assert [(backend.device, backend.status) for backend in result.backends] == [
        ("cpu", "ok"),
        ("gpu", "unavailable"),
    ]
    assert "torch;" in str(result.backend("torch@gpu").reason)
