"""What can go wrong with a GPU backend: a sentence each, and the session goes on. On the double."""

import pytest
from cuda_children import CUDNN, failing_once, needs_cuda, unavailable
from lenet_bench import load
from lenet_bench.errors import Unavailable
from lenet_bench.registry.gpu import why_none

pytestmark = needs_cuda


@pytest.mark.skipif(why_none() is None, reason="there is an NVIDIA GPU here")
def test_where_the_gpu_alone_is_missing_nothing_is_to_be_installed():
    with pytest.raises(Unavailable, match=r"^cudnn .* no NVIDIA GPU\D*$") as why:
        load("cudnn")
    assert "fix it" not in str(why.value)


NO_MEMORY, NO_START = "the GPU has no memory", "cannot start, although the GPU has"
#: A call, the status that it fails with and the MiB free -> what that means, and what mends it.
REFUSALS = [
    ("cudaMalloc", 2, 100, NO_MEMORY, "nvidia-smi"),
    ("cublasCreate", 1, 100, NO_MEMORY, "nvidia-smi"),  # NOT_INITIALIZED
    ("cublasCreate", 1, 2000, NO_START, "lenet-bench doctor"),
    ("cudnnCreate", 1008, 100, "a part of cuDNN", "pip install --force-reinstall nvidia-"),
    ("cudnnCreate", 3005, 100, "driver is too old", "update the driver"),
    ("cudnnCreate", 3007, 100, "this cuDNN does not know this GPU", "pip install "),
    ("cudaGetDeviceCount", 802, 100, "", "systemctl start nvidia-fabricmanager"),
    ("cudaGetDeviceCount", 803, 100, "", "restart the machine"),
    ("cudaGetDeviceCount", 804, 100, "", "LD_LIBRARY_PATH"),
    ("cudaGetDeviceCount", 999, 100, "", "nvidia-smi"),
]


@pytest.mark.parametrize(("call", "status", "free", "says", "mends"), REFUSALS)
def test_what_cannot_start_says_what_mends_it(ask, call, status, free, says, mends):
    before = failing_once("cudnn", call, status)
    sentence = unavailable(ask, "cudnn", before, CUDA_DOUBLE_FREE_MIB=str(free))
    assert says in sentence
    assert mends in sentence


def test_a_cudnn_that_does_not_load_is_not_one_without_engines(ask):
    refused = ask("""
load("cudnn:graph_api", weights=weights)  # brings in the libraries
def fails(call, nth):
    double().cuda_double_fail(call, nth, 1008)  # SUBLIBRARY_LOADING_FAILED
    return failure(lambda: load("cudnn:graph_api", weights=weights))
calls = (b"cudnnBackendFinalize", 1), (b"cudnnBackendFinalize", 39), (b"cudnnBackendExecute", 1)
answer([fails(*call) for call in calls])
""")
    assert all(kind == "Unavailable" for kind, _ in refused)
    assert all("a part of cuDNN" in sentence for _, sentence in refused)


@pytest.mark.parametrize("status", [3000, 5003])  # NOT_SUPPORTED, EXECUTION_FAILED_CUDART
def test_a_cudnn_without_a_float32_engine_is_a_sentence(ask, status):
    # the first fails by itself
    before = failing_once("cudnn:graph_api", "cudnnBackendExecute", status, nth=2)
    sentence = unavailable(ask, "cudnn:graph_api", before)
    assert "float32 engine" in sentence
    assert "the double says so" in sentence


@pytest.mark.parametrize("backend", CUDNN)
@pytest.mark.parametrize("override", ["0", "1"])
def test_no_promise_of_math_that_is_overridden(ask, backend, override):
    code = f'answer(failure(lambda: load("{backend}", weights=weights)))'
    refused = ask(code, NVIDIA_TF32_OVERRIDE=override)
    if (backend == "cudnn:tf32") == (override == "0"):
        assert refused[0] == "Unavailable"
        assert "unset NVIDIA_TF32_OVERRIDE" in refused[1]
    else:
        assert refused is None


#: By file of csrc/cuda, which the sentence names, a backend's calls.
CALLS = [
    ("cudnn", "cudnnConvolutionForward", "cudnn.cpp"),
    ("cudnn:cudagraph", "cudaGraphLaunch", "cudnn.cpp"),
    ("cudnn:graph_api", "cudnnBackendExecute", "cudnn_graph_api.cpp"),
    ("cuda", "cudaLaunchKernel", "kernels.hpp"),
    ("cuda:persistent", "cudaStreamQuery", "session.cpp"),
    ("cuda:persistent", "cudaLaunchKernel", "kernels.hpp"),
]


@pytest.mark.parametrize(("backend", "call", "file"), CALLS)
def test_a_call_that_fails_is_named(ask, backend, call, file):
    (kind, sentence), after = ask(f"""
net = load("{backend}", weights=weights)
while "{call}" == "cudaLaunchKernel" and double().cuda_double_residents():
    time.sleep(0.001)  # until the kernel that stays has left: the next call launches it again
double().cuda_double_fail(b"{call}", 1, 13)
answer([failure(lambda: net.infer(images[0])), right(net)])
""")
    assert kind == "RuntimeError"
    assert after
    assert sentence.startswith(f"{call} failed with ")
    assert f"csrc/cuda/{file}:" in sentence


@pytest.mark.parametrize(
    ("backend", "call"),
    [("cudnn", "cudaStreamSynchronize"), ("cuda:persistent", "cudaStreamQuery")],
)
def test_a_broken_context_ends_the_session(ask, backend, call):
    refused, left = ask(f"""
net = load("{backend}", weights=weights)
double().cuda_double_fail(b"{call}", 1, 700)  # an illegal address
refused = [failure(lambda: net.infer(images[0])) for _ in range(2)]
del net
gc.collect()
left = [double().cuda_double_live(), double().cuda_double_residents()]
answer([refused + [failure(lambda: load("cudnn", weights=weights))], left])
""")
    first, second, again = (sentence for _, sentence in refused)
    assert "cudaErrorIllegalAddress" in first
    assert second.startswith("this session died")
    assert all("start a new " in sentence for sentence in (first, second, again))
    assert left == [0, 0]


#: What a session is built with: each call may fail.
BUILDS = [
    ("cudnn:cudagraph", "cudaHostAlloc"),
    ("cudnn:cudagraph", "cublasCreate"),
    ("cudnn:cudagraph", "cudaStreamEndCapture"),
    ("cudnn:cudagraph", "cudaGraphInstantiateWithFlags"),
    ("cuda:persistent", "cudaHostAlloc"),
    ("cuda:persistent", "cudaFuncSetAttribute"),
    ("cuda:persistent", "cudaLaunchKernel"),
]


@pytest.mark.parametrize(("backend", "call"), BUILDS)
def test_a_session_that_cannot_be_built_leaks_nothing(ask, backend, call):
    refused, left = ask(f"""
{failing_once(backend, call, 1)}
refused = failure(lambda: load("{backend}", weights=weights).infer(images[0]))
gc.collect()
answer([refused, double().cuda_double_live()])
""")
    assert refused is not None
    assert left == 0


@pytest.mark.parametrize("backend", ["cudnn", "cuda:persistent"])
def test_a_forked_child_is_refused_the_parents_session(ask, backend):
    refused, parent = ask(f"""
net = load("{backend}", weights=weights)
read, write = os.pipe()
if os.fork() == 0:
    refused = [
        failure(lambda: net.infer(images[0])),
        failure(lambda: load("{backend}", weights=weights)),
    ]
    os.write(write, json.dumps(refused).encode())
    del net
    gc.collect()
    os._exit(0)
os.wait()
refused = json.loads(os.read(read, 10000))
answer([refused, right(net)])
""")
    (kind, used), (other_kind, loaded) = refused
    assert kind == other_kind == "Unavailable"
    assert "survive a fork" in used
    assert "spawn" in used
    assert "was forked" in loaded
    assert parent
