"""The GPU rungs on the double of CUDA (cuda_double/): the very module that users get, run without a
GPU. It proves the wiring; numerics and speed of NVIDIA's libraries are for bench/gpu.sh.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cuda_setting import build_double, built_major, compile_to_ptx

pytestmark = pytest.mark.skipif(
    built_major() is None, reason="lenet_bench is built without CUDA (make test-cuda13)"
)

CUDNN = ["cudnn", "cudnn:find", "cudnn:heuristic", "cudnn:tf32", "cudnn:graph", "cudnn:frontend"]
CUDA = ["cuda", "cuda:graph", "cuda:mapped", "cuda:persistent"]
RUNGS = [*CUDNN, *CUDA]

#: What every child starts with. `double` counts, fails and tells on request.
PRELUDE = """
import ctypes, gc, json, os, sys, threading
import numpy as np
import lenet_bench
from lenet_bench import LenetBenchError, Unavailable, load
from lenet_bench.backends import tolerance
from lenet_bench.network import LAYERS, PARAMETERS
from lenet_bench.weights import Weights

random = np.random.default_rng(7)
weights = Weights({
    name: (random.standard_normal(shape) * 0.1).astype(np.float32)
    for name, shape in PARAMETERS.items()
})
images = random.random((4, 28, 28), dtype=np.float32)
reference = load("reference", weights=weights)

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

Ask = Callable[..., Any]


@pytest.fixture(scope="session")
def double(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the double's libraries."""
    major = built_major()
    assert major is not None
    return build_double(tmp_path_factory.mktemp("double"), major)


def child(code: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    script = f"major = {built_major()}\n{PRELUDE}\n{code}"
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("CUDA_", "LENET_BENCH_"))}
    return subprocess.run(
        [sys.executable, "-c", script],
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture(scope="session")
def ask(double: Path, tmp_path_factory: pytest.TempPathFactory) -> Ask:
    """What the code, run in a process of its own on the double, gives to `answer`."""
    cache = str(tmp_path_factory.mktemp("cubins"))

    def run(code: str, **environment: str) -> Any:
        fixed = {"LENET_BENCH_CUDA_LIBRARIES": str(double), "XDG_CACHE_HOME": cache}
        done = child(code, **{**fixed, **environment})
        lines = [line for line in done.stdout.splitlines() if line.startswith("ANSWER ")]
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return json.loads(lines[-1].removeprefix("ANSWER "))

    return run


@pytest.mark.parametrize("rung", RUNGS)
def test_every_layer_matches_the_float64_reference(ask: Ask, rung: str) -> None:
    difference = ask(f"""
found = load("{rung}", weights=weights).layers(images[0])
expected = reference.layers(images[0])
answer({{name: float(np.abs(found[name] - expected[name]).max()) for name in found}})
""")
    assert "probabilities" in difference
    allowed = 1e-2 if rung == "cudnn:tf32" else 2e-5
    assert max(difference.values()) < allowed


@pytest.mark.parametrize("rung", RUNGS)
def test_the_last_of_many_calls_answers_as_the_first(ask: Ask, rung: str) -> None:
    calls = 999 if rung in CUDNN else 99  # the double takes 25 ms for our own kernels
    first, last = ask(f"""
net = load("{rung}", weights=weights)
first = net.infer(images[0])
for call in range({calls}):
    last = net.infer(images[(call + 2) % 4])
answer([first.tolist(), net.infer(images[0]).tolist()])
""")
    assert first == last


@pytest.mark.parametrize("rung", RUNGS)
def test_a_batch_answers_as_its_images_one_by_one(ask: Ask, rung: str) -> None:
    difference, allowed = ask(f"""
net = load("{rung}", weights=weights)
assert net.infer(images[:0]).shape == (0, 10)
difference = np.abs(net.infer(images) - reference.infer(images)).max()
answer([float(difference), tolerance("{rung}")])
""")
    assert difference <= allowed


@pytest.mark.parametrize("rung", RUNGS)
def test_threads_that_call_at_once_each_get_their_own_answer(ask: Ask, rung: str) -> None:
    worst, allowed = ask(f"""
net = load("{rung}", weights=weights)
expected = reference.infer(images)
worst = [0.0] * 4
def work(i):
    for _ in range(20):
        worst[i] = max(worst[i], float(np.abs(net.infer(images[i]) - expected[i]).max()))
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
[t.start() for t in threads], [t.join() for t in threads]
answer([max(worst), tolerance("{rung}")])
""")
    assert worst <= allowed


@pytest.mark.parametrize("rung", RUNGS)
def test_two_sessions_do_not_disturb_each_other(ask: Ask, rung: str) -> None:
    worst, allowed = ask(f"""
other = Weights({{name: -values for name, values in weights.parameters.items()}})
one, two = load("{rung}", weights=weights), load("{rung}", weights=other)
expected_one, expected_two = reference.infer(images), load("reference", weights=other).infer(images)
worst = 0.0
for i in [0, 1, 2, 3, 1, 0]:
    worst = max(worst, float(np.abs(one.infer(images[i]) - expected_one[i]).max()))
    worst = max(worst, float(np.abs(two.infer(images[i]) - expected_two[i]).max()))
answer([worst, tolerance("{rung}")])
""")
    assert worst <= allowed


@pytest.mark.parametrize("rung", RUNGS)
def test_nothing_is_left_when_a_session_goes(ask: Ask, rung: str) -> None:
    alive, left = ask(f"""
net = load("{rung}", weights=weights)
net.infer(images)
net.profile(images[0], 3)
alive = double().cuda_double_live()
del net
gc.collect()
answer([alive, double().cuda_double_live()])
""")
    assert alive > 0
    assert left == 0


@pytest.mark.parametrize("rung", RUNGS)
def test_a_call_allocates_nothing(ask: Ask, rung: str) -> None:
    before, after = ask(f"""
net = load("{rung}", weights=weights)
names = (b"cudaMalloc", b"cudaHostAlloc", b"cudnnCreateTensorDescriptor", b"cudaEventCreate",
         b"cudnnBackendCreateDescriptor")
count = lambda: [double().cuda_double_calls(name) for name in names]
before = count()
net.infer(images)
answer([before, count()])
""")
    assert before == after


@pytest.mark.parametrize("rung", RUNGS)
def test_the_profile_splits_one_call_into_its_stages(ask: Ask, rung: str) -> None:
    profile = ask(f'answer(load("{rung}", weights=weights).profile(images[0], 5))')
    assert set(profile) >= {"h2d_us", "kernels_us", "d2h_us", "enqueue_us", "total_us"}
    assert profile["kernels_us"] > 0


def test_describe_names_device_versions_algorithm_and_memory(ask: Ask) -> None:
    facts = ask('answer(load("cudnn:find", weights=weights).describe())')
    assert facts["device"] == "a double of a GPU"
    assert facts["conv1"] == "gemm"  # the fastest that worked in float32
    for fact in ("driver supports CUDA", "CUDA runtime", "cuDNN", "cuBLAS", "device memory"):
        assert facts[fact]


@pytest.mark.parametrize("rung", RUNGS)
def test_describe_proves_that_it_ran_on_the_gpu(ask: Ask, rung: str) -> None:
    facts = ask(f'answer(load("{rung}", weights=weights).describe())')
    what = "weights" if rung == "cuda:persistent" else "answers"
    assert facts["proof"].startswith(f"its {what} lie in the memory of GPU 0")


def test_describe_names_the_engines_that_keep_to_float32(ask: Ask) -> None:
    facts = ask('answer(load("cudnn:frontend", weights=weights).describe())')
    assert facts["conv1"] == "engine 11, with its bias in one plan"  # 33 rounds, 99 is not built
    assert facts["pool1"] == "engine 1"  # only the fallback lists one
    assert facts["math"] == "float32"


# what can go wrong -------------------------------------------------------------------------------


def unavailable(ask: Ask, rung: str, **environment: str) -> str:
    kind, sentence = ask(f'answer(failure(lambda: load("{rung}", weights=weights)))', **environment)
    assert kind == "Unavailable"
    assert "\n" not in sentence
    return str(sentence)


@pytest.mark.parametrize(
    ("setting", "says", "mends"),
    [
        ({"CUDA_DOUBLE_DRIVER": "0"}, "no NVIDIA driver", "nvidia-smi"),
        ({"CUDA_DOUBLE_DRIVER": "11040"}, "supports CUDA 11.4", "LENET_CUDA=12"),
        ({"CUDA_DOUBLE_DEVICES": "0"}, "finds no GPU", "nvidia-smi"),
        ({"CUDA_VISIBLE_DEVICES": ""}, 'CUDA_VISIBLE_DEVICES=""', "unset CUDA_VISIBLE_DEVICES"),
        ({"LENET_BENCH_GPU": "7"}, 'LENET_BENCH_GPU="7" names no GPU', "export LENET_BENCH_GPU=0"),
        ({"LENET_BENCH_GPU": "one"}, 'LENET_BENCH_GPU="one"', "export LENET_BENCH_GPU=0"),
        ({"CUDA_DOUBLE_CAPABILITY": "37"}, "compute capability 3.7, too old", ""),
        ({"CUDA_DOUBLE_TAKEN": "1"}, "lets in one process only", "--compute-mode=DEFAULT"),
    ],
)
def test_what_is_missing_is_one_sentence_with_what_mends_it(
    ask: Ask, setting: dict[str, str], says: str, mends: str
) -> None:
    sentence = unavailable(ask, "cudnn", **setting)
    assert says in sentence
    assert mends in sentence


def test_a_second_gpu_is_chosen_by_its_number(ask: Ask) -> None:
    facts = ask(
        'answer(load("cudnn", weights=weights).describe())',
        CUDA_DOUBLE_DEVICES="2",
        LENET_BENCH_GPU="1",
    )
    assert facts["device index"] == "1"


def test_a_session_may_end_in_a_thread_that_knows_no_gpu(ask: Ask) -> None:
    difference = ask(
        """
nets = []
thread = threading.Thread(target=lambda: nets.append(load("cudnn", weights=weights)))
thread.start(), thread.join()
nets.clear()  # here the first GPU is the current one
gc.collect()
net = load("cudnn", weights=weights)
answer(float(np.abs(net.infer(images[0]) - reference.infer(images[0])).max()))
""",
        CUDA_DOUBLE_DEVICES="2",
        LENET_BENCH_GPU="1",
    )
    assert difference < 1e-5


#: What a library says where it cannot make a handle -> what that means, what mends it.
REFUSALS = [
    ("cublasCreate", 1, "the GPU has no memory left", "nvidia-smi"),  # NOT_INITIALIZED
    ("cublasCreate", 3, "the GPU has no memory left", "nvidia-smi"),  # ALLOC_FAILED
    ("cudnnCreate", 1001, "the GPU has no memory left", "nvidia-smi"),  # NOT_INITIALIZED
    ("cudnnCreate", 1008, "parts do not belong together", "pip install --force-reinstall nvidia-"),
    ("cudnnCreate", 3007, "this cuDNN does not know this GPU", "pip install "),  # ARCH_MISMATCH
]


@pytest.mark.parametrize(("call", "status", "says", "mends"), REFUSALS)
def test_a_library_that_cannot_start_is_one_sentence_with_what_mends_it(
    ask: Ask, call: str, status: int, says: str, mends: str
) -> None:
    kind, sentence = ask(f"""
load("cudnn", weights=weights)  # brings in the libraries
double().cuda_double_fail(b"{call}", 1, {status})
answer(failure(lambda: load("cudnn", weights=weights)))
""")
    assert kind == "Unavailable"
    assert says in sentence
    assert mends in sentence


def test_a_full_device_is_one_sentence_and_leaks_nothing(ask: Ask) -> None:
    failure, left = ask("""
load("cudnn", weights=weights)  # brings in the libraries
gc.collect()
double().cuda_double_fail(b"cudaMalloc", 9, 2)
told = failure(lambda: load("cudnn", weights=weights))
gc.collect()
answer([told, double().cuda_double_live()])
""")
    assert failure[0] == "Unavailable"
    assert failure[1].startswith("the GPU has no memory left: cudaMalloc failed with")
    assert "nvidia-smi" in failure[1]
    assert left == 0


CALLS = {
    "cudnn": [
        ("cudnnConvolutionForward", "csrc/cuda/cudnn.cpp:"),
        ("cudnnAddTensor", "csrc/cuda/cudnn.cpp:"),
        ("cudnnPoolingForward", "csrc/cuda/cudnn.cpp:"),
        ("cublasSgemv", "csrc/cuda/cudnn.cpp:"),
        ("cudnnSoftmaxForward", "csrc/cuda/cudnn.cpp:"),
        ("cudaMemcpyAsync", "csrc/cuda/cudnn.cpp:"),
        ("cudaStreamSynchronize", "csrc/cuda/cudnn.cpp:"),
    ],
    "cudnn:graph": [("cudaGraphLaunch", "csrc/cuda/cudnn.cpp:")],
    "cudnn:frontend": [
        ("cudnnBackendExecute", "csrc/cuda/cudnn_frontend.cpp:"),
        ("cublasSgemv", "csrc/cuda/cudnn_frontend.cpp:"),
    ],
    "cuda": [
        ("cudaLaunchKernel", "csrc/cuda/fused.cpp:"),
        ("cudaMemcpyAsync", "csrc/cuda/fused.cpp:"),
    ],
    "cuda:mapped": [("cudaGraphLaunch", "csrc/cuda/fused.cpp:")],
    "cuda:persistent": [("cudaStreamQuery", "csrc/cuda/persistent.cpp:")],
}


@pytest.mark.parametrize(
    ("rung", "call", "place"), [(rung, *call) for rung, calls in CALLS.items() for call in calls]
)
def test_a_call_that_fails_is_named_and_the_session_goes_on(
    ask: Ask, rung: str, call: str, place: str
) -> None:
    told, difference = ask(f"""
net = load("{rung}", weights=weights)
double().cuda_double_fail(b"{call}", 1, 13)
told = failure(lambda: net.infer(images[0]))
answer([told, float(np.abs(net.infer(images[1]) - reference.infer(images[1])).max())])
""")
    assert told[0] == "RuntimeError"
    assert told[1].startswith(f"{call} failed with ")
    assert place in told[1]
    assert difference < 1e-5


def test_a_broken_context_ends_the_session_and_says_why(ask: Ask) -> None:
    first, second, left = ask("""
net = load("cudnn", weights=weights)
double().cuda_double_fail(b"cudaStreamSynchronize", 1, 700)  # an illegal address
first = failure(lambda: net.infer(images[0]))
second = failure(lambda: net.infer(images[0]))
del net
gc.collect()
answer([first, second, double().cuda_double_live()])
""")
    assert "cudaErrorIllegalAddress" in first[1]
    assert second[1].startswith("this session died earlier: cudaStreamSynchronize failed")
    assert "load the rung again" in second[1]
    assert left == 0


@pytest.mark.parametrize("nth", range(1, 12))
def test_a_session_that_fails_while_it_is_built_leaks_nothing(ask: Ask, nth: int) -> None:
    told, left = ask(f"""
load("cudnn:graph", weights=weights)
gc.collect()
calls = (b"cudaMalloc", b"cudaHostAlloc", b"cudnnCreate", b"cublasCreate", b"cudaGraphLaunch",
         b"cudaStreamBeginCapture", b"cudaStreamEndCapture", b"cudaGraphInstantiateWithFlags",
         b"cudnnSetStream", b"cublasSetWorkspace", b"cudnnSoftmaxForward")
call = calls[{nth} - 1]
double().cuda_double_fail(call, 1 if call != b"cudnnSoftmaxForward" else 2, 1)
told = failure(lambda: load("cudnn:graph", weights=weights).infer(images[0]))
gc.collect()
answer([told, double().cuda_double_live()])
""")
    assert told is not None
    assert left == 0


@pytest.mark.parametrize("rung", ["cudnn", "cuda:persistent"])
def test_a_forked_child_is_refused_the_parents_session(ask: Ask, rung: str) -> None:
    told, parent = ask(f"""
net = load("{rung}", weights=weights)
read, write = os.pipe()
if os.fork() == 0:
    told = [failure(lambda: net.infer(images[0])), failure(lambda: load("{rung}", weights=weights))]
    os.write(write, json.dumps(told).encode())
    del net
    gc.collect()
    os._exit(0)
os.wait()
told = json.loads(os.read(read, 10000))
answer([told, float(np.abs(net.infer(images[0]) - reference.infer(images[0])).max())])
""")
    (kind, used), (other_kind, loaded) = told
    assert kind == other_kind == "Unavailable"
    assert "does not survive a fork" in used
    assert "spawn" in used
    assert "was forked" in loaded
    assert parent < 1e-5


@pytest.mark.parametrize("rung", ["cudnn", "cuda:persistent"])
def test_the_interpreter_ends_with_work_in_flight(ask: Ask, rung: str) -> None:
    assert ask(f"""
net = load("{rung}", weights=weights)
def work():
    while True:
        net.infer(images)
[threading.Thread(target=work, daemon=True).start() for _ in range(2)]
net.infer(images)
answer(True)
""")


# the way to a GPU, link by link -------------------------------------------------------------------

CHAIN = """
from lenet_bench.backends.cuda_chain import ask
answer({link.name: [link.found, link.reason, link.path] for link in ask()})
"""


def test_each_link_tells_its_version_and_place(ask: Ask, double: Path) -> None:
    chain = ask(CHAIN)
    assert list(chain)[:4] == ["driver", "libcuda", "device", "module"]
    assert [reason for _, reason, _ in chain.values()] == [None] * 8
    assert chain["device"][0] == "a double of a GPU, compute capability 9.0"
    version, _, path = chain["libcudnn"]
    assert version.startswith("9.")
    assert path == str(double / "libcudnn.so.9")


@pytest.mark.parametrize(
    ("setting", "link", "says", "mends"),
    [
        ({"CUDA_DOUBLE_DRIVER": "11040"}, "libcuda", "supports CUDA 11.4", "nvidia-driver"),
        ({"CUDA_DOUBLE_DEVICES": "0"}, "device", "finds no GPU", "nvidia-smi"),
        ({"CUDA_VISIBLE_DEVICES": ""}, "device", "leaves no GPU", "unset CUDA_VISIBLE_DEVICES"),
        ({"CUDA_DOUBLE_CAPABILITY": "37"}, "device", "too old for CUDA", ""),
        ({"CUDA_DOUBLE_CUDNN_OF": "11000"}, "libcudnn", "built for CUDA 11", "pip uninstall"),
    ],
)
def test_only_the_broken_link_says_what_mends_it(
    ask: Ask, setting: dict[str, str], link: str, says: str, mends: str
) -> None:
    broken = {name: reason for name, (_, reason, _) in ask(CHAIN, **setting).items() if reason}
    assert list(broken) == [link]
    assert says in broken[link]
    assert mends in broken[link]


@pytest.mark.parametrize("library", ["libcuda.so.1", "libcudnn.so.9", "libcublas.so"])
def test_a_link_that_cannot_be_loaded_says_so(
    ask: Ask, double: Path, tmp_path: Path, library: str
) -> None:
    for path in double.glob("*.so*"):
        target = tmp_path / path.name
        if path.name.startswith(library):
            target.write_bytes(b"not a library")
        else:
            target.symlink_to(path)
    chain = ask(CHAIN, LENET_BENCH_CUDA_LIBRARIES=str(tmp_path))
    _, reason, _ = chain[library.partition(".")[0]]
    assert "mend it with: " in reason


# what the GPU itself tells ----------------------------------------------------------------------

COMPARE = """
from lenet_bench.measure.comparison import compare
from lenet_bench.measure.options import CompareOptions
(row,) = compare(CompareOptions(rungs=("cudnn:graph",), rounds=2)).rungs
answer({"status": row.status, "reason": row.reason, "device": row.device,
        **(row.gpu.__dict__ if row.gpu else {})})
"""


def test_a_result_tells_what_a_rung_took_of_its_gpu(ask: Ask) -> None:
    gpu = ask(COMPARE)
    assert (gpu["status"], gpu["device"], gpu["name"]) == ("ok", "gpu", "a double of a GPU")
    assert (gpu["mhz_before"], gpu["mhz_after"]) == (1980, 1980)
    assert gpu["memory_mib"] == 512
    assert gpu["power_w"] == pytest.approx(100, rel=0.2)
    assert gpu["energy_mj"] > 0
    assert gpu["profile_us"]["kernels_us"] > 0


def test_power_is_sampled_where_the_gpu_counts_no_energy(ask: Ask) -> None:
    gpu = ask(COMPARE, CUDA_DOUBLE_NVML="energy")
    assert (gpu["energy_mj"], gpu["power_w"]) == (None, 100)


def test_a_gpu_that_tells_nothing_costs_nothing_but_the_figures(ask: Ask) -> None:
    gpu = ask(COMPARE, CUDA_DOUBLE_NVML="all")
    assert gpu["status"] == "ok"
    assert [gpu[name] for name in ("power_w", "energy_mj", "mhz_after", "memory_mib")] == [None] * 4


def test_without_nvml_the_rung_itself_names_its_gpu(ask: Ask, double: Path, tmp_path: Path) -> None:
    for library in double.glob("*.so*"):
        if not library.name.startswith("libnvidia-ml"):
            (tmp_path / library.name).symlink_to(library)
    gpu = ask(COMPARE, LENET_BENCH_CUDA_LIBRARIES=str(tmp_path))
    assert (gpu["status"], gpu["name"]) == ("ok", "a double of a GPU")
    assert gpu["power_w"] is None or gpu["power_w"] != 100


# the kernel that stays ---------------------------------------------------------------------------

#: What the children of these tests say to the double.
STAYS = """
launches = lambda: double().cuda_double_calls(b"cudaLaunchKernel")
residents = lambda: double().cuda_double_residents()
def wait_until_it_leaves():
    import time
    while residents():
        time.sleep(0.001)
def right(net):
    return float(np.abs(net.infer(images[1]) - reference.infer(images[1])).max()) < 1e-5
"""
#: A GPU so slow that neither of the kernel's deadlines comes.
ENDLESS = {"CUDA_DOUBLE_SLOWER": "1000000"}


def test_a_kernel_that_stays_is_launched_once_for_many_calls(ask: Ask) -> None:
    code = """
net = load("cuda:persistent", weights=weights)
[net.infer(image) for image in images]
answer([launches(), residents()])
"""
    assert ask(STAYS + code, **ENDLESS) == [1, 1]


def test_a_kernel_that_stays_leaves_with_its_session(ask: Ask) -> None:
    code = """
net = load("cuda:persistent", weights=weights)
del net
gc.collect()
answer([launches(), residents()])
"""
    assert ask(STAYS + code, **ENDLESS) == [1, 0]


def test_a_kernel_that_nobody_calls_leaves_and_is_launched_again(ask: Ask) -> None:
    code = """
net = load("cuda:persistent", weights=weights)
wait_until_it_leaves()
answer([right(net), launches() > 1])
"""
    assert ask(STAYS + code) == [True, True]


def test_a_kernel_that_is_called_without_pause_leaves_all_the_same(ask: Ask) -> None:
    code = """
net = load("cuda:persistent", weights=weights)
before = launches()
while launches() < before + 2:
    assert right(net)
answer(True)
"""
    assert ask(STAYS + code, CUDA_DOUBLE_SLOWER="4")


def test_a_launch_that_fails_is_named_and_the_session_goes_on(ask: Ask) -> None:
    code = """
net = load("cuda:persistent", weights=weights)
wait_until_it_leaves()
double().cuda_double_fail(b"cudaLaunchKernel", 1, 13)
answer([failure(lambda: net.infer(images[0])), right(net)])
"""
    (kind, sentence), after = ask(STAYS + code)
    assert kind == "RuntimeError"
    assert sentence.startswith("cudaLaunchKernel failed with ")
    assert "csrc/cuda/persistent.cpp:" in sentence
    assert after


def test_a_kernel_that_breaks_ends_the_session_and_says_why(ask: Ask) -> None:
    code = """
net = load("cuda:persistent", weights=weights)
double().cuda_double_fail(b"cudaStreamQuery", 1, 700)  # an illegal address
first, second = (failure(lambda: net.infer(images[0])) for _ in range(2))
del net
gc.collect()
answer([first, second, double().cuda_double_live(), residents()])
"""
    first, second, left, residents = ask(STAYS + code)
    assert "cudaErrorIllegalAddress" in first[1]
    assert second[1].startswith("this session died earlier: cudaStreamQuery failed")
    assert left == residents == 0


def test_a_resident_session_that_fails_while_it_is_built_leaks_nothing(ask: Ask) -> None:
    code = """
load("cuda:persistent", weights=weights)
gc.collect()
left = {}
for call in ("cudaHostAlloc", "cudaFuncSetAttribute", "cudaOccupancyMaxActiveClusters",
             "cudaHostGetDevicePointer", "cudaLaunchKernel"):
    double().cuda_double_fail(call.encode(), 1, 1)
    assert failure(lambda: load("cuda:persistent", weights=weights))
    gc.collect()
    left[call] = double().cuda_double_live()
answer(left)
"""
    assert set(ask(STAYS + code).values()) == {0}


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ({"CUDA_DOUBLE_CAPABILITY": "89"}, "compute capability 9.0 or later, and this GPU has 8.9"),
        ({"CUDA_DOUBLE_CLUSTERS": "0"}, "cannot run a cluster of 16 blocks at once"),
    ],
)
def test_a_gpu_that_cannot_hold_a_cluster_is_refused(
    ask: Ask, setting: dict[str, str], says: str
) -> None:
    sentence = unavailable(ask, "cuda:persistent", **setting)
    assert says in sentence
    assert "cuda:mapped" in sentence


# our own kernels ---------------------------------------------------------------------------------

#: Turing, Ampere, Hopper, data centre and desktop Blackwell.
CAPABILITIES = [75, 80, 90, 100, 120]


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_our_kernels_compile_for(ask: Ask, capability: int) -> None:
    known, start = ask(f"""
from lenet_bench.backends._cuda import native
known = {capability} in native().known_capabilities()
answer([known, native().compile_kernels({capability})[:4].hex() if known else None])
""")
    if not known:
        pytest.skip("this NVRTC does not know it")
    assert bytes.fromhex(start) == b"\x7fELF"


@pytest.mark.parametrize("capability", [c for c in CAPABILITIES if c >= 90])
def test_the_kernel_that_stays_compiles_for(ask: Ask, capability: int) -> None:
    known, start = ask(f"""
from lenet_bench.backends._cuda import native
known = {capability} in native().known_capabilities()
answer([known, native().compile_persistent_kernel({capability})[:4].hex() if known else None])
""")
    if not known:
        pytest.skip("this NVRTC does not know it")
    assert bytes.fromhex(start) == b"\x7fELF"


def test_the_kernel_that_stays_spills_no_weights_into_memory(ask: Ask) -> None:
    frames = ask("""
import re
from lenet_bench.backends._cuda import native
compiled = [native().compile_persistent_kernel(capability)
            for capability in native().known_capabilities() if capability >= 90]
frame_size = re.compile(rb"\\x04\\x11\\x08\\x00....(....)", re.DOTALL)  # an attribute in .nv.info
answer([int.from_bytes(bytes, "little") for code in compiled for bytes in frame_size.findall(code)])
""")
    assert frames
    assert set(frames) == {0}


#: Kernels -> what they say to the host and hear from it, and to each other, as instructions.
#: Without `sys` another GPU's or the host's view is left out, and caches may answer instead.
ORDERED = {
    "fused.cu": ["st.release.sys"],
    "persistent.cu": [
        "ld.acquire.sys",  # the bell
        "ld.global.cv.v4.f32",  # the image, past the caches
        "st.release.sys",  # the answer
        "mapa.",  # the address of another block's shared memory
        "barrier.cluster.arrive;",  # releases; `.relaxed` would not
        "barrier.cluster.wait;",  # acquires
    ],
}


@pytest.mark.parametrize(("kernels", "instruction"), [(k, i) for k in ORDERED for i in ORDERED[k]])
def test_what_orders_memory_is_in_the_machine_code_of(kernels: str, instruction: str) -> None:
    major = built_major()
    assert major is not None
    assert instruction in compile_to_ptx(kernels, 90, major)


def test_an_unknown_gpu_is_one_sentence_with_what_mends_it(ask: Ask) -> None:
    sentence = unavailable(ask, "cuda", CUDA_DOUBLE_CAPABILITY="990")
    assert "compute capability 99.0" in sentence
    assert "pip install --upgrade nvidia-cuda-nvrtc" in sentence


def cached(folder: Path) -> list[Path]:
    return list((folder / "lenet-bench").glob("*.cubin"))


LOAD_CUDA = 'load("cuda", weights=weights)\nanswer(True)'


def test_compiled_kernels_are_kept_on_disk(ask: Ask, tmp_path: Path) -> None:
    ask(LOAD_CUDA, XDG_CACHE_HOME=str(tmp_path))
    (kept,) = cached(tmp_path)
    written = kept.stat().st_mtime_ns
    ask(LOAD_CUDA, XDG_CACHE_HOME=str(tmp_path))
    assert cached(tmp_path)[0].stat().st_mtime_ns == written


@pytest.mark.parametrize("damage", [b"", b"short", b"\0" * 5000])
def test_damaged_kernels_on_disk_are_compiled_again(
    ask: Ask, tmp_path: Path, damage: bytes
) -> None:
    ask(LOAD_CUDA, XDG_CACHE_HOME=str(tmp_path))
    (kept,) = cached(tmp_path)
    whole = kept.read_bytes()
    kept.write_bytes(damage)
    ask(LOAD_CUDA, XDG_CACHE_HOME=str(tmp_path))
    assert kept.read_bytes() == whole


def test_kernels_need_no_place_to_be_kept(ask: Ask, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert ask(LOAD_CUDA, XDG_CACHE_HOME=str(blocked))
    assert ask(LOAD_CUDA, XDG_CACHE_HOME="", HOME="")


# without the double ------------------------------------------------------------------------------


def test_importing_the_package_loads_no_cuda() -> None:
    done = child('print("libcud" in open("/proc/self/maps").read())')
    assert done.stdout.strip() == "False", done.stderr


def test_nvidias_own_libraries_say_what_is_missing_here() -> None:
    done = child('print(failure(lambda: load("cudnn", weights=weights)))')
    if done.stdout.strip() == "None":
        pytest.skip("there is an NVIDIA GPU here")
    assert "Unavailable" in done.stdout, done.stderr
    assert "driver" in done.stdout
