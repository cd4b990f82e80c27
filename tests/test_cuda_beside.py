"""The GPU backends beside other people's code in one process: other libraries' GPUs, captures and
errors, Python's other threads, and Python's end. On the double of CUDA (cuda_double/).
"""

import os
from pathlib import Path

import pytest
from cuda_children import Ask, needs_cuda

pytestmark = needs_cuda

#: One of each kind: calls on a stream, a graph, plans, our own kernels, one that stays.
KINDS = ["cudnn", "cudnn:cudagraph", "cudnn:graph_api", "cuda", "cuda:mapped", "cuda:persistent"]

#: What the children of these tests ask.
OTHERS = """
def gpu_of_this_thread():
    device = ctypes.c_int(-1)
    double().cudaGetDevice(ctypes.byref(device))
    return device.value
def wait_for(condition):
    while not condition():
        time.sleep(0.001)
"""


@pytest.mark.parametrize("kind", KINDS)
def test_the_calling_thread_keeps_its_own_gpu(ask: Ask, kind: str) -> None:
    code = f"""
seen = []
def step(work):
    made = work()
    seen.append([gpu_of_this_thread(), double().cuda_double_pushed()])
    return made
net = step(lambda: load("{kind}", weights=weights))
step(lambda: net.infer(images))
step(lambda: net.layers(images[0]))
where = step(lambda: net.describe()["device index"])
step(lambda: net.profile(images[0], 2))
double().cuda_double_fail(b"cudaStreamSynchronize", 1, 13)
double().cuda_double_fail(b"cudaStreamQuery", 1, 13)
step(lambda: failure(lambda: net.infer(images[0])))
del net
step(gc.collect)
step(lambda: failure(lambda: load("cudnn:none", weights=weights)))
answer([where, seen])
"""
    where, seen = ask(OTHERS + code, CUDA_DOUBLE_DEVICES="2", LENET_BENCH_GPU="1")
    assert where == "1"
    assert seen == [[0, 0]] * len(seen)


@pytest.mark.parametrize("kind", KINDS)
def test_errors_of_others_are_not_ours_nor_ours_theirs(ask: Ask, kind: str) -> None:
    code = f"""
load("{kind}", weights=weights)  # brings in the libraries
def leave_an_error():
    assert double().cudaSetDevice(99) != 0
leave_an_error()
net = load("{kind}", weights=weights)
leave_an_error()
answers, left = right(net), []
double().cudaGetLastError()  # takes theirs away
for call in (b"none", b"cudaStreamSynchronize", b"cudaMemcpyAsync", b"cudaStreamQuery"):
    double().cuda_double_fail(call, 1, 13)
    failure(lambda: net.infer(images))
    left.append(double().cudaGetLastError())
answer([answers, left])
"""
    assert ask(OTHERS + code) == [True, [0] * 4]


@pytest.mark.parametrize("kind", KINDS)
def test_another_thread_may_capture_meanwhile(ask: Ask, kind: str) -> None:
    code = f"""
load("{kind}", weights=weights)  # brings in the libraries
gc.collect()
stream, graph = ctypes.c_void_p(), ctypes.c_void_p()
double().cudaStreamCreateWithFlags(ctypes.byref(stream), 1)
double().cudaStreamBeginCapture(stream, 0)  # globally, as torch.cuda.graph does
def work():
    net = load("{kind}", weights=weights)
    answers.append(right(net))
    net.describe(), net.profile(images[0], 2)
    del net
    gc.collect()
answers = []
thread = threading.Thread(target=work)
thread.start(), thread.join()
answer([answers, double().cudaStreamEndCapture(stream, ctypes.byref(graph))])
"""
    assert ask(OTHERS + code) == [[True], 0]


@pytest.mark.parametrize(
    ("variant", "call"), [("cudnn", "cudnnCreate"), ("cudnn:find", "cudnnSoftmaxForward")]
)
def test_python_goes_on_while_the_libraries_start(ask: Ask, variant: str, call: str) -> None:
    code = f"""
load("{variant}", weights=weights)  # brings in the libraries
double().cuda_double_hold(b"{call}")
nets = []
thread = threading.Thread(target=lambda: nets.append(load("{variant}", weights=weights)))
thread.start()
wait_for(double().cuda_double_held)  # for ever, where the thread keeps Python to itself
double().cuda_double_release(0)
thread.join()
answer(right(nets[0]))
"""
    assert ask(OTHERS + code)


@pytest.mark.parametrize("kind", KINDS)
def test_no_call_comes_while_the_libraries_are_unloaded(ask: Ask, kind: str) -> None:
    code = f"""
net = load("{kind}", weights=weights)
many = np.repeat(images, 300, axis=0)
begun = threading.Event()
def work():
    begun.set()
    net.infer(many)
threading.Thread(target=work, daemon=True).start()
begun.wait()
time.sleep(0.05)
answer(True)
"""
    assert ask(OTHERS + code, CUDA_DOUBLE_LINGERS="1")


def test_python_ends_while_a_library_starts_and_a_call_after_it_is_refused(ask: Ask) -> None:
    code = """
load("cudnn", weights=weights)  # brings in the libraries
double().cuda_double_hold(b"cudnnCreate")
threading.Thread(target=lambda: load("cudnn", weights=weights), daemon=True).start()
wait_for(double().cuda_double_held)
threading.Thread(target=lambda: double().cuda_double_release(100), daemon=True).start()
answer(True)
"""
    assert ask(OTHERS + code, CUDA_DOUBLE_LINGERS="1")
    code = """
import atexit
atexit.register(lambda: answer(failure(lambda: net.infer(images))))  # runs after ours
net = load("cudnn", weights=weights)
"""
    kind, sentence = ask(code)
    assert kind == "RuntimeError"
    assert "Python is ending" in sentence


#: The first convolution by another framework, and by nobody's.
FRAMEWORKS = {
    "torch": """
def theirs():
    import torch
    return torch.conv2d(torch.from_numpy(images[:, None]), torch.from_numpy(kernels)).numpy()
""",
    "tensorflow": """
def theirs():
    import tensorflow as tf
    image, filters = images[..., None], kernels.transpose(2, 3, 1, 0)
    return tf.nn.conv2d(image, filters, 1, "VALID").numpy().transpose(0, 3, 1, 2)
""",
}
BESIDE = """
sys.path.append(os.environ["FRAMEWORKS"])
kernels = np.ascontiguousarray(weights["conv1.weight"])
windows = np.lib.stride_tricks.sliding_window_view(images, (5, 5), (1, 2))
expected = np.einsum("nyxij,oij->noyx", windows, kernels[:, 0])
said = []
def their_turn():
    said.append(float(np.abs(theirs() - expected).max()) < 1e-5)
def our_turn():
    said.append(right(net))
"""


@pytest.mark.parametrize("kind", ["cudnn", "cuda:persistent"])
@pytest.mark.parametrize("first", ["ours", "theirs"])
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_framework_in_the_same_process_disturbs_nobody(
    ask: Ask, framework: str, first: str, kind: str
) -> None:
    packages = os.environ.get("LENET_BENCH_TEST_FRAMEWORKS", "")
    if not (Path(packages) / framework).is_dir():
        pytest.skip(f"{framework} is not here; run `make test-frameworks` before this")
    before, after = ("their_turn()", "") if first == "theirs" else ("", "their_turn()")
    code = f"""
{before}
net = load("{kind}", weights=weights)
our_turn()
{after}
others = [threading.Thread(target=their_turn) for _ in range(20)]
for other in others:
    other.start()
    our_turn()
for other in others:
    other.join()
del net
gc.collect()
their_turn()
answer([len(said), all(said)])
"""
    code = OTHERS + FRAMEWORKS[framework] + BESIDE + code
    assert ask(code, FRAMEWORKS=packages) == [43, True]
