"""What is compiled on the user's machine: csrc/api, against an API that is nothing but C++."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lenet_bench.backends import Infer, in_cpp
from lenet_bench.errors import Unavailable
from lenet_bench.weights import read_weights

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
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Compile and build such a file, in a cache of its own."""
    root = tmp_path / "csrc"
    shutil.copytree(in_cpp.sources(), root)
    monkeypatch.setattr(in_cpp, "sources", lambda: root)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def from_source(text: str = ECHO, model: bytes = b"") -> Infer:
        (root / "api" / "echo.cpp").write_text(text)
        return in_cpp.build("echo", "1.0", [], [], read_weights(), 3, model)

    return from_source


def test_images_weights_and_threads_arrive_and_what_is_thrown_is_said(build: Any) -> None:
    images = np.arange(2 * 784, dtype=np.float32).reshape(2, 28, 28)
    weights = read_weights()
    one, two = build()(images)
    assert one[[0, 9]].tolist() == [0, 0]
    assert one[1:4].tolist() == [weights["conv1.weight"].flat[0], weights["fc2.bias"][9], 3]
    assert two.tolist() == [784] * 10

    infer = build()
    with pytest.raises(RuntimeError, match=r"^a pixel below 0$"):
        infer(np.full((1, 28, 28), -1, np.float32))
    assert infer(np.ones((1, 28, 28), np.float32))[0, 9] == 1
    with pytest.raises(RuntimeError, match=r"^the model is torn$"):
        build(model=b"torn")


def test_it_is_compiled_once(build: Any, tmp_path: Path) -> None:
    build()
    (library,) = (tmp_path / "cache/lenet-bench/in-cpp").iterdir()
    made = library.stat().st_mtime_ns
    build()
    assert library.stat().st_mtime_ns == made
    build(ECHO.replace("a pixel", "one pixel"))
    assert len([*library.parent.iterdir()]) == 2
    with (in_cpp.sources() / "api/onnxruntime_c_api.hpp").open("a") as header:
        header.write("// changed\n")
    build()
    assert len([*library.parent.iterdir()]) == 3


def test_what_cannot_be_compiled_leaves_nothing(build: Any, tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"^g\+\+ cannot compile echo.cpp: .*error.*nosuch"):
        build('#include "nosuch.h"\n')
    assert not [*(tmp_path / "cache/lenet-bench/in-cpp").iterdir()]
