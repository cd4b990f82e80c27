"""The page's fused.wasm computes what the network is: engine.js against the reference, in node."""

import importlib.util
import json
import sys
from pathlib import Path

import lenet_bench
import numpy as np
import pytest
from classroom import FOLDER, handwriting, needs_node, node
from digit_photos import SAMPLES
from lenet_bench.network import PARAMETERS
from lenet_bench.weights import default_path, read_weights
from processes import ran

pytestmark = needs_node

WASM = FOLDER / "fused.wasm"
BUILD = Path(__file__).parents[1] / "csrc" / "wasm" / "build.sh"
SIZES = {"pool1": 20 * 12 * 12, "pool2": 50 * 4 * 4, "fc1": 500, "fc2": 10, "probabilities": 10}


@pytest.fixture(scope="module")
def images():
    """The samples, handwriting, noise, and nothing but paper or ink."""
    random = np.random.default_rng(2)
    return np.concatenate([
        [lenet_bench.read_image(path) for path in SAMPLES],
        handwriting(100) / np.float32(255),
        random.random((10, 28, 28), np.float32),
        [np.zeros((28, 28), np.float32), np.ones((28, 28), np.float32)],
    ])  # fmt: skip


def answers(images, weights, folder, wasm=WASM):
    """What engine.js says of itself, what infer gives, every layer, and the parameters."""
    (folder / "images").write_bytes(np.asarray(images, np.float32).tobytes())
    arguments = (wasm, weights, folder / "images", folder / "answers")
    about = json.loads(node("classroom_engine.mjs", *arguments))
    table = np.fromfile(folder / "answers.layers", np.float32).reshape(len(images), -1)
    ends = np.cumsum([10, *SIZES.values()])
    probabilities, *layers = np.split(table, ends[:-1], axis=1)
    parameters = np.fromfile(folder / "answers.weights", np.float32)
    return about, probabilities, dict(zip(SIZES, layers, strict=True)), parameters


@pytest.mark.parametrize("canonical", [True, False])
def test_it_answers_as_the_reference_does(images, weights_file, tmp_path, canonical):
    images, file = (images, default_path()) if canonical else (images[:5], weights_file)
    about, probabilities, layers, parameters = answers(images, file, tmp_path)
    assert about["layers"] == list(SIZES)
    assert about["parameters"] == [name.replace(".", "_") for name in PARAMETERS]
    assert 0 < about["microseconds"] < np.inf
    weights = read_weights(file)
    assert np.array_equal(parameters, np.concatenate([weights[n].ravel() for n in PARAMETERS]))
    reference = lenet_bench.load("reference", weights=file)
    apart = {"infer": np.abs(probabilities - reference.infer(images)).max()}
    expected = [reference.layers(image) for image in images]
    for name, values in layers.items():
        wanted = np.stack([each[name].ravel() for each in expected])
        apart[name] = np.abs(values - wanted).max()
    print(f"{len(images)} images:", {name: float(f"{most:.2g}") for name, most in apart.items()})
    assert apart["infer"] < 1e-5
    assert apart["probabilities"] < 1e-5
    assert max(apart.values()) < 1e-4


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("ziglang") is None, reason="ziglang is not installed: `make wasm`"
)
def test_it_is_what_the_kernels_compile_to(tmp_path):
    ran("sh", BUILD, sys.executable, tmp_path / "anew.wasm", timeout=1800)
    assert (tmp_path / "anew.wasm").read_bytes() == WASM.read_bytes(), "run `make wasm`"
