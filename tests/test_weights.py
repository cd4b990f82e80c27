"""The weights file: what loading accepts, what it refuses, and how well the canonical one reads."""

import hashlib
import json
import os
import resource

import numpy as np
import pytest
from conftest import ROOT
from lenet_bench import load
from lenet_bench.errors import WeightsError
from lenet_bench.mnist import read_mnist
from lenet_bench.network import PARAMETERS
from lenet_bench.training.result import confusions
from lenet_bench.weights import Weights, read_weights, write_weights
from processes import python
from safetensors.numpy import save_file

FOLDER = ROOT / "weights"
MNIST = os.environ.get("LENET_BENCH_MNIST", "")


@pytest.fixture
def arrays():
    random = np.random.default_rng(5)
    return {n: random.standard_normal(s).astype(np.float32) for n, s in PARAMETERS.items()}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "lenet.safetensors"


def test_what_was_written_is_read_with_its_checksum(path, arrays):
    write_weights(path, {n: np.asfortranarray(a) for n, a in arrays.items()}, {"seed": "7"})
    weights = read_weights(path)
    assert weights.metadata == {"seed": "7", "sha256": Weights(arrays).sha256}
    assert all(np.array_equal(weights[name], arrays[name]) for name in PARAMETERS)


def refusal(path):
    with pytest.raises(WeightsError) as caught:
        read_weights(path)
    sentence = str(caught.value)
    assert str(path) in sentence
    assert "\n" not in sentence
    return sentence


def test_a_file_that_is_too_large_is_not_read(path):
    with path.open("wb") as file:
        file.truncate(1 << 40)  # sparse: takes no room
    assert "too large" in refusal(path)


def test_a_pipe_is_not_read(path):
    os.mkfifo(path)
    assert "pipe" in refusal(path)


def test_the_canonical_weights_are_a_part_of_the_installation(path, monkeypatch):
    assert "`lenet-bench train` makes one" in refusal(path)
    monkeypatch.setattr("lenet_bench.weights.default_path", lambda: path)
    assert "install lenet-bench again" in refusal(path)


def with_values(value):
    """fc2's biases, one of them that value."""
    return np.array([value, *range(9)], np.float32)


@pytest.mark.parametrize(
    ("name", "array", "says"),
    [
        ("fc2.bias", None, "missing"),
        ("fc3.weight", np.zeros(3, np.float32), "unknown"),
        ("fc1.weight", np.zeros((800, 500), np.float32), "expected shape (500, 800)"),
        ("fc2.bias", np.zeros(10, "float64"), "found F64"),
        *(("fc2.bias", with_values(v), "not finite") for v in (np.nan, np.inf)),
    ],
)
def test_a_parameter_that_is_wrong_is_named(path, arrays, name, array, says):
    changed = {**arrays, name: array}
    save_file({n: a for n, a in changed.items() if a is not None}, path)
    sentence = refusal(path)
    assert name in sentence
    assert says in sentence


def test_a_long_name_is_not_repeated(path, arrays):
    save_file({**arrays, "a\n" * 9000: np.zeros(3, np.float32)}, path)
    assert "characters left out" in refusal(path)


@pytest.mark.parametrize("kind", ["F8_E4M3", "BF16", "F4"])
def test_a_type_that_numpy_has_not_is_named(path, arrays, kind):
    bits = {"BF16": 16, "F4": 4}.get(kind, 8)
    header, values, at = {}, b"", 0
    for name, array in arrays.items():
        size = array.size * bits // 8
        header[name] = {"dtype": kind, "shape": array.shape, "data_offsets": [at, at + size]}
        values += bytes(size)
        at += size
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + values)
    assert f"expected float32 (F32), found {kind}" in refusal(path)


def test_parameters_that_overflow_are_refused(path, arrays):
    for name, factor in (("conv1.weight", 1e35), ("fc2.weight", 1e30)):
        save_file({**arrays, name: arrays[name] * np.float32(factor)}, path)
        with pytest.raises(WeightsError, match="overflow"):
            read_weights(path)


def test_a_parameter_that_was_changed_is_refused(path, arrays):
    checksum = Weights(arrays).sha256
    arrays["conv1.weight"][0, 0, 0, 0] += 1e-3
    save_file(arrays, path, metadata={"sha256": checksum})
    assert "checksum" in refusal(path)


def test_a_parameter_that_is_there_twice_is_refused(path, arrays):
    write_weights(path, arrays, {})
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = content[8 : 8 + length].rstrip()
    again = json.dumps({"fc2.bias": {"dtype": "F32", "shape": [10], "data_offsets": [0, 40]}})
    header = header[:-1] + b"," + again[1:].encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + content[8 + length :])
    refusal(path)


def test_writing_refuses_what_reading_would(path, arrays):
    arrays["fc1.bias"][0] = np.nan
    with pytest.raises(WeightsError, match=r"fc1\.bias: .*not finite"):
        write_weights(path, arrays, {})
    assert not path.exists()


def test_a_full_disk_leaves_the_file_that_was_there(path, arrays):
    """The disk is a limit on file size, in a process of its own."""
    write_weights(path, arrays, {"seed": "old"})
    program = f"""
import resource
from lenet_bench.weights import read_weights, write_weights
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, {resource.RLIM_INFINITY}))
write_weights({str(path)!r}, read_weights({str(path)!r}).parameters, {{"seed": "new"}})
"""
    done = python(program, code=None)
    assert "WeightsError" in done.stderr
    assert "File too large" in done.stderr
    assert read_weights(path).metadata["seed"] == "old"
    assert list(path.parent.iterdir()) == [path]


def test_the_canonical_weights_say_how_they_were_made():
    weights, readme = read_weights(), (FOLDER / "README.md").read_text()
    assert weights.sha256 == read_weights(FOLDER / "lenet.safetensors").sha256
    assert weights.metadata["sha256"] == weights.sha256
    assert sum(array.size for array in weights.parameters.values()) == 431_080
    for line in (FOLDER / "SHA256SUMS").read_text().splitlines():
        checksum, name = line.split()
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == checksum, name
    for name in ("recipe", "seed", "epochs", "versions", "date", "machine", "validation_accuracy"):
        assert weights.metadata[name], name
    assert {"keras", "numpy", "python"} <= set(json.loads(weights.metadata["versions"]))
    for name in ("validation_accuracy", "test_accuracy"):
        assert f"{100 * float(weights.metadata[name]):.2f} %" in readme, name


@pytest.mark.skipif(not MNIST, reason="needs MNIST: set LENET_BENCH_MNIST to its folder")
def test_the_canonical_weights_read_the_test_images_as_the_metadata_say():
    digits = read_mnist("test", MNIST)
    answers = load("reference").infer(digits.ink()).argmax(axis=1)
    right = int((answers == digits.labels).sum())
    assert right >= 9950
    metadata = read_weights().metadata
    assert right == int(metadata["test_correct"])
    wrong = confusions(answers, digits.labels)
    assert sorted(map(list, wrong)) == sorted(json.loads(metadata["test_wrong"]))
