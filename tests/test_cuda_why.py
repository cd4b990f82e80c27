"""What `why` takes the GPU backends apart by computes what it should, on the double of CUDA. How
long it takes is for bench/gpu.sh.
"""

import pytest
from cuda_children import needs_cuda
from lenet_bench.experiment_names import COUNTS
from lenet_bench.network import LAYERS, STAGES
from lenet_bench.why.native import CUDA

pytestmark = needs_cuda

OF_STAGES = ["cudnn", "cudnn:cudagraph", "cudnn:graph_api"]
OUR_OWN = ["cuda", "cuda:cudagraph"]
_, FUSED = CUDA["FusedOnGpu"]
PROBES = """
from lenet_bench.networks import network
from lenet_bench.registry import find
from lenet_bench.why import probes_of
IMAGES = np.random.default_rng(0).random((1, 28, 28), np.float32)
def probes(name):
    return {(p.kind, p.name): p for p in probes_of(*find(name), network("lenet"), weights, 1)}
def differences(name, stages):
    made, layers = probes(name), reference.layers(IMAGES[0])
    return {stage: float(np.abs(made["stage", stage].infer(IMAGES[0]) - layers[last].ravel()[:10]).max())
            for stage, last in stages.items()}
"""  # noqa: E501


@pytest.mark.parametrize("backend", [*OF_STAGES, *OUR_OWN])
def test_a_cut_network_computes_what_lenet_does_until_there(ask, backend):
    stages = dict(zip(STAGES, LAYERS, strict=True))
    if backend in OUR_OWN:
        lasts = ("pool2", "fc1", "probabilities")
        stages = dict(zip(FUSED, lasts, strict=True))
    found = ask(f"{PROBES}\nanswer(differences({backend!r}, {stages}))")
    assert max(found.values()) < 2e-5, found


@pytest.mark.parametrize("backend", ["cudnn", "cudnn:cudagraph", "cudnn:graph_api", *OUR_OWN])
def test_networks_of_trivial_operations_answer_with_ten_pixels(ask, backend):
    found = ask(f"""{PROBES}
made = probes({backend!r})
named = [made["way", "entering"], *(made["operations", str(n)] for n in {COUNTS})]
answer([[p.operations, float(np.abs(p.infer(IMAGES[0]) - IMAGES[0, 0, :10]).max())]
         for p in named])
""")
    assert [operations for operations, _ in found] == [1, *COUNTS]
    assert {difference for _, difference in found} == {0}


@pytest.mark.parametrize("backend", ["cudnn", "cuda"])
def test_they_have_as_many_launches_as_they_say(ask, backend):
    """With two copies: of LeNet cut after its last stage, and of 64 operations."""
    last = "fc2 and softmax" if backend == "cuda" else "softmax"
    found = ask(f"""{PROBES}
calls = ["cudaLaunchKernel", "cudnnConvolutionForward", "cudnnAddTensor", "cudnnPoolingForward",
         "cudnnActivationForward", "cublasSgemv", "cudnnSoftmaxForward"]
def launches(infer):
    count = lambda: sum(double().cuda_double_calls(call.encode()) for call in calls)
    before = count()
    infer(IMAGES[0])
    return count() - before
made = probes({backend!r})
names = [("stage", {last!r}), ("operations", "64")]
answer([[made[name].operations, launches(made[name].infer)] for name in names])
""")
    assert [said for said, _ in found] == [counted for _, counted in found]


@pytest.mark.parametrize("backend", ["cuda:mapped", "cuda:persistent"])
def test_of_one_kernel_the_gpus_clock_tells(ask, backend):
    kinds, gpu_us, entering = ask(f"""{PROBES}
made = probes({backend!r})
infer = made["way", "entering"].infer
gpu_us = made["told", "conv1 to softmax"].gpu_us()
answer([[kind for kind, _ in made], gpu_us, len(infer(IMAGES[0]))])
""")
    assert (kinds, entering) == (["way", "told"], 10)
    assert abs(gpu_us) > 0  # how much is for a GPU to say


@pytest.mark.parametrize(
    ("backend", "operations"),
    [("cudnn", 12), ("cudnn:graph_api", 10), ("cuda", 3), ("cuda:persistent", 0)],
)
def test_a_backend_on_a_gpu_is_taken_apart(ask, backend, operations):
    names, counted, reason, median_us, sum_us = ask(f"""
from lenet_bench import CompareOptions
from lenet_bench.measure import block
from lenet_bench.questions.why import why
block._TURNS_S = 0.0  # one turn is enough: a double's times say nothing
(found,) = why(CompareOptions(({backend!r},), rounds=1))
answer([[part.name for part in found.parts], found.operations, found.reason, found.median_us,
        sum(part.us for part in found.parts)])
""")
    parts = {
        "cudnn": ["dispatch", *STAGES],
        "cudnn:graph_api": ["dispatch", *STAGES],
        "cuda": ["dispatch", *FUSED],
        "cuda:persistent": ["conv1 to softmax"],
    }
    assert (reason, counted) == (None, operations)
    assert names == ["entering", *parts[backend], "unexplained"]
    assert sum_us == pytest.approx(median_us)
