"""What is compiled on the user's machine: csrc/api, against an API that is nothing but C++."""

import os
import shutil
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
from lenet_bench.backends import in_cpp
from lenet_bench.errors import Unavailable
from lenet_bench.weights import read_weights
from processes import linux, wait_for

ECHO = """
#include <stdexcept>
#include "api/answer.hpp"
lenet::Answer lenet::build(const Weights& w, const std::string& model, int threads) {
  if (model == "torn") throw std::runtime_error("the model is torn");
  const float first = w.conv1_weight[0], last = w.fc2_bias[9];
  return [=](const float* images, std::int64_t count, float* probabilities) {
    if (images[0] < 0) throw std::runtime_error("a pixel below 0");
    for (std::int64_t i = 0; i < 10 * count; ++i) probabilities[i] = images[784 * (i / 10)];
    probabilities[1] = first, probabilities[2] = last, probabilities[3] = float(threads);
  };
}
"""

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")


@pytest.fixture
def build(tmp_path, monkeypatch):
    """Compile and build such a file, in a cache of its own."""
    root = tmp_path / "csrc"
    shutil.copytree(in_cpp.sources(), root)
    monkeypatch.setattr(in_cpp, "sources", lambda: root)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def from_source(text=ECHO, model=b""):
        (root / "api" / "echo.cpp").write_text(text)
        return in_cpp.build("echo", "1.0", [], [], read_weights(), 3, model)

    return from_source


def test_images_weights_threads_arrive(build):
    images = np.arange(2 * 784, dtype=np.float32).reshape(2, 28, 28)
    weights = read_weights()
    one, two = build()(images)
    assert one[[0, 9]].tolist() == [0, 0]
    assert one[1:4].tolist() == [weights["conv1.weight"].flat[0], weights["fc2.bias"][9], 3]
    assert two.tolist() == [784] * 10


def test_what_is_thrown_is_said(build):
    infer = build()
    with pytest.raises(RuntimeError, match=r"^a pixel below 0$"):
        infer(np.full((1, 28, 28), -1, np.float32))
    assert infer(np.ones((1, 28, 28), np.float32))[0, 9] == 1
    with pytest.raises(RuntimeError, match=r"^the model is torn$"):
        build(model=b"torn")


def test_a_dropped_network_is_freed(build, tmp_path):
    """Its answer owns something whose end removes a file."""
    owned, kept = "const std::shared_ptr<const char> owned(", tmp_path / "kept"
    owned += "strdup(model.c_str()), [](const char* path) { remove(path); });\n  return"
    text = "#include <cstdio>\n#include <cstring>\n#include <memory>\n" + ECHO
    text = text.replace("return [=]", owned + " [=, owned = owned]")
    kept.touch()
    infer = build(text, str(kept).encode())
    assert infer(np.ones((1, 28, 28), np.float32))[0, 9] == 1
    assert kept.exists()
    del infer
    assert not kept.exists()


def libraries(tmp_path):
    return [*(tmp_path / "cache/lenet-bench/in-cpp").iterdir()]


def test_it_is_compiled_once(build, tmp_path):
    build()
    (library,) = libraries(tmp_path)
    made = library.stat().st_mtime_ns
    build()
    assert library.stat().st_mtime_ns == made
    build(ECHO.replace("a pixel", "one pixel"))
    assert len(libraries(tmp_path)) == 2
    with (in_cpp.sources() / "api/onnxruntime_c_api.hpp").open("a") as header:
        header.write("// changed\n")
    build()
    assert len(libraries(tmp_path)) == 3


def test_what_cannot_be_compiled_leaves_nothing(build, tmp_path):
    with pytest.raises(Unavailable, match=r"^g\+\+ cannot compile echo.cpp: .*error.*nosuch"):
        build('#include "nosuch.h"\n')
    assert not libraries(tmp_path)


@linux
def test_a_cache_that_is_mounted_noexec_is_a_sentence(build, monkeypatch):
    mounted = SimpleNamespace(f_flag=os.ST_NOEXEC)
    monkeypatch.setattr(os, "statvfs", lambda _: mounted)
    with pytest.raises(Unavailable, match=r"in-cpp is mounted noexec; .*: export XDG_CACHE_HOME="):
        build()


@pytest.mark.parametrize(
    ("compiler", "reason"),
    [
        ("/etc/passwd", "^/etc/passwd cannot be started: Permission denied"),
        ("/nonesuch/\udcff", "cannot be started: No such file"),
    ],
)
def test_what_is_no_compiler_is_a_sentence(build, monkeypatch, compiler, reason):
    monkeypatch.setenv("CXX", compiler)
    with pytest.raises(Unavailable, match=reason + ".*: export CXX="):
        build()


def test_a_compiler_that_takes_too_long_is_ended_with_its_children(build, monkeypatch, tmp_path):
    compiler = tmp_path / "compiler"
    child = f"3597.{os.getpid()}"
    compiler.write_text(f"#!/bin/sh\nsleep {child} &\nwait\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    monkeypatch.setattr(in_cpp, "_SECONDS", 2.0)
    with pytest.raises(Unavailable, match=r"did not compile within 2 s; .*export CXX="):
        build()
    every = lambda: psutil.process_iter(["cmdline"])  # noqa: E731
    wait_for(lambda: not any(child in (one.info["cmdline"] or ()) for one in every()))
    assert not libraries(tmp_path)
