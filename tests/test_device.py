"""Rungs on a GPU by name, `torch:compile@gpu`: who can, how each refuses, and that none pretends.

There need be no GPU: what is proven here is that without one nobody answers from the CPU.
"""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import Run
from lenet_bench import CompareOptions, Unavailable, compare, load
from lenet_bench.backends import LADDER, every_name, find, names, on_device, usual_name
from lenet_bench.backends._exhibit import Array, Exhibit
from lenet_bench.backends._gpu import why_none
from lenet_bench.backends._proof import ProvenOnGpu
from lenet_bench.cost import lines_of_code
from lenet_bench.environments import environments
from lenet_bench.errors import LenetBenchError
from lenet_bench.inference import open_rungs
from lenet_bench.weights import read_weights

MOVED = [name for name in every_name() if name.endswith("@gpu")]
RUNGS = [rung.on("gpu") for rung in LADDER if rung.gpu]

without_gpu = pytest.mark.skipif(why_none() is None, reason="there is an NVIDIA GPU here")

#: Build the exhibit as if the driver had been found, and say what it says.
BUILD = """
import sys, os
import numpy
from lenet_bench import backends, read_weights
rung, variant = backends.find(sys.argv[1])
os.environ.update(rung.variables_for(1))
try:
    backend = backends._build(rung, variant, read_weights(), 1)
    backend.infer(numpy.zeros((28, 28), numpy.float32))
except backends.Unavailable as error:
    print(error)
else:
    print("it answered")
"""


def test_a_name_on_the_gpu_is_the_same_exhibit_and_variant_there() -> None:
    rung, variant = find("torch:compile@gpu")
    assert (rung.name, variant, rung.device) == ("torch", "compile", "gpu")
    assert rung.exhibit == find("torch")[0].exhibit


def test_the_frameworks_that_issue_4_names_can_be_told_to_run_on_a_gpu() -> None:
    able = {rung.name for rung in LADDER if rung.gpu}
    assert able == {
        "tensorflow",
        "keras",
        "keras-jax",
        "keras-torch",
        "torch",
        "jax",
        "onnxruntime",
    }


def test_the_ladder_lists_each_rung_once_and_on_its_usual_device() -> None:
    assert not set(MOVED) & set(names())
    assert set(names(device="gpu")) >= {"cudnn", "torch@gpu", "keras:call@gpu"}
    assert "torch" not in names(device="gpu")


def test_a_usual_variant_on_the_gpu_is_the_rung_itself_there() -> None:
    assert usual_name("keras:predict@gpu") == "keras@gpu"


@pytest.mark.parametrize(
    ("name", "moved"),
    [("torch", "torch@gpu"), ("keras:call@gpu", "keras:call@gpu"), ("cudnn:graph", "cudnn:graph")],
)
def test_a_device_moves_what_can_be_moved(name: str, moved: str) -> None:
    assert on_device(name, "gpu") == moved


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("fused@gpu", "fused runs on the CPU only; .* run on a GPU too"),
        ("cudnn@gpu", "cudnn is on the GPU as it is"),
        ("torch:none@gpu", "torch has no variant 'none'"),
        ("nothing@gpu", "no rung is called 'nothing@gpu'"),
    ],
)
def test_what_cannot_be_on_a_gpu_says_so(name: str, reason: str) -> None:
    with pytest.raises(LenetBenchError, match=reason):
        find(name)


@pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: rung.name)
def test_tf32_is_off_and_the_environment_that_brings_the_gpu_build_exists(rung) -> None:
    assert rung.variables_for(1)["NVIDIA_TF32_OVERRIDE"] == "0"
    assert environments()[rung.environment].gpu


def test_the_exhibit_costs_the_same_on_either_device() -> None:
    assert lines_of_code("torch@gpu") == lines_of_code("torch")


@without_gpu
@pytest.mark.parametrize("name", MOVED)
def test_without_a_gpu_it_is_unavailable_and_says_what_would_bring_it(name: str) -> None:
    mends = f"mend it with: lenet-bench env create {find(name)[0].environment}$"
    with pytest.raises(Unavailable, match=rf"{name} needs an NVIDIA GPU \(.*{mends}"):
        load(name)


@without_gpu
@pytest.mark.parametrize("name", [rung.spell(rung.default) for rung in RUNGS])
def test_no_framework_answers_from_the_cpu_what_it_was_asked_on_the_gpu(name: str) -> None:
    done = subprocess.run([sys.executable, "-c", BUILD, name], capture_output=True, text=True)
    answer = done.stdout.strip().splitlines()[-1]
    if "No module named" in answer:
        pytest.skip(answer)
    assert re.match(rf"{name} cannot run on the GPU \(\w+: \S+ \S+", answer), done.stderr
    assert "mend it with: lenet-bench env create" in answer


class ComputesOn(Exhibit):
    """Answers, and says on which device; counts how often it is asked that."""

    def __init__(self, device: str) -> None:
        self.device, self.asked = device, 0

    def forward(self, images: Array) -> Array:
        return np.full((len(images), 10), 0.1, np.float32)

    def describe(self) -> dict[str, str]:
        self.asked += 1
        return {"device": self.device}


PAPER = np.zeros((28, 28), np.float32)


@pytest.mark.parametrize("device", ["cpu", "TFRT_CPU_0", "/device:CPU:0", "CPUExecutionProvider"])
def test_a_silent_fall_back_is_no_answer(device: str) -> None:
    rung = ProvenOnGpu(ComputesOn(device), "torch@gpu")
    for ask in (rung.describe, lambda: rung.infer(PAPER), lambda: rung.infer(PAPER)):
        with pytest.raises(Unavailable, match=f"torch@gpu was told .* computed on {device}: a"):
            ask()


@pytest.mark.parametrize("device", ["cuda:0", "/device:GPU:0", "CUDAExecutionProvider"])
def test_the_first_answer_on_a_gpu_is_proven_and_no_later_one(device: str) -> None:
    exhibit = ComputesOn(device)
    rung = ProvenOnGpu(exhibit, "torch@gpu")
    for _ in range(3):
        assert rung.infer(PAPER).shape == (10,)
    assert exhibit.asked == 1


def test_a_rung_that_moves_to_the_cpu_is_found_when_it_is_described_again() -> None:
    exhibit = ComputesOn("cuda:0")
    rung = ProvenOnGpu(exhibit, "torch@gpu")
    rung.infer(PAPER)
    exhibit.device = "cpu"
    with pytest.raises(Unavailable, match="silent fall-back"):
        rung.describe()


def test_a_rung_named_on_a_device_that_it_lacks_is_one_sentence(run: Run, picture: Path) -> None:
    done = run("infer", picture, "--backend", "fused", "--device", "gpu")
    assert (done.code, done.output, done.errors.count("\n")) == (1, "", 1)
    assert "fused runs on the CPU only" in done.errors


def test_a_device_leaves_out_what_cannot_run_there() -> None:
    try:
        opened = open_rungs(["all"], read_weights(), device="gpu")
        tried = {rung.name for rung in opened.rungs} | set(opened.passed_over)
    except Unavailable:
        tried = set(names(gone=False, device="gpu"))
    assert tried == set(names(gone=False, device="gpu"))


@without_gpu
def test_a_comparison_records_the_device_of_each_row() -> None:
    result = compare(CompareOptions(rungs=("numpy", "torch@gpu"), rounds=1))
    assert [(rung.device, rung.status) for rung in result.rungs] == [
        ("cpu", "ok"),
        ("gpu", "unavailable"),
    ]


def test_the_shell_completes_a_name_on_the_gpu(run: Run) -> None:
    words = {"COMP_WORDS": "lenet-bench compare torch:c", "COMP_CWORD": "2"}
    done = run(_LENET_BENCH_COMPLETE="bash_complete", **words)
    assert done.output.split() == ["plain,torch:compile", "plain,torch:compile@gpu"]
