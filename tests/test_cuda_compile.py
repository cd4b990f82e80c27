"""Our own kernels: compiled for each GPU, kept on disk; and the module without the double."""

import shutil

import pytest
from cuda_children import needs_cuda, unavailable

pytestmark = needs_cuda


#: The double's NVRTC gives what NVIDIA's does, and not PTX in its place.
MACHINE_CODE = {"CUDA_DOUBLE_MACHINE_CODE": "1"}


@pytest.mark.parametrize("kernels", ["kernels", "cluster_kernels"])
@pytest.mark.parametrize("capability", [75, 80, 90, 100, 120])
def test_our_kernels_compile_for(ask, capability, kernels):
    if kernels == "cluster_kernels" and capability < 90:
        pytest.skip("it has no clusters")
    known, start = ask(
        f"""
from lenet_bench.registry.cuda import native
known = {capability} in native().known_capabilities()
answer([known, native().compile_{kernels}({capability})[:4].hex() if known else None])
""",
        **MACHINE_CODE,
    )
    if not known:
        pytest.skip("this NVRTC does not know it")
    assert bytes.fromhex(start) == b"\x7fELF"


def test_an_unknown_gpu_is_one_sentence_with_what_mends_it(ask):
    sentence = unavailable(ask, "cuda", CUDA_DOUBLE_CAPABILITY="990")
    assert "99.0" in sentence
    assert "--upgrade nvidia" in sentence


def cached(folder):
    return list((folder / "lenet-bench/kernels").glob("*.cubin"))


LOAD_CUDA = 'load("cuda", weights=weights)\nanswer(True)'


def test_compiled_kernels_are_kept_on_disk(ask, tmp_path):
    ask(LOAD_CUDA, XDG_CACHE_HOME=str(tmp_path))
    (kept,) = cached(tmp_path)
    written = kept.stat().st_mtime_ns
    ask(LOAD_CUDA, XDG_CACHE_HOME=str(tmp_path))
    assert kept.stat().st_mtime_ns == written


def test_another_build_of_nvrtc_compiles_anew(ask, double, tmp_path):
    for path in double.glob("lib*.so.*"):
        if path.name.startswith("libnvrtc") and not path.name.endswith(".map"):
            shutil.copyfile(path, tmp_path / path.name)  # as a patch of it: built at another time
        else:
            (tmp_path / path.name).symlink_to(path)
    ask(LOAD_CUDA, XDG_CACHE_HOME=str(tmp_path))
    ask(LOAD_CUDA, XDG_CACHE_HOME=str(tmp_path), LENET_BENCH_CUDA_LIBRARIES=str(tmp_path))
    assert len(cached(tmp_path)) == 2


def test_kernels_need_no_place_to_be_kept(ask, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert ask(LOAD_CUDA, XDG_CACHE_HOME=str(blocked))
