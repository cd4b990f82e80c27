"""The kernel that stays on the GPU, clusters of blocks, and the floors. On the double of CUDA."""

import pytest
from cuda_children import Ask, unavailable
from cuda_setting import built_major

pytestmark = pytest.mark.skipif(
    built_major() is None, reason="lenet_bench is built without CUDA (make test-cuda13)"
)


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
    assert second[1].startswith("this session died")
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
