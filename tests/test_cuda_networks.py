"""Other networks than LeNet on cuDNN, on the double of CUDA."""

import pytest
from cuda_children import needs_cuda
from cuda_setting import TESTS

pytestmark = needs_cuda

NETWORK = f"""
sys.path.append({str(TESTS)!r})
from lenet_bench.networks import exact, network, seeded
from lenet_bench.subjects.network import place
from networks import branched

def placed(backend, made):
    return place(backend, made, seeded.weights_of(made), 1)
"""


@pytest.mark.parametrize("name", ["mlp", "lenet", "cifar", "branched"])
@pytest.mark.parametrize("backend", ["cudnn", "cudnn:find", "cudnn:cudagraph"])
def test_a_network_answers_as_its_definition_says(ask, backend, name):
    found = ask(f"""{NETWORK}
made = branched() if "{name}" == "branched" else network("{name}")
net = placed("{backend}", made)
inputs = seeded.inputs_of(made, 2, seed=2)
answers = [net.infer(one) for one in (*inputs, inputs[0])]
weights = seeded.weights_of(made)
expected = [exact.answer_of(made, weights, one) for one in (*inputs, inputs[0])]
answer(exact.distance(np.stack(answers), np.stack(expected)))
""")
    assert found < 1e-5


@pytest.mark.parametrize(("name", "layer"), [("gru", "embedding1"), ("block", "norm1")])
def test_a_layer_that_cudnn_lacks_is_named(ask, name, layer):
    found = ask(f"""{NETWORK}
answer(failure(lambda: placed("cudnn", network("{name}"))))
""")
    assert found == ["Unsupported", f"cuDNN's classic API and cuBLAS do not have layer {layer}"]


def test_a_call_allocates_nothing(ask):
    before, after = ask(f"""{NETWORK}
made = branched()
net = placed("cudnn", made)
names = (b"cudaMalloc", b"cudaHostAlloc", b"cudnnCreateTensorDescriptor")
count = lambda: [double().cuda_double_calls(name) for name in names]
before = count()
net.infer(seeded.inputs_of(made, 1, seed=2)[0])
answer([before, count()])
""")
    assert before == after


def test_a_network_leaves_nothing(ask):
    left = ask(f"""{NETWORK}
net = placed("cudnn", branched())
del net
gc.collect()
answer(double().cuda_double_live())
""")
    assert left == 0


def test_it_says_what_runs_on_which_gpu(ask):
    facts = ask(f"""{NETWORK}
answer(placed("cudnn", network("mlp")).describe())
""")
    assert facts["proof"] == "its answers lie in the memory of GPU 0"
    assert facts["math"] == "float32"


def test_find_times_the_calls_that_are_made(ask):
    """Here cuDNN adds bias and ReLU in one algorithm only, and the others leave an error."""
    facts, is_near = ask(
        f"""{NETWORK}
made = network("cifar")
net = placed("cudnn:find", made)
(one,) = seeded.inputs_of(made, 1, seed=2)
expected = exact.answer_of(made, seeded.weights_of(made), one)
answer([net.describe(), float(exact.distance(net.infer(one)[None], expected[None])) < 1e-5])
""",
        CUDA_DOUBLE_FUSES_ONLY="2",
    )
    assert facts["convolutions"].endswith(" by gemm")
    assert is_near
