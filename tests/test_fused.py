"""The backend `fused`, layer by layer and on every instruction set that this processor has."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from lenet_bench import load
from lenet_bench.errors import Unavailable
from networks import loaded, random_images, random_weights
from processes import linux, python, ran

ISAS = ("sse2", "avx2", "avx512", "neon")
NAMES = ("fused", "fused:int16")


@pytest.fixture(params=ISAS)
def isa(request, monkeypatch):
    monkeypatch.setenv("LENET_BENCH_ISA", request.param)
    loaded("fused")
    return request.param


def test_describe_names_what_was_forced(isa):
    width = {"sse2": 128, "neon": 128, "avx2": 256, "avx512": 512}[isa]
    description = loaded("fused:int16", threads=3).describe()
    assert description["isa"] == isa
    assert description["vector width"] == f"{width} bits"
    assert description["variant"] == "int16"
    assert description["threads"] == "3"
    assert description["compiler"].startswith(("gcc", "clang"))


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("name", NAMES)
def test_each_layer_equals_the_reference(name):
    weights = random_weights(1)
    fused, reference = loaded(name, weights=weights), loaded("reference", weights=weights)
    tolerance = 5e-4 if name == "fused:int16" else 1e-5  # what 800 rounded weights add up to
    for image in random_images(2, 5):
        got, expected = fused.layers(image), reference.layers(image)
        for layer in ("pool1", "pool2", "fc1", "fc2", "probabilities"):
            np.testing.assert_allclose(got[layer], expected[layer], rtol=0, atol=tolerance)


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("count", [0, 1, 7, 64, 65, 513])
@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("name", NAMES)
def test_a_batch_is_its_images_bit_for_bit(name, threads, count):
    images = random_images(5, count)
    batch = loaded(name, threads=threads).infer(images)
    single = loaded(name)
    assert batch.shape == (count, 10)
    assert all(
        np.array_equal(row, single.infer(image)) for row, image in zip(batch, images, strict=True)
    )


def test_an_unknown_or_absent_isa_is_refused(monkeypatch):
    monkeypatch.setenv("LENET_BENCH_ISA", "")
    isa = load("fused").describe()["isa"]
    assert isa in ISAS
    foreign = "sse2" if isa == "neon" else "neon"
    for wish, said in (("mmx", "unknown 'mmx'"), (foreign, f"asks for {foreign}, which this")):
        monkeypatch.setenv("LENET_BENCH_ISA", wish)
        with pytest.raises(Unavailable, match=said):
            load("fused")


def test_the_same_source_is_right_on_arm():
    """Cross-compiled and emulated, where compiler and emulator are at hand."""
    script = Path(__file__).with_name("cross_aarch64.sh")
    done = ran(script, code=None, timeout=300)
    if done.returncode == 77:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr


@linux
@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")
def test_pages_that_cannot_be_moved_are_given_back(tmp_path):
    """In a process where each mremap fails: eight networks have 15 MB."""
    source, library = tmp_path / "fails.cpp", tmp_path / "fails.so"
    source.write_text('extern "C" void* mremap(...) { return reinterpret_cast<void*>(-1); }')
    ran("g++", "-shared", "-fPIC", source, "-o", library)
    program = (
        "from pathlib import Path\nfrom lenet_bench import load\n"
        "pages = lambda: int(Path('/proc/self/statm').read_text().split()[0])\n"
        "load('fused')\nbefore = pages()\n"
        "for _ in range(8): load('fused')\n"
        "print((pages() - before) * 4096)"
    )
    done = python(program, env={**os.environ, "LD_PRELOAD": str(library)})
    assert int(done.stdout) < 8e6
