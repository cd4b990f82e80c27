"""bench/gpu.sh as on a machine with a GPU and without network, on the double of CUDA.

An environment stands for the machine's image: it has the CUDA 13.0 libraries and the cuDNN that
PyTorch 2.11 pins (bench/gpu-image.txt), and no framework. nvidia-smi and compute-sanitizer are
stand-ins that note how they were called.
"""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cuda_children import fetched, pip
from cuda_setting import TESTS, built_major
from lenet_bench.results import breakdowns, read_result
from processes import ran, wait_for

ROOT = TESTS.parent

PYENV = Path.home() / ".pyenv/versions"


def runs(python):
    """Whether it does; one of pyenv's on the PATH may not."""
    return python and subprocess.run([python, "-c", ""], capture_output=True).returncode == 0


#: The Python of the image that is rehearsed for, or the one at hand, and what the image has.
CANDIDATES = (shutil.which("python3.12"), *PYENV.glob("3.12.*/bin/python"))
PYTHON = str(next(filter(runs, CANDIDATES), sys.executable))
VERSION = "3.12" if sys.executable != PYTHON else f"{sys.version_info[0]}.{sys.version_info[1]}"
NUMPY = "numpy==2.5.2" if VERSION == "3.12" else "numpy"
IMAGE = (
    *(NUMPY, "absl-py", "h5py", "ml_dtypes", "nvidia-ml-py", "packaging", "pillow", "psutil"),
    *("pytest", "rich", "safetensors", "typing_extensions"),
)
IN_IMAGE = (ROOT / "bench" / "gpu-image.txt").read_text().splitlines()
OF_NVIDIA = [line for line in IN_IMAGE if line.startswith("nvidia-")]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        built_major() != 13, reason="rehearsed once, with CUDA 13 (make rehearse-gpu)"
    ),
    pytest.mark.skipif(VERSION == "3.10", reason="the Keras that is carried needs Python 3.11"),
]

NVIDIA_SMI = """echo 'a double of a GPU, 580.00'
echo "compiled into $TORCHINDUCTOR_CACHE_DIR" """
UNSTOPPABLE = "echo 'a double of a GPU, 580.00'; trap '' TERM; while :; do sleep 1; done"

#: Runs one of the programs it is given, finds a fault in another, and believes the rest. That one
#: takes the kernels that the backends have compiled: NVIDIA's NVRTC crashes where its double loads
#: it into a program that was linked with NVIDIA's own libraries.
COMPUTE_SANITIZER = """
echo "$LD_LIBRARY_PATH $@" >> "$CALLS"
case "$*" in
  *memcheck*cudnn:cudagraph) exit 9 ;;
  *memcheck*driver' 'cuda) shift 6
    export LD_LIBRARY_PATH=$LENET_BENCH_CUDA_LIBRARIES
    XDG_CACHE_HOME=$HOME/.cache/lenet-bench/kernels exec "$@" ;;
esac
"""


class Machine:
    """Where bench/gpu.sh runs: its programs and its GPU are doubles, and there is no network."""

    def __init__(self, folder, double, tree=ROOT, python=sys.executable, nvidia_smi=NVIDIA_SMI):
        self.tree, self.python, self.results = tree, python, folder / "results"
        (folder / "bin").mkdir()
        for name, text in (("nvidia-smi", nvidia_smi), ("compute-sanitizer", COMPUTE_SANITIZER)):
            program = folder / "bin" / name
            program.write_text(f"#!/bin/sh\n{text}")
            program.chmod(0o755)
        path = (str(folder / "bin"), str(Path(python).parent), os.environ["PATH"])
        self.variables = {
            **dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9"),
            "PATH": os.pathsep.join(path),
            "CALLS": str(folder / "calls"),
            "HOME": str(folder),
            "LENET_BENCH_CUDA_LIBRARIES": str(double),
            "LENET_BENCH_MNIST": "",
            "PYTHONPATH": os.environ.get("PYTHONPATH", "") if tree == ROOT else "",
            "PYTEST_ADDOPTS": "-k 'every_layer and cudnn:cudagraph'",
        }

    def start(self, *options):
        places = ("--python", self.python, "--output", str(self.results))
        return subprocess.Popen(
            [str(self.tree / "bench" / "gpu.sh"), *places, *options],
            env={**os.environ, **self.variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,  # as a terminal does
        )

    def run(self, *options):
        process = self.start(*options)
        printed, _ = process.communicate(timeout=1500)
        print(printed)
        return process.returncode, printed


@pytest.fixture(scope="module")
def borrowed(double, small_mnist, tmp_path_factory):
    """The image, and on it the tree without results, and what `make gpu-kit` says to carry."""
    folder = tmp_path_factory.mktemp("borrowed")
    python = str(folder / "image" / "bin" / "python")
    ran(PYTHON, "-m", "venv", folder / "image")
    pip(python, "install", *IMAGE)
    (site,) = (folder / "image" / "lib").glob("python3*/site-packages")
    (site / "nvidia.pth").write_text(str(fetched("cuda13-image", *OF_NVIDIA)))
    tree = folder / "tree"
    for name in ("bench", "csrc", "images", "python", "tests", "weights"):
        shutil.copytree(
            ROOT / name, tree / name, ignore=shutil.ignore_patterns("*.so", "__pycache__")
        )
    for name in ("CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    kit = (f"GPU_KIT={tree / 'gpu-kit'}", f"GPU_PYTHON={VERSION}", f"PYTHON={sys.executable}")
    carried = {**os.environ, "LENET_BENCH_MNIST": str(small_mnist)}
    made = ran("make", "-s", "gpu-kit", *kit, cwd=ROOT, env=carried)
    assert "bench/gpu.sh --wheels" in made.stdout
    return Machine(folder, double, tree, python)


@pytest.fixture(scope="module")
def results(borrowed):
    """Of two calls there, the second for what the first did not do."""
    options = ("--wheels", str(borrowed.tree / "gpu-kit"), "--quick", "--seconds", "5400")
    named = "cudnn cudnn:cudagraph onnxruntime@gpu onnxruntime:iobinding@gpu"
    steps = "why,ours,frameworks,tests+verify,rest"
    borrowed.run(*options, "--steps", steps, "--backends", named)
    for file in borrowed.tree.rglob("*.py"):  # as if they had travelled again
        file.touch()
    borrowed.run(*options, "--steps", "infer,sanitizer")
    return borrowed.results


@pytest.fixture
def printed(results):
    return (results / "log.txt").read_text().splitlines()


def test_a_file_of_each_step_comes_back(results):
    assert {file.name for file in results.iterdir()} == {
        *("log.txt", "machine.txt", "ours.jsonl", "frameworks.jsonl", "rest.jsonl"),
        *("verify.json", "why.jsonl", "sanitizer.txt"),
    }


def test_a_step_that_fails_is_named(printed):
    """`verify` was told to verify a framework that is not there, and a program has a fault."""
    failed = [line for line in printed if line.startswith("== failed")]
    assert failed == ["== failed: tests+verify", "== failed: sanitizer"]
    assert "== verify: ended with 1" in printed


def test_steps_run_in_the_order_in_which_they_are_named(printed):
    begun = [line.split()[1].strip(":") for line in printed if ": at " in line]
    once = ["machine", "install", "doctor", "why", "ours", "frameworks", "tests+verify", "rest"]
    assert begun == [*once, "machine", "doctor", "infer", "sanitizer"]


def test_our_backends_are_timed_beside_their_floors(results):
    rows = read_result(results / "ours.jsonl").backends
    floors = [f"floor: {way}" for way in ("launch and copies", "launch and flag", "resident echo")]
    assert [(row.name, row.status, row.reason) for row in rows] == [
        (name, "ok", None) for name in (*floors, "cudnn", "cudnn:cudagraph")
    ]


def test_a_framework_that_is_absent_has_its_reason(results):
    *beside, framework = read_result(results / "frameworks.jsonl").backends
    assert "cudnn:graph_api_cudagraph" in [row.name for row in beside]
    assert {row.status for row in beside} == {"ok"}
    assert framework.status == "unavailable"
    assert "onnxruntime" in str(framework.reason)


def test_the_tests_run(printed):
    assert any(" 1 passed" in line for line in printed)


def test_backends_are_taken_apart(results):
    found = breakdowns(read_result(results / "why.jsonl"))
    assert [one.name for one in found] == ["cudnn"]
    assert all({"entering", "dispatch", "conv2"} <= {p.name for p in one.parts} for one in found)


def test_each_backend_is_right_or_says_why_not(printed):
    said = [" ".join(line.split()) for line in printed]
    for name in ("cuda", "cuda:mapped", "cuda:persistent", "cudnn"):
        assert f"{name} right, on a double of a GPU" in said
    absent = "torch@gpu torch@gpu is not installed"
    assert any(line.startswith(absent) for line in said)


def test_what_inductor_compiles_is_kept_for_the_next_step(results):
    said = (results / "machine.txt").read_text()
    assert f"compiled into {results.parent}/.cache/lenet-bench/inductor" in said


def test_the_log_says_what_the_machine_has(printed):
    assert any("module: _cuda13" in line for line in printed)


def test_every_tool_looks_at_every_kernel_of_ours(results):
    tools = ("memcheck", "racecheck", "synccheck", "initcheck")
    backends = ("cuda", "cuda:mapped", "cuda:persistent")
    calls = [line.split() for line in (results.parent / "calls").read_text().splitlines()]
    looked = {(call[2], call[-1]) for call in calls}
    assert looked >= {(tool, backend) for tool in tools for backend in backends}
    assert "cuda: right" in (results / "sanitizer.txt").read_text()


def test_ctrl_c_keeps_what_was_measured(double, tmp_path):
    here = Machine(tmp_path, double)
    times = ("--steps", "ours,why", "--backends", "cudnn cudnn:cudagraph", "--seconds", "5400")
    process = here.start(*times)
    file = here.results / "ours.jsonl"
    wait_for(lambda: file.exists() and file.read_text().count('"samples_ns"') > 3)
    os.killpg(process.pid, signal.SIGINT)
    printed, _ = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "== no time was left for: why" in printed
    result = read_result(file)
    assert result.ended == "interrupted"
    assert [row.name for row in result.backends if row.status == "ok"]


def test_all_of_it_ends_in_time(double, tmp_path):
    """Also where a program ignores SIGTERM; what it had printed is kept."""
    here = Machine(tmp_path, double, nvidia_smi=UNSTOPPABLE)
    code, printed = here.run("--seconds", "30")
    assert code == 0
    assert "== cut short: machine\n" in printed
    late = (
        "doctor infer ours frameworks why verify+tests+sanitizer batches vgg16 paced resnet50 rest"
    )
    assert f"== no time was left for: {late}\n" in printed
    assert "a double of a GPU" in (here.results / "machine.txt").read_text()


@pytest.mark.parametrize("options", [("--stps", "tests"), ("--seconds", "9m")])
def test_an_unknown_option_is_refused(double, tmp_path, options):
    code, printed = Machine(tmp_path, double).run(*options)
    assert code == 2
    assert "--steps A,B" in printed
