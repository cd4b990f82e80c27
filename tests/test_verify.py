"""`lenet-bench verify`: every rung against the float64 reference, image by image."""

import json
import os
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import lenet_bench
import numpy as np
import pytest
from conftest import Run
from lenet_bench import cli
from lenet_bench.errors import Unavailable
from lenet_bench.mnist import read_mnist
from lenet_bench.printout.verification import verification
from lenet_bench.terminal import Screen
from lenet_bench.verify import (
    Disagreement,
    Unverified,
    Verification,
    reference_probabilities,
    verify,
    verify_each,
)
from lenet_bench.weights import read_weights
from numpy.typing import NDArray

MNIST = os.environ.get("LENET_BENCH_MNIST")


def test_json_has_an_object_for_each_rung_at_hand(
    run: Run, small_mnist: Path, weights_file: Path
) -> None:
    done = run("verify", "--data", small_mnist, "--json", "--weights", weights_file)
    found = [json.loads(line) for line in done.output.splitlines()]
    at_hand = [rung.name for rung in lenet_bench.backends() if rung.available]
    assert [rung["backend"] for rung in found] == at_hand
    for rung in found:
        assert rung["images"] == 30
        assert 0 <= rung["accuracy"] <= 1
        assert 0 <= rung["max_difference"] <= rung["tolerance"]
        assert isinstance(rung["disagreements"], list)
        assert rung["passed"]
    assert done.code == 0


def test_chosen_rungs_only(run: Run, small_mnist: Path, weights_file: Path) -> None:
    arguments = ("--json", "--backend", "numpy", "--backend", "fused", "--weights", weights_file)
    done = run("verify", "--data", small_mnist, *arguments)
    assert [json.loads(line)["backend"] for line in done.output.splitlines()] == ["fused", "numpy"]


def test_people_get_an_aligned_table(run: Run, small_mnist: Path, weights_file: Path) -> None:
    arguments = ("--backend", "fused", "--backend", "numpy", "--weights", weights_file)
    output = run("verify", "--data", small_mnist, *arguments).output
    assert output.startswith("30 test images against the float64 reference\n")
    assert "largest difference" in output
    assert all(line.endswith("✓") for line in output.splitlines()[3:])


def test_a_kept_verification_has_its_machine_and_versions(
    run: Run, small_mnist: Path, weights_file: Path, tmp_path: Path
) -> None:
    output = tmp_path / "new" / "verify.json"
    arguments = ("--backend", "fused", "--weights", weights_file, "-o", output)
    run("verify", "--data", small_mnist, *arguments)
    kept = json.loads(output.read_text())
    assert kept["environment"]["processor"]["logical"] >= 1
    assert kept["weights_sha256"] == read_weights(weights_file).sha256
    (rung,) = kept["rungs"]
    assert rung["runs"]["isa"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_gets_one_object_in_the_end(
    run: Run, small_mnist: Path, weights_file: Path, tmp_path: Path
) -> None:
    pipe = tmp_path / "verify.json"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    rungs = ("--backend", "fused", "--backend", "numpy", "--weights", weights_file)
    run("verify", "--data", small_mnist, *rungs, "-o", pipe)
    with os.fdopen(reading) as file:
        assert [rung["backend"] for rung in json.load(file)["rungs"]] == ["fused", "numpy"]


def test_ctrl_c_leaves_what_was_verified(
    small_mnist: Path,
    weights_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As if it came while the second rung was loaded."""

    def open_rung(name: str, *_: object) -> object:
        if name == "onednn":
            raise KeyboardInterrupt
        return nullcontext(Wrong())

    monkeypatch.setattr("lenet_bench.verify._open", open_rung)
    output, rungs = tmp_path / "verify.json", ("-b", "fused", "-b", "onednn")
    given = ("--data", small_mnist, "--weights", weights_file, "-o", output, *rungs)
    assert cli.run(["verify", *map(str, given)]) == 130
    assert [rung["backend"] for rung in json.loads(output.read_text())["rungs"]] == ["fused"]
    told = capsys.readouterr()
    assert "\n  fused " in told.out
    assert told.err == "lenet-bench: interrupted after 1 of 2 rungs\n"


def test_another_digit_by_more_than_the_tolerance_is_not_passed() -> None:
    """Two probabilities may each be off by the tolerance, and their order by twice that."""
    close, clear = (Disagreement(0, 7, 7, 1, margin) for margin in (0.9e-5, 1.1e-5))
    found = Verification("fused", 1, 1.0, 1e-5, 1e-5, (close,))
    assert found.passed
    assert not replace(found, disagreements=(close, clear)).passed


def test_its_file_says_what_it_is(
    run: Run, small_mnist: Path, weights_file: Path, tmp_path: Path
) -> None:
    output = tmp_path / "verify.json"
    arguments = ("--backend", "fused", "--weights", weights_file, "-o", output)
    run("verify", "--data", small_mnist, *arguments)
    assert "expected the result of a comparison, found that of a verification" in (
        run("report", output).errors
    )


def test_a_rung_that_fails_midway_costs_its_own_row_and_the_verdict(
    small_mnist: Path, weights_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Crashes(Wrong):
        def infer(self, images: NDArray[np.float32]) -> NDArray[np.float32]:
            raise Unavailable(f"it ended {len(images)} images early")

    def open_rung(name: str, *_: object) -> object:
        return nullcontext(Crashes() if name == "onednn" else Wrong())

    monkeypatch.setattr("lenet_bench.verify._open", open_rung)
    digits, weights = read_mnist("test", small_mnist), read_weights(weights_file)
    found = list(verify_each(["onednn", "fused"], digits, weights, lambda *_: None))
    assert found[0] == Unverified("onednn", "it ended 30 images early", failed=True)
    assert found[1].backend == "fused"


def test_a_file_that_cannot_be_written_is_one_sentence(
    run: Run, small_mnist: Path, weights_file: Path, tmp_path: Path
) -> None:
    arguments = ("--backend", "fused", "--weights", weights_file, "-o", tmp_path)
    done = run("verify", "--data", small_mnist, *arguments)
    assert done.code == 1
    assert "expected a file to write, found a directory" in done.errors
    assert "Traceback" not in done.errors


def test_the_folder_may_come_from_the_environment(
    run: Run, small_mnist: Path, weights_file: Path
) -> None:
    arguments = ("--json", "--backend", "fused", "--weights", weights_file)
    done = run("verify", *arguments, LENET_BENCH_MNIST=str(small_mnist))
    assert json.loads(done.output)["images"] == 30


def test_no_progress_where_nobody_watches(run: Run, small_mnist: Path, weights_file: Path) -> None:
    arguments = ("--backend", "fused", "--weights", weights_file)
    assert run("verify", "--data", small_mnist, *arguments).errors == ""


@pytest.mark.parametrize("folder", ["absent", "empty", "damaged"])
def test_data_that_is_not_mnist_is_one_sentence(
    run: Run, weights_file: Path, tmp_path: Path, folder: str
) -> None:
    data = tmp_path / folder
    if folder != "absent":
        data.mkdir()
    if folder == "damaged":
        for name in ("images-idx3", "labels-idx1"):
            (data / f"t10k-{name}-ubyte").write_bytes(b"\0\0")
    done = run("verify", "--data", data, "--weights", weights_file)
    assert (done.code, done.output) == (1, "")
    assert len(done.errors.splitlines()) == 1
    assert str(data) in done.errors


def test_the_truth_is_the_references_own(small_mnist: Path, weights_file: Path) -> None:
    """In float64: a rung's difference is not that of two roundings."""
    digits, weights = read_mnist("test", small_mnist), read_weights(weights_file)
    truth = reference_probabilities(digits, weights, lambda *_: None)
    reference = lenet_bench.load("reference", weights=weights)
    for image, probabilities in zip(digits.ink(), truth, strict=True):
        expected = reference.layers(image)["probabilities"]
        np.testing.assert_allclose(probabilities, expected, rtol=0, atol=1e-13)


class Wrong:
    """A rung that says 3 of every image, or nothing at all."""

    def __init__(self, three: float = 1.0) -> None:
        self._three = three

    def infer(self, images: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.tile(np.eye(10, dtype=np.float32)[3] * np.float32(self._three), (len(images), 1))

    def layers(self, image: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
        raise NotImplementedError

    def describe(self) -> dict[str, str]:
        return {}


def verify_wrong(small_mnist: Path, weights_file: Path, three: float = 1.0) -> Verification:
    digits = read_mnist("test", small_mnist)
    truth = reference_probabilities(digits, read_weights(weights_file), lambda *_: None)
    return verify("fused", Wrong(three), digits, truth, lambda *_: None)


def test_a_wrong_rung_fails(small_mnist: Path, weights_file: Path) -> None:
    assert not verify_wrong(small_mnist, weights_file).passed


def test_a_rung_that_answers_nan_fails(small_mnist: Path, weights_file: Path) -> None:
    assert not verify_wrong(small_mnist, weights_file, three=np.nan).passed


def test_each_disagreement_is_listed_with_its_margin(small_mnist: Path, weights_file: Path) -> None:
    digits, weights = read_mnist("test", small_mnist), read_weights(weights_file)
    reference = lenet_bench.load("reference", weights=weights).infer(digits.ink())
    found = verify_wrong(small_mnist, weights_file).disagreements
    expected = [index for index, row in enumerate(reference) if row.argmax() != 3]
    assert [one.index for one in found] == expected
    for one in found:
        row = reference[one.index]
        assert (one.label, one.reference, one.digit) == (digits.labels[one.index], row.argmax(), 3)
        assert one.margin == pytest.approx(row.max() - row[3], abs=1e-6)


def test_people_see_each_disagreement(small_mnist: Path, weights_file: Path) -> None:
    wrong = verify_wrong(small_mnist, weights_file)
    lines = list(verification(Screen(80, colour=False, unicode=True), [wrong]))
    assert any("✗ too far" in line for line in lines)
    listed = [line.split()[0] for line in lines[-len(wrong.disagreements) :]]
    assert listed == [str(one.index) for one in wrong.disagreements]


@pytest.mark.skipif(MNIST is None, reason="LENET_BENCH_MNIST names no folder")
def test_every_rung_passes_on_the_10_000_test_images(run: Run) -> None:
    """With the canonical weights, which are right on at least 99.5 % of them."""
    done = run("verify", "--json")
    found = [json.loads(line) for line in done.output.splitlines()]
    assert done.code == 0
    assert {rung["images"] for rung in found} == {10_000}
    assert min(rung["accuracy"] for rung in found) >= 0.995
