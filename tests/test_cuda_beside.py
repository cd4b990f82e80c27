"""The GPU backends beside other people's code in one process: other libraries' GPUs, captures and
errors, Python's other threads, and Python's end. On the double of CUDA (cuda_double/).
"""

import pytest
from cuda_children import needs_cuda

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
def test_the_calling_thread_keeps_its_own_gpu(ask, kind):
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
def test_errors_of_others_are_not_ours_nor_ours_theirs(ask, kind):
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
def test_another_thread_may_capture_meanwhile(ask, kind):
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
def test_python_goes_on_while_the_libraries_start(ask, variant, call):
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
def test_no_call_comes_while_the_libraries_are_unloaded(ask, kind):
    code = f"""
net = load("{kind}", weights=weights)
many = np.repeat(images, 300, axis=0)
calls = b"cudaStreamSynchronize", b"cudaStreamQuery"
waits = lambda: sum(map(double().cuda_double_calls, calls))
before = waits()
threading.Thread(target=lambda: net.infer(many), daemon=True).start()
wait_for(lambda: waits() > before)
answer(True)
"""
    assert ask(OTHERS + code, CUDA_DOUBLE_LINGERS="1")


def test_python_ends_while_a_library_starts(ask):
    code = """
load("cudnn", weights=weights)  # brings in the libraries
double().cuda_double_hold(b"cudnnCreate")
threading.Thread(target=lambda: load("cudnn", weights=weights), daemon=True).start()
wait_for(double().cuda_double_held)
threading.Thread(target=lambda: double().cuda_double_release(100), daemon=True).start()
answer(True)
"""
    assert ask(OTHERS + code, CUDA_DOUBLE_LINGERS="1")


def test_a_call_after_pythons_end_is_refused(ask):
    code = """
import atexit
atexit.register(lambda: answer(failure(lambda: net.infer(images))))  # runs after ours
net = load("cudnn", weights=weights)
"""
    kind, sentence = ask(code)
    assert kind == "RuntimeError"
    assert "Python is ending" in sentence
