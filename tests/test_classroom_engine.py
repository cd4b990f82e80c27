"""The page's native.wasm computes what the network is: engine.js against the reference, in node."""

import importlib.util
import sys
from pathlib import Path

import lenet_bench
import numpy as np
import pytest
from classroom import FOLDER, handwriting, needs_node, node
from digits import SAMPLES
from lenet_bench.weights import default_path
from processes import ran

pytestmark = needs_node

WASM = FOLDER / "native.wasm"
BUILD = Path(__file__).parents[1] / "csrc" / "wasm" / "build.sh"
LAYERS = ("pool1", "pool2", "fc1", "fc2", "probabilities")


@pytest.fixture
def images():
    """The samples, handwriting, noise, and nothing but paper or ink."""
    random = np.random.default_rng(2)
    return np.concatenate([
        [lenet_bench.read_image(path) for path in SAMPLES],
        handwriting(100) / np.float32(255),
        random.random((10, 28, 28), np.float32),
        [np.zeros((28, 28), np.float32), np.ones((28, 28), np.float32)],
    ])  # fmt: skip


def test_it_answers_as_the_reference_does(images, tmp_path):
    (tmp_path / "images").write_bytes(images.tobytes())
    files = (WASM, default_path(), tmp_path / "images", tmp_path / "answers")
    node("classroom_engine.mjs", *files)
    answers = np.fromfile(tmp_path / "answers", np.float32).reshape(len(images), -1)
    reference = lenet_bench.load("reference")
    for image, found in zip(images, answers, strict=True):
        layers = reference.layers(image)
        expected = np.concatenate([layers[name].ravel() for name in LAYERS])
        assert np.abs(found - expected).max() < 1e-4
        assert np.abs(found - expected)[-10:].max() < 1e-5


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("ziglang") is None, reason="ziglang is not installed: `make wasm`"
)
def test_it_is_what_the_kernels_compile_to(tmp_path):
    ran("sh", BUILD, sys.executable, tmp_path / "anew.wasm", timeout=1800)
    assert (tmp_path / "anew.wasm").read_bytes() == WASM.read_bytes(), "run `make wasm`"
