"""The weights file: what loading accepts, what it refuses, and how well the canonical one reads."""

import hashlib
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from lenet_bench.errors import WeightsError
from lenet_bench.mnist import read_mnist
from lenet_bench.network import PARAMETERS
from lenet_bench.weights import Weights, default_path, read_weights, write_weights
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from safetensors.numpy import save_file

Arrays = dict[str, NDArray[np.float32]]

FOLDER = Path(__file__).parents[1] / "weights"
MNIST = os.environ.get("LENET_BENCH_MNIST", "")


@pytest.fixture
def arrays() -> Arrays:
    random = np.random.default_rng(5)
    return {n: random.standard_normal(s).astype(np.float32) for n, s in PARAMETERS.items()}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lenet.safetensors"


# what is written can be read


def test_what_was_written_is_read(path: Path, arrays: Arrays) -> None:
    write_weights(path, arrays, {"seed": "7"})
    weights = read_weights(path)
    assert weights.metadata["seed"] == "7"
    assert all(np.array_equal(weights[name], arrays[name]) for name in PARAMETERS)


def test_writing_adds_the_checksum(path: Path, arrays: Arrays) -> None:
    write_weights(path, arrays, {})
    assert read_weights(path).metadata["sha256"] == Weights(arrays).sha256


def test_a_file_of_another_program_needs_no_checksum(path: Path, arrays: Arrays) -> None:
    save_file(arrays, path)
    assert read_weights(path).metadata == {}


def test_parameters_in_fortran_order_are_written_in_c_order(path: Path, arrays: Arrays) -> None:
    write_weights(path, {n: np.asfortranarray(a) for n, a in arrays.items()}, {})
    weights = read_weights(path)
    assert all(np.array_equal(weights[name], arrays[name]) for name in PARAMETERS)


def test_the_checksum_depends_on_the_order_of_the_parameters(arrays: Arrays) -> None:
    arrays["conv1.bias"][:2] = 1, 2
    one = Weights(dict(arrays)).sha256
    arrays["conv1.bias"][:2] = 2, 1
    assert Weights(arrays).sha256 != one


# what is refused


def refusal(path: Path) -> str:
    with pytest.raises(WeightsError) as caught:
        read_weights(path)
    sentence = str(caught.value)
    assert str(path) in sentence
    assert "\n" not in sentence
    return sentence


def test_an_absent_file_tells_what_makes_one(path: Path) -> None:
    assert "no such weights file; `lenet-bench train` makes one" in refusal(path)


def test_a_directory_is_refused(tmp_path: Path) -> None:
    assert "expected a safetensors file, found a directory" in refusal(tmp_path)


def test_a_pipe_is_refused_and_not_waited_for(path: Path) -> None:
    os.mkfifo(path)
    assert "found a device or a pipe" in refusal(path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_refused(path: Path, arrays: Arrays) -> None:
    write_weights(path, arrays, {})
    path.chmod(0)
    assert "Permission denied" in refusal(path)


def test_an_empty_file_is_refused(path: Path) -> None:
    path.touch()
    assert "cannot be read as safetensors" in refusal(path)


def test_a_huge_file_is_refused_unread(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)  # sparse: takes no room
    assert "too large to be LeNet's weights" in refusal(path)


def test_a_missing_parameter_is_named(path: Path, arrays: Arrays) -> None:
    del arrays["fc2.bias"]
    save_file(arrays, path)
    assert "fc2.bias missing" in refusal(path)


def test_an_extra_parameter_is_named(path: Path, arrays: Arrays) -> None:
    save_file({**arrays, "fc3.weight": np.zeros(3, np.float32)}, path)
    assert "fc3.weight unknown" in refusal(path)


def test_a_wrong_shape_is_told_with_the_right_one(path: Path, arrays: Arrays) -> None:
    save_file({**arrays, "fc1.weight": np.zeros((800, 500), np.float32)}, path)
    assert "fc1.weight: expected shape (500, 800), found (800, 500)" in refusal(path)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int32"])
def test_another_type_than_float32_is_refused(path: Path, arrays: Arrays, dtype: str) -> None:
    save_file({**arrays, "fc1.bias": arrays["fc1.bias"].astype(dtype)}, path)
    assert f"fc1.bias: expected float32, found {dtype}" in refusal(path)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_refused(path: Path, arrays: Arrays, value: float) -> None:
    arrays["conv2.weight"][3, 1, 4, 1] = value
    save_file(arrays, path)
    assert "conv2.weight: holds a value that is not finite" in refusal(path)


def test_a_parameter_that_does_not_match_the_checksum_is_refused(
    path: Path, arrays: Arrays
) -> None:
    checksum = Weights(arrays).sha256
    arrays["conv1.weight"][0, 0, 0, 0] += 1e-3
    save_file(arrays, path, metadata={"sha256": checksum})
    assert "do not match their checksum" in refusal(path)


def test_a_name_that_is_there_twice_never_changes_the_parameters(
    path: Path, arrays: Arrays
) -> None:
    write_weights(path, arrays, {})
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = content[8 : 8 + length].rstrip()
    again = json.dumps({"fc2.bias": {"dtype": "F32", "shape": [10], "data_offsets": [0, 40]}})
    header = header[:-1] + b"," + again[1:].encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + content[8 + length :])
    refusal(path)


# writing


def test_writing_refuses_what_reading_would(path: Path, arrays: Arrays) -> None:
    arrays["fc1.bias"][0] = np.nan
    with pytest.raises(WeightsError, match=r"fc1\.bias: holds a value that is not finite"):
        write_weights(path, arrays, {})
    assert not path.exists()


def test_writing_onto_a_directory_is_one_sentence(tmp_path: Path, arrays: Arrays) -> None:
    with pytest.raises(WeightsError, match="cannot be written: Is a directory"):
        write_weights(tmp_path, arrays, {})


def test_a_full_disk_leaves_the_file_that_was_there(path: Path, arrays: Arrays) -> None:
    """The disk is a limit on file size, in a process of its own."""
    write_weights(path, arrays, {"seed": "old"})
    program = f"""
import resource
from lenet_bench.weights import read_weights, write_weights
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, {resource.RLIM_INFINITY}))
write_weights({str(path)!r}, read_weights({str(path)!r}).parameters, {{"seed": "new"}})
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "WeightsError" in done.stderr
    assert "cannot be written: File too large" in done.stderr
    assert read_weights(path).metadata["seed"] == "old"
    assert list(path.parent.iterdir()) == [path]


# the canonical weights


def test_the_canonical_weights_are_the_ones_in_the_source_tree() -> None:
    assert read_weights().sha256 == read_weights(FOLDER / "lenet.safetensors").sha256


def test_the_canonical_weights_carry_their_checksum() -> None:
    weights = read_weights()
    assert weights.metadata["sha256"] == weights.sha256


def test_the_canonical_weights_have_all_parameters() -> None:
    assert sum(array.size for array in read_weights().parameters.values()) == 431_080


def test_the_checksums_beside_the_weights_are_right() -> None:
    for line in (FOLDER / "SHA256SUMS").read_text().splitlines():
        checksum, name = line.split()
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == checksum, name


def test_the_metadata_tell_how_the_weights_were_made() -> None:
    told = read_weights().metadata
    for name in ("recipe", "seed", "epochs", "versions", "date", "machine", "validation_accuracy"):
        assert told[name], name
    assert {"keras", "numpy", "python"} <= set(json.loads(told["versions"]))


def test_the_readme_tells_the_accuracies_of_the_metadata() -> None:
    told, readme = read_weights().metadata, (FOLDER / "README.md").read_text()
    for name in ("validation_accuracy", "test_accuracy"):
        assert f"{100 * float(told[name]):.2f} %" in readme, name


@pytest.mark.skipif(not MNIST, reason="needs MNIST: set LENET_BENCH_MNIST to its folder")
def test_the_canonical_weights_read_the_test_images_as_the_metadata_tell() -> None:
    weights = read_weights()
    digits = read_mnist("test", MNIST)
    batches = np.array_split(np.arange(len(digits)), 20)
    answers = np.concatenate([forward(weights, digits.ink(b)).argmax(axis=1) for b in batches])
    right = int((answers == digits.labels).sum())
    assert right >= 9950
    assert right == int(weights.metadata["test_correct"])


def forward(weights: Weights, images: NDArray[np.float32]) -> NDArray[np.float32]:
    """The network written once more, as plainly as NumPy allows: no rung is trusted here."""
    maps = images[:, None]
    for layer in ("conv1", "conv2"):
        windows = sliding_window_view(maps, (5, 5), axis=(2, 3))
        kernels = weights[f"{layer}.weight"]
        maps = np.tensordot(windows, kernels, axes=((1, 4, 5), (1, 2, 3))).transpose(0, 3, 1, 2)
        maps = maps + weights[f"{layer}.bias"][:, None, None]
        n, channels, side, _ = maps.shape
        maps = maps.reshape(n, channels, side // 2, 2, side // 2, 2).max(axis=(3, 5))
    hidden = maps.reshape(len(maps), -1) @ weights["fc1.weight"].T + weights["fc1.bias"]
    logits: NDArray[np.float32] = np.maximum(hidden, 0) @ weights["fc2.weight"].T
    return logits + weights["fc2.bias"]


def test_the_default_path_is_a_file() -> None:
    assert default_path().is_file()
