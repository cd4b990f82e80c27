"""The GPU backends on the double of CUDA (cuda_double/): the module that users get, without a GPU.
It proves the wiring; numerics and speed of NVIDIA's libraries are for bench/gpu.sh.
"""

import shutil
from pathlib import Path

import pytest
from cuda_children import Ask, child
from cuda_setting import built_major

pytestmark = pytest.mark.skipif(
    built_major() is None, reason="lenet_bench is built without CUDA (make test-cuda13)"
)

CUDNN = ["cudnn", "cudnn:find", "cudnn:heuristic", "cudnn:tf32", "cudnn:graph", "cudnn:frontend"]
CUDA = ["cuda", "cuda:graph", "cuda:mapped", "cuda:persistent"]
BACKENDS = [*CUDNN, *CUDA]


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_layer_matches_the_float64_reference(ask: Ask, backend: str) -> None:
    difference = ask(f"""
found = load("{backend}", weights=weights).layers(images[0])
expected = reference.layers(images[0])
answer({{name: float(np.abs(found[name] - expected[name]).max()) for name in found}})
""")
    assert "probabilities" in difference
    allowed = 1e-2 if backend == "cudnn:tf32" else 2e-5
    assert max(difference.values()) < allowed


@pytest.mark.parametrize("backend", CUDA)
def test_our_kernels_match_it_on_every_kind_of_gpu_in_any_order(ask: Ask, backend: str) -> None:
    capabilities = [c for c in (75, 89, 90, 100, 120) if backend != "cuda:persistent" or c >= 90]
    difference = ask(f"""
def worst(capability, seed):
    os.environ.update(CUDA_DOUBLE_CAPABILITY=str(capability), CUDA_DOUBLE_SEED=str(seed))
    net = load("{backend}", weights=weights)
    found, expected = net.layers(images[0]), reference.layers(images[0])
    return max(float(np.abs(net.infer(images) - reference.infer(images)).max()),
               *(float(np.abs(found[name] - expected[name]).max()) for name in found))
answer([worst(capability, seed) for capability in {capabilities} for seed in (1, 2, 3)])
""")
    assert max(difference) < 2e-5


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_last_of_many_calls_answers_as_the_first(ask: Ask, backend: str) -> None:
    calls = 999 if backend in CUDNN else 99  # of our own kernels it steps through each instruction
    first, last = ask(f"""
net = load("{backend}", weights=weights)
first = net.infer(images[0])
for call in range({calls}):
    last = net.infer(images[(call + 2) % 4])
answer([first.tolist(), net.infer(images[0]).tolist()])
""")
    assert first == last


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_batch_answers_as_its_images_one_by_one(ask: Ask, backend: str) -> None:
    difference, allowed = ask(f"""
net = load("{backend}", weights=weights)
assert net.infer(images[:0]).shape == (0, 10)
difference = np.abs(net.infer(images) - reference.infer(images)).max()
answer([float(difference), tolerance("{backend}")])
""")
    assert difference <= allowed


@pytest.mark.parametrize("backend", BACKENDS)
def test_threads_that_call_at_once_each_get_their_own_answer(ask: Ask, backend: str) -> None:
    worst, allowed = ask(f"""
net = load("{backend}", weights=weights)
expected = reference.infer(images)
worst = [0.0] * 4
def work(i):
    for _ in range(20):
        worst[i] = max(worst[i], float(np.abs(net.infer(images[i]) - expected[i]).max()))
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
[t.start() for t in threads], [t.join() for t in threads]
answer([max(worst), tolerance("{backend}")])
""")
    assert worst <= allowed


@pytest.mark.parametrize("backend", BACKENDS)
def test_two_sessions_do_not_disturb_each_other(ask: Ask, backend: str) -> None:
    worst, allowed = ask(f"""
other = Weights({{name: -values for name, values in weights.parameters.items()}})
one, two = load("{backend}", weights=weights), load("{backend}", weights=other)
expected_one, expected_two = reference.infer(images), load("reference", weights=other).infer(images)
worst = 0.0
for i in [0, 1, 2, 3, 1, 0]:
    worst = max(worst, float(np.abs(one.infer(images[i]) - expected_one[i]).max()))
    worst = max(worst, float(np.abs(two.infer(images[i]) - expected_two[i]).max()))
answer([worst, tolerance("{backend}")])
""")
    assert worst <= allowed


@pytest.mark.parametrize("backend", BACKENDS)
def test_nothing_is_left_when_a_session_goes(ask: Ask, backend: str) -> None:
    alive, left = ask(f"""
net = load("{backend}", weights=weights)
net.infer(images)
net.profile(images[0], 3)
alive = double().cuda_double_live()
del net
gc.collect()
answer([alive, double().cuda_double_live()])
""")
    assert alive > 0
    assert left == 0


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_call_allocates_nothing(ask: Ask, backend: str) -> None:
    before, after = ask(f"""
net = load("{backend}", weights=weights)
names = (b"cudaMalloc", b"cudaHostAlloc", b"cudnnCreateTensorDescriptor", b"cudaEventCreate",
         b"cudnnBackendCreateDescriptor", b"copy of memory that is not pinned")
count = lambda: [double().cuda_double_calls(name) for name in names]
before = count()
net.infer(images)
answer([before, count()])
""")
    assert before == after


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_profile_splits_one_call_into_its_stages(ask: Ask, backend: str) -> None:
    profile = ask(f'answer(load("{backend}", weights=weights).profile(images[0], 5))')
    assert set(profile) >= {"h2d_us", "kernels_us", "d2h_us", "enqueue_us", "total_us"}
    assert profile["kernels_us"] > 0


def test_describe_names_device_versions_algorithm_and_memory(ask: Ask) -> None:
    facts = ask('answer(load("cudnn:find", weights=weights).describe())')
    assert facts["device"] == "a double of a GPU"
    assert facts["conv1"] == "gemm"  # the fastest that worked in float32, once all were warm
    for fact in ("driver supports CUDA", "CUDA runtime", "cuDNN", "cuBLAS", "device memory"):
        assert facts[fact]


@pytest.mark.parametrize("backend", BACKENDS)
def test_describe_proves_that_it_ran_on_the_gpu(ask: Ask, backend: str) -> None:
    facts = ask(f'answer(load("{backend}", weights=weights).describe())')
    assert facts["proof"].startswith("its answers lie in the memory of GPU 0")


def test_describe_names_the_engines_that_keep_to_float32_and_run(ask: Ask) -> None:
    facts = ask('answer(load("cudnn:frontend", weights=weights).describe())')
    # 33 rounds, 99 is not built, 55 fails
    assert facts["conv1"] == "engine 11, with its bias in one plan"
    assert facts["pool1"] == "engine 1"  # only the fallback lists one
    assert facts["math"] == "float32"


@pytest.mark.parametrize("backend", ["cudnn:graph", "cuda:graph", "cuda:mapped"])
def test_a_graph_has_run_before_the_first_call_pays_for_it(ask: Ask, backend: str) -> None:
    code = (
        'net = load("{}", weights=weights)\nanswer(double().cuda_double_calls(b"cudaGraphLaunch"))'
    )
    assert ask(code.format(backend)) > 0


def test_the_default_math_is_float32_only_where_there_is_no_tf32(ask: Ask) -> None:
    turing = {"CUDA_DOUBLE_NO_FMA": "1", "CUDA_DOUBLE_CAPABILITY": "75"}
    facts = ask('answer(load("cudnn:find", weights=weights).describe())', **turing)
    assert facts["conv1"] == "direct"
    load = 'answer(failure(lambda: load("cudnn:find", weights=weights)))'
    kind, sentence = ask(load, CUDA_DOUBLE_NO_FMA="1")
    assert kind == "RuntimeError"
    assert "float32" in sentence


# what can go wrong -------------------------------------------------------------------------------


def unavailable(ask: Ask, backend: str, **environment: str) -> str:
    kind, sentence = ask(
        f'answer(failure(lambda: load("{backend}", weights=weights)))', **environment
    )
    assert kind == "Unavailable"
    assert "\n" not in sentence
    return str(sentence)


@pytest.mark.parametrize(
    ("setting", "says", "mends"),
    [
        ({"CUDA_DOUBLE_DRIVER": "0"}, "no NVIDIA driver", "nvidia-smi"),
        ({"CUDA_DOUBLE_DRIVER": "11040"}, "supports CUDA 11.4", "nvidia-driver"),
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


OPEN = """
from lenet_bench.registry import cuda as _cuda, cuda_libraries as _cuda_libraries
from lenet_bench.questions.infer import open_backends
{change}
answer(failure(lambda: open_backends(["cudnn"], weights)))
"""


@pytest.mark.parametrize(
    ("setting", "change"),
    [
        ({"CUDA_DOUBLE_DEVICES": "0"}, ""),
        ({"CUDA_DOUBLE_DRIVER": "11040"}, ""),
        ({}, "_cuda.find_spec = lambda name: None"),  # a package without our module
        ({}, "_cuda_libraries.LIBRARIES[major] = ('libcudart.so.99',)"),  # which is not installed
    ],
)
def test_whatever_is_missing_the_counterpart_on_the_cpu_is_named(
    ask: Ask, setting: dict[str, str], change: str
) -> None:
    kind, sentence = ask(OPEN.format(change=change), **setting)
    assert kind == "Unavailable"
    assert "the backend onednn; " in sentence


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


#: What a library says where it cannot make a handle, and the MiB free -> what that means, what
#: mends it.
REFUSALS = [
    ("cublasCreate", 1, 100, "the GPU has no memory left", "nvidia-smi"),  # NOT_INITIALIZED
    ("cublasCreate", 1, 2000, "cannot start, although the GPU has", "lenet-bench doctor"),
    ("cublasCreate", 3, 2000, "the GPU has no memory left", "nvidia-smi"),  # ALLOC_FAILED
    ("cudnnCreate", 1001, 100, "the GPU has no memory left", "nvidia-smi"),  # NOT_INITIALIZED
    ("cudnnCreate", 1001, 2000, "cannot start, although the GPU has", "lenet-bench doctor"),
    ("cudnnCreate", 1008, 100, "a part of cuDNN", "pip install --force-reinstall nvidia-"),
    ("cudnnCreate", 3005, 100, "driver is too old", "update the driver"),
    ("cudnnCreate", 3007, 100, "this cuDNN does not know this GPU", "pip install "),
]


@pytest.mark.parametrize(("call", "status", "free", "says", "mends"), REFUSALS)
def test_a_library_that_cannot_start_is_one_sentence_with_what_mends_it(
    ask: Ask, call: str, status: int, free: int, says: str, mends: str
) -> None:
    code = f"""
load("cudnn", weights=weights)  # brings in the libraries
double().cuda_double_fail(b"{call}", 1, {status})
answer(failure(lambda: load("cudnn", weights=weights)))
"""
    kind, sentence = ask(code, CUDA_DOUBLE_FREE_MIB=str(free))
    assert kind == "Unavailable"
    assert says in sentence
    assert mends in sentence


@pytest.mark.parametrize("status", [801, 802, 803, 804, 999])
def test_a_driver_that_cannot_start_is_one_sentence_with_what_mends_it(
    ask: Ask, status: int
) -> None:
    kind, sentence = ask(f"""
load("cudnn", weights=weights)  # brings in the libraries
double().cuda_double_fail(b"cudaGetDeviceCount", 1, {status})
answer(failure(lambda: load("cudnn", weights=weights)))
""")
    assert kind == "Unavailable"
    mends = {
        802: "systemctl start nvidia-fabricmanager",
        803: "restart the machine",
        804: "LD_LIBRARY_PATH",
    }
    assert mends.get(status, "nvidia-smi") in sentence


def test_a_cudnn_that_does_not_load_is_not_called_one_without_engines(ask: Ask) -> None:
    told = ask("""
load("cudnn:frontend", weights=weights)  # brings in the libraries
def fails(call, nth):
    double().cuda_double_fail(call, nth, 1008)  # SUBLIBRARY_LOADING_FAILED
    return failure(lambda: load("cudnn:frontend", weights=weights))
answer([fails(b"cudnnBackendFinalize", nth) for nth in range(1, 40)]
       + [fails(b"cudnnBackendExecute", nth) for nth in range(1, 4)])
""")
    assert all(kind == "Unavailable" for kind, _ in told)
    assert all("a part of cuDNN" in sentence for _, sentence in told)


def test_a_graph_without_an_engine_says_what_the_last_one_said(ask: Ask) -> None:
    kind, sentence = ask("""
load("cudnn:frontend", weights=weights)  # brings in the libraries
double().cuda_double_fail(b"cudnnBackendExecute", 2, 3000)  # the first one fails by itself
answer(failure(lambda: load("cudnn:frontend", weights=weights)))
""")
    assert kind == "Unavailable"
    assert "no float32 engine for conv1" in sentence
    assert "CUDNN_STATUS_OF_THE_DOUBLE the double says so" in sentence


@pytest.mark.parametrize("backend", CUDNN)
@pytest.mark.parametrize("override", ["0", "1"])
def test_no_variant_promises_a_math_that_the_environment_overrides(
    ask: Ask, backend: str, override: str
) -> None:
    code = f'answer(failure(lambda: load("{backend}", weights=weights)))'
    told = ask(code, NVIDIA_TF32_OVERRIDE=override)
    if (backend == "cudnn:tf32") == (override == "0"):
        assert told[0] == "Unavailable"
        assert "unset NVIDIA_TF32_OVERRIDE" in told[1]
    else:
        assert told is None


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
        ("cudaLaunchKernel", "csrc/cuda/kernels.hpp:"),
        ("cudaMemcpyAsync", "csrc/cuda/fused.cpp:"),
    ],
    "cuda:mapped": [("cudaGraphLaunch", "csrc/cuda/fused.cpp:")],
    "cuda:persistent": [("cudaStreamQuery", "csrc/cuda/session.cpp:")],
}


@pytest.mark.parametrize(
    ("backend", "call", "place"),
    [(backend, *call) for backend, calls in CALLS.items() for call in calls],
)
def test_a_call_that_fails_is_named_and_the_session_goes_on(
    ask: Ask, backend: str, call: str, place: str
) -> None:
    told, difference = ask(f"""
net = load("{backend}", weights=weights)
double().cuda_double_fail(b"{call}", 1, 13)
told = failure(lambda: net.infer(images[0]))
answer([told, float(np.abs(net.infer(images[1]) - reference.infer(images[1])).max())])
""")
    assert told[0] == "RuntimeError"
    assert told[1].startswith(f"{call} failed with ")
    assert place in told[1]
    assert difference < 1e-5


def test_a_broken_context_ends_the_session_and_says_why(ask: Ask) -> None:
    told, left = ask("""
net = load("cudnn", weights=weights)
double().cuda_double_fail(b"cudaStreamSynchronize", 1, 700)  # an illegal address
told = [failure(lambda: net.infer(images[0])) for _ in range(2)]
del net
gc.collect()
left = double().cuda_double_live()
answer([told + [failure(lambda: load("cudnn", weights=weights))], left])
""")
    first, second, again = (sentence for _, sentence in told)
    assert "cudaErrorIllegalAddress" in first
    assert second.startswith("this session died earlier: cudaStreamSynchronize failed")
    assert all("start a new " in sentence for sentence in (first, second, again))
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


@pytest.mark.parametrize("backend", ["cudnn", "cuda:persistent"])
def test_a_forked_child_is_refused_the_parents_session(ask: Ask, backend: str) -> None:
    told, parent = ask(f"""
net = load("{backend}", weights=weights)
read, write = os.pipe()
if os.fork() == 0:
    told = [
        failure(lambda: net.infer(images[0])),
        failure(lambda: load("{backend}", weights=weights)),
    ]
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


@pytest.mark.parametrize("backend", ["cudnn", "cuda:persistent"])
def test_the_interpreter_ends_with_work_in_flight(ask: Ask, backend: str) -> None:
    assert ask(f"""
net = load("{backend}", weights=weights)
def work():
    while True:
        net.infer(images)
[threading.Thread(target=work, daemon=True).start() for _ in range(2)]
net.infer(images)
answer(True)
""")


# the way to a GPU, link by link -------------------------------------------------------------------

CHAIN = """
from lenet_bench.registry.cuda_chain import ask
answer({link.name: [link.found, link.reason, link.path] for link in ask()})
"""


def test_each_link_tells_its_version_and_place(ask: Ask, double: Path) -> None:
    chain = ask(CHAIN)
    assert list(chain)[:3] == ["driver", "device", "module"]
    assert [reason for _, reason, _ in chain.values()] == [None] * 7
    assert chain["device"][0] == "a double of a GPU, compute capability 9.0"
    version, _, path = chain["libcudnn"]
    assert version.startswith("9.")
    assert Path(path).resolve() == double / "libcudnn.so.9"


@pytest.mark.parametrize(
    ("setting", "link", "says", "mends"),
    [
        ({"CUDA_DOUBLE_DRIVER": "11040"}, "driver", "supports CUDA 11.4", "nvidia-driver"),
        ({"CUDA_DOUBLE_DEVICES": "0"}, "device", "finds no GPU", "nvidia-smi"),
        ({"CUDA_VISIBLE_DEVICES": ""}, "device", "hides every GPU", "unset CUDA_VISIBLE_DEVICES"),
        ({"CUDA_DOUBLE_CAPABILITY": "37"}, "device", "too old for CUDA", ""),
        ({"CUDA_DOUBLE_CUDNN_OF": "11000"}, "libcudnn", "built for CUDA 11", "--force-reinstall"),
    ],
)
def test_only_the_broken_link_says_what_mends_it(
    ask: Ask, setting: dict[str, str], link: str, says: str, mends: str
) -> None:
    broken = {name: reason for name, (_, reason, _) in ask(CHAIN, **setting).items() if reason}
    assert list(broken) == [link]
    assert says in broken[link]
    assert mends in broken[link]


@pytest.mark.parametrize(
    ("library", "link"),
    [("libcuda.so.1", "driver"), ("libcudnn.so.9", "libcudnn"), ("libcublas.so", "libcublas")],
)
def test_a_link_that_cannot_be_loaded_says_so(
    ask: Ask, double: Path, tmp_path: Path, library: str, link: str
) -> None:
    for path in double.glob("*.so*"):
        target = tmp_path / path.name
        if path.name.startswith(library):
            target.write_bytes(b"not a library")
        else:
            target.symlink_to(path)
    chain = ask(CHAIN, LENET_BENCH_CUDA_LIBRARIES=str(tmp_path))
    broken = {name: reason for name, (_, reason, _) in chain.items() if reason}
    assert list(broken) == [link]
    assert link == "driver" or "mend it with: " in broken[link]


# what the GPU itself tells ----------------------------------------------------------------------

COMPARE = """
from msgspec.structs import asdict
from lenet_bench.measure.comparison import compare
from lenet_bench.measure.options import CompareOptions
(row,) = compare(CompareOptions(backends=("cudnn:graph",), rounds=2)).backends
answer({"status": row.status, "reason": row.reason, "device": row.device,
        **(asdict(row.gpu) if row.gpu else {})})
"""


def test_a_result_tells_what_a_backend_took_of_its_gpu(ask: Ask) -> None:
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


def test_without_nvml_the_backend_itself_names_its_gpu(
    ask: Ask, double: Path, tmp_path: Path
) -> None:
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
    assert "csrc/cuda/kernels.hpp:" in sentence
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


@pytest.mark.parametrize("call", ["cudaFuncSetAttribute", "cudaOccupancyMaxActiveClusters"])
@pytest.mark.parametrize("status", [1, 9, 801, 912])  # invalid value, configuration, ... size
def test_a_gpu_that_knows_no_cluster_of_sixteen_is_refused(
    ask: Ask, call: str, status: int
) -> None:
    code = f"""
load("cuda", weights=weights)  # brings in the libraries
double().cuda_double_fail(b"{call}", 1, {status})
answer(failure(lambda: load("cuda:persistent", weights=weights)))
"""
    kind, sentence = ask(code)
    assert kind == "Unavailable"
    assert "cannot run a cluster of 16 blocks at once (cudaError" in sentence


@pytest.mark.parametrize(
    "setting", [{"CUDA_DOUBLE_CAPABILITY": "89"}, {"CUDA_DOUBLE_CLUSTERS": "0"}]
)
def test_without_clusters_mapped_is_three_kernels(ask: Ask, setting: dict[str, str]) -> None:
    code = """
net = load("cuda:mapped", weights=weights)
difference = np.abs(net.infer(images) - reference.infer(images)).max()
answer([float(difference), net.describe()["kernels"]])
"""
    difference, kernels = ask(code, **setting)
    assert difference < 1e-5
    assert kernels.startswith("3:")


def test_a_kernel_that_stays_tells_how_often_it_was_launched_again(ask: Ask) -> None:
    code = """
net = load("cuda:persistent", weights=weights)
before = int(net.describe()["relaunches"])
wait_until_it_leaves()
net.infer(images[0])
answer([before, int(net.describe()["relaunches"])])
"""
    before, after = ask(STAYS + code)
    assert after > before


@pytest.mark.parametrize("floor", ["LaunchAndCopies", "LaunchAndFlag", "ResidentEcho"])
def test_a_floor_answers_without_a_network(ask: Ask, floor: str) -> None:
    code = f"""
from lenet_bench.registry.cuda import native
net = native().{floor}(weights, threads=1)
answers = net.infer(images)
expected = images.reshape(4, -1)[:, :10] if "{floor}" == "ResidentEcho" else 0.1
answer([float(np.abs(answers - expected).max()), net.profile(images[0], 3)["total_us"]])
"""
    difference, total_us = ask(code)
    assert difference < 1e-6
    assert total_us > 0


# our own kernels ---------------------------------------------------------------------------------

#: Turing, Ampere, Hopper, data centre and desktop Blackwell.
CAPABILITIES = [75, 80, 90, 100, 120]

#: The double's NVRTC gives what NVIDIA's does, and not PTX in its place.
MACHINE_CODE = {"CUDA_DOUBLE_MACHINE_CODE": "1"}


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_our_kernels_compile_for(ask: Ask, capability: int) -> None:
    known, start = ask(
        f"""
from lenet_bench.registry.cuda import native
known = {capability} in native().known_capabilities()
answer([known, native().compile_kernels({capability})[:4].hex() if known else None])
""",
        **MACHINE_CODE,
    )
    if not known:
        pytest.skip("this NVRTC does not know it")
    assert bytes.fromhex(start) == b"\x7fELF"


@pytest.mark.parametrize("capability", [c for c in CAPABILITIES if c >= 90])
def test_the_kernel_that_stays_compiles_for(ask: Ask, capability: int) -> None:
    known, start = ask(
        f"""
from lenet_bench.registry.cuda import native
known = {capability} in native().known_capabilities()
answer([known, native().compile_cluster_kernels({capability})[:4].hex() if known else None])
""",
        **MACHINE_CODE,
    )
    if not known:
        pytest.skip("this NVRTC does not know it")
    assert bytes.fromhex(start) == b"\x7fELF"


def test_the_kernel_that_stays_spills_no_weights_into_memory(ask: Ask) -> None:
    frames = ask(
        """
import re
from lenet_bench.registry.cuda import native
compiled = [native().compile_cluster_kernels(capability)
            for capability in native().known_capabilities() if capability >= 90]
frame_size = re.compile(rb"\\x04\\x11\\x08\\x00....(....)", re.DOTALL)  # an attribute in .nv.info
answer([int.from_bytes(bytes, "little") for code in compiled for bytes in frame_size.findall(code)])
""",
        **MACHINE_CODE,
    )
    assert frames
    assert set(frames) == {0}


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


@pytest.mark.parametrize(("of_folder", "others_may"), [(False, 0o620), (True, 0o777)])
def test_compiled_kernels_that_others_could_have_written_are_not_used(
    ask: Ask, tmp_path: Path, of_folder: bool, others_may: int
) -> None:
    ask(LOAD_CUDA, XDG_CACHE_HOME=str(tmp_path))
    (kept,) = cached(tmp_path)
    written = kept.stat().st_mtime_ns
    (kept.parent if of_folder else kept).chmod(others_may)
    ask(LOAD_CUDA, XDG_CACHE_HOME=str(tmp_path))
    assert kept.stat().st_mtime_ns != written
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700


def test_another_compiler_of_the_same_version_compiles_anew(
    ask: Ask, double: Path, tmp_path: Path
) -> None:
    for path in double.glob("lib*.so.*"):
        if path.name.startswith("libnvrtc") and not path.name.endswith(".map"):
            shutil.copyfile(path, tmp_path / path.name)  # as a patch of it: built at another time
        else:
            (tmp_path / path.name).symlink_to(path)
    ask(LOAD_CUDA, XDG_CACHE_HOME=str(tmp_path))
    ask(LOAD_CUDA, XDG_CACHE_HOME=str(tmp_path), LENET_BENCH_CUDA_LIBRARIES=str(tmp_path))
    assert len(cached(tmp_path)) == 2


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
