"""The kernel that stays on the GPU, clusters of blocks, and the floors. On the double of CUDA."""

import pytest
from cuda_children import failing_once, needs_cuda, unavailable

pytestmark = needs_cuda


STAYS = """
launches = lambda: double().cuda_double_calls(b"cudaLaunchKernel")
residents = lambda: double().cuda_double_residents()
def wait_until_it_leaves():
    while residents():
        time.sleep(0.001)
net = load("cuda:persistent", weights=weights)
"""
#: A GPU so slow that neither of the kernel's deadlines comes.
ENDLESS = {"CUDA_DOUBLE_SLOWER": "1000000"}


def test_a_kernel_that_stays_is_launched_once(ask):
    code = """
[net.infer(image) for image in images]
before = [launches(), residents()]
del net
gc.collect()
answer([before, [launches(), residents()]])
"""
    assert ask(STAYS + code, **ENDLESS) == [[1, 1], [1, 0]]


def test_a_kernel_that_nobody_calls_leaves(ask):
    code = """
before = int(net.describe()["relaunches"])
wait_until_it_leaves()
answer([right(net), launches() > 1, int(net.describe()["relaunches"]) > before])
"""
    assert ask(STAYS + code) == [True] * 3


def test_a_kernel_that_is_called_without_pause_leaves_all_the_same(ask):
    code = """
before = launches()
while launches() < before + 2:
    assert right(net)
answer(True)
"""
    assert ask(STAYS + code, CUDA_DOUBLE_SLOWER="4")


NO_CLUSTERS = [
    ({"CUDA_DOUBLE_CAPABILITY": "89"}, "compute capability 9.0 or later, and this GPU has 8.9"),
    ({"CUDA_DOUBLE_CLUSTERS": "0"}, "cannot run a cluster of 16 blocks at once"),
]


@pytest.mark.parametrize(("setting", "says"), NO_CLUSTERS)
def test_where_no_cluster_fits_mapped_is_three_kernels(ask, setting, says):
    sentence = unavailable(ask, "cuda:persistent", **setting)
    assert says in sentence
    assert "cuda:mapped" in sentence
    code = """
net = load("cuda:mapped", weights=weights)
difference = np.abs(net.infer(images) - reference.infer(images)).max()
answer([float(difference), net.describe()["kernels"]])
"""
    difference, kernels = ask(code, **setting)
    assert difference < 1e-5
    assert kernels.startswith("3:")


@pytest.mark.parametrize("call", ["cudaFuncSetAttribute", "cudaOccupancyMaxActiveClusters"])
def test_a_gpu_without_clusters_of_16_is_refused(ask, call):
    sentence = unavailable(ask, "cuda:persistent", failing_once("cuda", call, 1))
    assert "cannot run a cluster of 16 blocks at once (cudaError" in sentence
