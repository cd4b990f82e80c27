"""The GPU backends on the double of CUDA (cuda_double/): the module that users get, without a GPU.
It proves the wiring; numerics and speed of NVIDIA's libraries are for bench/gpu.sh.
"""

import pytest
from cuda_children import BACKENDS, CUDA, CUDNN, failing_once, needs_cuda
from cuda_setting import built_major

pytestmark = needs_cuda

#: What our code does with any CUDA, and NVIDIA's has no part in.
with_the_newest = pytest.mark.skipif(
    built_major() != 13, reason="asked with one CUDA, the newest (make test-cuda13)"
)


@pytest.mark.parametrize("backend", CUDNN)
def test_every_layer_matches_the_float64_reference(ask, backend):
    difference = ask(f"""
found = load("{backend}", weights=weights).layers(images[0])
expected = reference.layers(images[0])
answer({{name: float(np.abs(found[name] - expected[name]).max()) for name in found}})
""")
    assert "probabilities" in difference
    allowed = 1e-2 if backend == "cudnn:tf32" else 2e-5
    assert max(difference.values()) < allowed


@pytest.mark.parametrize("backend", CUDA)
def test_our_kernels_are_right_on_every_kind_of_gpu(ask, backend):
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
def test_a_batch_answers_as_its_images_one_by_one(ask, backend):
    difference, allowed = ask(f"""
net = load("{backend}", weights=weights)
assert net.infer(images[:0]).shape == (0, 10)
difference = np.abs(net.infer(images) - reference.infer(images)).max()
answer([float(difference), tolerance("{backend}")])
""")
    assert difference <= allowed


@with_the_newest
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_call_allocates_nothing(ask, backend):
    before, after = ask(f"""
net = load("{backend}", weights=weights)
net.infer(images)  # the first batch of its size allocates
names = (b"cudaMalloc", b"cudaHostAlloc", b"cudnnCreateTensorDescriptor", b"cudaEventCreate",
         b"cudnnBackendCreateDescriptor", b"copy of memory that is not pinned")
count = lambda: [double().cuda_double_calls(name) for name in names]
before = count()
net.infer(images[0]), net.infer(images)
after = count()
answer([before, after])
""")
    assert before == after


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_profile_has_the_stages(ask, backend):
    profile = ask(f"""
net = load("{backend}", weights=weights)
answer(net.profile(images[0], 5))
""")
    assert set(profile) >= {"h2d_us", "kernels_us", "d2h_us", "enqueue_us", "total_us"}
    assert profile["kernels_us"] > 0


@pytest.mark.parametrize("cls", ["Cudnn", "CudnnGraphApi", "FusedOnGpu"])
def test_a_variant_that_is_none_is_refused(ask, cls):
    kind, sentence = ask(f"""
from lenet_bench.registry import cuda
answer(failure(lambda: cuda.native().{cls}(weights, threads=1, variant="nonsense")))
""")
    assert kind == "ValueError"
    assert sentence.startswith("there is no variant 'nonsense'; expected one of '', ")


def test_describe_names_what_runs(ask):
    facts, engines = ask("""
answer([load(name, weights=weights).describe() for name in ("cudnn:find", "cudnn:graph_api")])
""")
    assert facts["device"] == "a double of a GPU"
    assert "memory of GPU 0" in facts["proof"]
    assert facts["conv1"] == "gemm"  # the fastest that worked in float32, once all were warm
    for fact in ("driver supports CUDA", "CUDA runtime", "cuDNN", "cuBLAS"):
        assert facts[fact]
    assert "device memory" not in facts  # what is free tells of every process
    # 33 rounds, 99 is not built, 55 fails
    assert engines["conv1"] == "engine 11, with its bias in one plan"
    assert engines["pool1"] == "engine 1"  # only the fallback lists one
    assert engines["math"] == "float32"


def test_where_cudnn_refuses_the_algorithm_another_takes_its_place(ask):
    facts, is_right = ask(f"""
{failing_once("cudnn", "cudnnGetConvolutionForwardWorkspaceSize", 3000)}
net = load("cudnn", weights=weights)
answer([net.describe(), right(net)])
""")
    assert facts["conv1"] == "implicit gemm, since cuDNN refuses implicit precomputed gemm here"
    assert facts["conv2"] == "implicit precomputed gemm"
    assert is_right


@with_the_newest
def test_a_batch_that_is_too_large_for_one_call_is_several(ask):
    assert ask("""
many = np.tile(images, (513, 1, 1))  # 2,052 in three calls
answers = load("cudnn:cudagraph", weights=weights).infer(many)
answer(bool((answers == np.tile(answers[:4], (513, 1))).all()))
""")
