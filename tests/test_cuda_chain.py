"""The way to a GPU, link by link, and what the GPU itself tells. On the double of CUDA."""

from pathlib import Path

import pytest
from cuda_children import Ask
from cuda_setting import built_major

pytestmark = pytest.mark.skipif(
    built_major() is None, reason="lenet_bench is built without CUDA (make test-cuda13)"
)


CHAIN = """
from lenet_bench.registry.cuda_chain import ask
answer({link.name: [link.found, link.reason, link.path] for link in ask()})
"""


def test_each_link_tells_its_version_and_place(ask: Ask, double: Path) -> None:
    chain = ask(CHAIN)
    assert list(chain)[:3] == ["driver", "device", "module"]
    assert [reason for _, reason, _ in chain.values()] == [None] * 7
    assert chain["device"][0] == "a double of a GPU, compute capability 9.0"
    version, _, path = chain["libcudnn"]
    assert version.startswith("9.")
    assert Path(path).resolve() == double / "libcudnn.so.9"


@pytest.mark.parametrize(
    ("setting", "link", "says", "mends"),
    [
        ({"CUDA_DOUBLE_DRIVER": "11040"}, "driver", "supports CUDA 11.4", "nvidia-driver"),
        ({"CUDA_DOUBLE_DEVICES": "0"}, "device", "finds no GPU", "nvidia-smi"),
        ({"CUDA_VISIBLE_DEVICES": ""}, "device", "hides every GPU", "unset CUDA_VISIBLE_DEVICES"),
        ({"CUDA_DOUBLE_CAPABILITY": "37"}, "device", "too old for CUDA", ""),
        ({"CUDA_DOUBLE_CUDNN_OF": "11000"}, "libcudnn", "built for CUDA 11", "--force-reinstall"),
    ],
)
def test_only_the_broken_link_says_what_mends_it(
    ask: Ask, setting: dict[str, str], link: str, says: str, mends: str
) -> None:
    broken = {name: reason for name, (_, reason, _) in ask(CHAIN, **setting).items() if reason}
    assert list(broken) == [link]
    assert says in broken[link]
    assert mends in broken[link]


@pytest.mark.parametrize(
    ("library", "link"),
    [("libcuda.so.1", "driver"), ("libcudnn.so.9", "libcudnn"), ("libcublas.so", "libcublas")],
)
def test_a_link_that_cannot_be_loaded_says_so(
    ask: Ask, double: Path, tmp_path: Path, library: str, link: str
) -> None:
    for path in double.glob("*.so*"):
        target = tmp_path / path.name
        if path.name.startswith(library):
            target.write_bytes(b"not a library")
        else:
            target.symlink_to(path)
    chain = ask(CHAIN, LENET_BENCH_CUDA_LIBRARIES=str(tmp_path))
    broken = {name: reason for name, (_, reason, _) in chain.items() if reason}
    assert list(broken) == [link]
    assert link == "driver" or "fix it with: " in broken[link]


# what the GPU itself tells ----------------------------------------------------------------------

COMPARE = """
from msgspec.structs import asdict
from lenet_bench.measure.comparison import compare
from lenet_bench.measure.options import CompareOptions
(row,) = compare(CompareOptions(backends=("cudnn:graph",), rounds=2)).backends
answer({"status": row.status, "reason": row.reason, "device": row.device,
        **(asdict(row.gpu) if row.gpu else {})})
"""


def test_a_result_tells_what_a_backend_took_of_its_gpu(ask: Ask) -> None:
    gpu = ask(COMPARE)
    assert (gpu["status"], gpu["device"], gpu["name"]) == ("ok", "gpu", "a double of a GPU")
    assert (gpu["mhz_before"], gpu["mhz_after"]) == (1980, 1980)
    assert gpu["memory_mib"] == 512
    assert gpu["power_w"] == pytest.approx(100, rel=0.2)
    assert gpu["energy_mj"] > 0
    assert gpu["profile_us"]["kernels_us"] > 0


def test_power_is_sampled_where_the_gpu_counts_no_energy(ask: Ask) -> None:
    gpu = ask(COMPARE, CUDA_DOUBLE_NVML="energy")
    assert (gpu["energy_mj"], gpu["power_w"]) == (None, 100)


def test_a_gpu_that_tells_nothing_costs_nothing_but_the_figures(ask: Ask) -> None:
    gpu = ask(COMPARE, CUDA_DOUBLE_NVML="all")
    assert gpu["status"] == "ok"
    assert [gpu[name] for name in ("power_w", "energy_mj", "mhz_after", "memory_mib")] == [None] * 4


def test_without_nvml_the_backend_itself_names_its_gpu(
    ask: Ask, double: Path, tmp_path: Path
) -> None:
    for library in double.glob("*.so*"):
        if not library.name.startswith("libnvidia-ml"):
            (tmp_path / library.name).symlink_to(library)
    gpu = ask(COMPARE, LENET_BENCH_CUDA_LIBRARIES=str(tmp_path))
    assert (gpu["status"], gpu["name"]) == ("ok", "a double of a GPU")
    assert gpu["power_w"] is None or gpu["power_w"] != 100
