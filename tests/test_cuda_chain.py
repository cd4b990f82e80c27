"""The way to a GPU, link by link, and what the GPU itself tells. On the double of CUDA."""

import pytest
from cuda_children import needs_cuda, unavailable

pytestmark = needs_cuda


CHAIN = """
from lenet_bench.registry.cuda_chain import ask
answer({link.name: [link.found, link.reason] for link in ask()})
"""


def test_each_link_is_named(ask):
    chain = ask(CHAIN)
    assert list(chain) == ["driver", "device", "module"]
    assert [reason for _, reason in chain.values()] == [None] * 3
    assert chain["device"][0] == "a double of a GPU"


def test_the_module_names_its_libraries_and_their_folder(ask, double):
    found, _ = ask(CHAIN)["module"]
    assert f"libcudnn in {double}" in found


def broken(ask, **setting):
    """The link at which the way ends, and the reason."""
    name, (_, reason) = list(ask(CHAIN, **setting).items())[-1]
    return name, reason


#: What is set, the link that it breaks where it breaks one, what both say of it and what mends it.
BROKEN = [
    ({"CUDA_DOUBLE_DRIVER": "0"}, None, "no NVIDIA driver", "nvidia-smi"),
    ({"CUDA_DOUBLE_DRIVER": "11040"}, "module", "CUDA 11.4", "nvidia-driver"),
    ({"CUDA_DOUBLE_DEVICES": "0"}, "device", "no GPU", "nvidia-smi"),
    ({"CUDA_VISIBLE_DEVICES": ""}, "device", "GPU", "unset CUDA_VISIBLE_DEVICES"),
    ({"LENET_BENCH_GPU": "7"}, None, 'LENET_BENCH_GPU="7"', "export LENET_BENCH_GPU=0"),
    ({"LENET_BENCH_GPU": "one"}, None, 'LENET_BENCH_GPU="one"', "export LENET_BENCH_GPU=0"),
    ({"CUDA_DOUBLE_CAPABILITY": "37"}, None, "too old", ""),
    ({"CUDA_DOUBLE_TAKEN": "1"}, None, "exclusive or prohibited", "--compute-mode=DEFAULT"),
]


@pytest.mark.parametrize(("setting", "link", "says", "mends"), BROKEN)
def test_what_is_missing_is_one_sentence_with_what_mends_it(ask, setting, link, says, mends):
    sentences = [unavailable(ask, "cudnn", **setting)]
    if link:
        found, sentence = broken(ask, **setting)
        assert found == link
        sentences.append(sentence)
    for sentence in sentences:
        assert says in sentence
        assert mends in sentence


@pytest.mark.parametrize(
    ("library", "link"),
    [("libcuda.so.1", "driver"), ("libcudnn.so.9", "module"), ("libcublas.so", "module")],
)
def test_a_link_that_cannot_be_loaded_says_so(ask, double, tmp_path, library, link):
    for path in double.glob("*.so*"):
        target = tmp_path / path.name
        if path.name.startswith(library):
            target.write_bytes(b"not a library")
        else:
            target.symlink_to(path)
    found, reason = broken(ask, LENET_BENCH_CUDA_LIBRARIES=str(tmp_path))
    assert found == link
    assert reason
    assert link == "driver" or "fix it with: " in reason


def test_a_cudnn_for_another_cuda_says_so(ask):
    assert "CUDA 11" in unavailable(ask, "cudnn", CUDA_DOUBLE_CUDNN_OF="11000")


COMPARE = """
from msgspec.structs import asdict
from lenet_bench.measure import watch
from lenet_bench.measure.comparison import compare
from lenet_bench.measure.options import CompareOptions
watch.LEAST_S = 0
(row,) = compare(CompareOptions(backends=("cudnn:cudagraph",), rounds=2)).backends
answer({"status": row.status, "reason": row.reason, "device": row.device,
        **(asdict(row.gpu) if row.gpu else {})})
"""


def test_a_result_has_what_a_backend_took_of_its_gpu(ask):
    gpu = ask(COMPARE)
    assert gpu["status"] == "ok"
    assert gpu["device"] == "gpu"
    assert gpu["name"] == "a double of a GPU"
    assert gpu["mhz_before"] == 1980
    assert gpu["mhz_after"] == 1980
    assert gpu["memory_mib"] == 512
    assert gpu["power_w"] == pytest.approx(100, rel=0.2)
    assert gpu["energy_mj"] > 0
    assert gpu["profile_us"]["kernels_us"] > 0


def test_without_energy_power_is_sampled(ask):
    gpu = ask(COMPARE, CUDA_DOUBLE_NVML="energy")
    assert gpu["energy_mj"] is None
    assert gpu["power_w"] == 100


def test_what_nvml_does_not_say_is_unknown(ask):
    gpu = ask(COMPARE, CUDA_DOUBLE_NVML="all")
    assert gpu["status"] == "ok"
    assert [gpu[name] for name in ("power_w", "energy_mj", "mhz_after", "memory_mib")] == [None] * 4


def test_without_nvml_the_backend_names_its_gpu(ask, double, tmp_path):
    for library in double.glob("*.so*"):
        if not library.name.startswith("libnvidia-ml"):
            (tmp_path / library.name).symlink_to(library)
    gpu = ask(COMPARE, LENET_BENCH_CUDA_LIBRARIES=str(tmp_path))
    assert gpu["status"] == "ok"
    assert gpu["name"] == "a double of a GPU"
    assert gpu["power_w"] is None or gpu["power_w"] != 100
