"""What can go wrong with a GPU backend: a sentence each, and the session goes on. On the double."""

import pytest
from cuda_children import CUDNN, Ask
from cuda_setting import built_major
from lenet_bench import load
from lenet_bench.errors import Unavailable
from lenet_bench.registry.gpu import why_none

pytestmark = pytest.mark.skipif(
    built_major() is None, reason="lenet_bench is built without CUDA (make test-cuda13)"
)


@pytest.mark.skipif(why_none() is None, reason="there is an NVIDIA GPU here")
def test_where_the_gpu_alone_is_missing_nothing_is_to_be_installed() -> None:
    with pytest.raises(Unavailable, match=r"^cudnn .* no NVIDIA GPU\D*$") as why:
        load("cudnn")
    assert "fix it" not in str(why.value)


OPEN = """
from lenet_bench.registry import cuda as _cuda
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
        ({}, "_cuda.LIBRARIES[major] = ('libcudart.so.99',)"),  # which is not installed
    ],
)
def test_whatever_is_missing_the_counterpart_on_the_cpu_is_named(
    ask: Ask, setting: dict[str, str], change: str
) -> None:
    kind, sentence = ask(OPEN.format(change=change), **setting)
    assert kind == "Unavailable"
    assert "onednn" in sentence


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
    assert "float32 engine" in sentence
    assert "the double says so" in sentence


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
    assert failure[1].startswith("the GPU has no memory")
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
    assert second.startswith("this session died")
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
    assert "survive a fork" in used
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
