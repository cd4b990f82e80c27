"""`lenet-bench verify`: every backend against the float64 reference, image by image."""

import json
import os
from contextlib import nullcontext
from dataclasses import replace

import lenet_bench
import numpy as np
import pytest
import scratch_backends as scratch
from lenet_bench.errors import Unavailable
from lenet_bench.mnist import read_mnist
from lenet_bench.questions.verify import (
    Disagreement,
    Unverified,
    Verification,
    reference_probabilities,
    verify,
    verify_each,
)
from lenet_bench.registry.availability import backends
from lenet_bench.show.terminal.answers import verification
from lenet_bench.show.terminal.screen import Screen
from lenet_bench.weights import read_weights

MNIST = os.environ.get("LENET_BENCH_MNIST")


@pytest.fixture(scope="module")
def verified(run, small_mnist, weights_file):
    """`verified(...)`: fused and numpy, on thirty images, whose folder the environment has."""
    backends = ("--backend", "numpy", "--backend", "fused", "--weights", weights_file)
    return lambda *words: run("verify", *backends, *words, LENET_BENCH_MNIST=str(small_mnist))


def test_only_chosen_backends_are_verified(verified):
    found = verified("--json").answers
    assert [(one["backend"], one["images"]) for one in found] == [("fused", 30), ("numpy", 30)]
    done = verified()
    assert done.output.startswith("30 test images")
    assert all(line.endswith("✓") for line in done.output.splitlines()[3:])
    assert done.errors == "", "no progress where nobody watches"


def test_a_kept_verification_knows_its_machine(run, verified, weights_file, tmp_path):
    output = tmp_path / "new" / "verify.json"
    verified("-o", output)
    kept = json.loads(output.read_text())
    assert kept["environment"]["processor"]["logical"] >= 1
    assert kept["weights_sha256"] == read_weights(weights_file).sha256
    fused, _ = kept["backends"]
    assert fused["runs"]["isa"]
    assert "not a result file" in run("report", output).errors
    assert verified("-o", output).code == 0, "again"
    output.write_text("{}")
    assert "of another kind" in verified("-o", output).errors
    assert output.read_text() == "{}"


def test_a_folder_to_write_is_one_sentence(refused, tmp_path):
    assert "directory" in refused("verify", "--data", tmp_path, "-o", tmp_path)


def test_ctrl_c_leaves_what_was_verified(small_mnist, tmp_path, monkeypatch, run_here):
    """As if it came while the second backend was loaded."""

    def open_backend(name, *_):
        if name == "onednn":
            raise KeyboardInterrupt
        return nullcontext(Wrong())

    monkeypatch.setattr("lenet_bench.questions.verify._open", open_backend)
    output, backends = tmp_path / "verify.json", ("-b", "fused", "-b", "onednn")
    done = run_here("verify", "--data", small_mnist, "-o", output, *backends)
    assert done.code == 130
    found = json.loads(output.read_text())
    assert [kept["backend"] for kept in found["backends"]] == ["fused"]
    others = [(one["backend"], one["reason"]) for one in found["unverified"]]
    assert others == [("onednn", "not reached")]
    assert "\n  fused " in done.output
    assert "after 1 of 2" in done.errors


def test_another_digit_by_more_than_the_tolerance_is_not_passed():
    """Two probabilities may each be off by the tolerance, and their order by twice that."""
    close, clear = (Disagreement(0, 7, 7, 1, margin) for margin in (0.9e-5, 1.1e-5))
    found = Verification("fused", 1, 1.0, 1e-5, 1e-5, (close,))
    assert found.passed
    assert not replace(found, disagreements=(close, clear)).passed


def test_one_that_fails_midway_costs_its_own_row(small_mnist, monkeypatch):
    class Crashes(Wrong):
        def infer(self, images):
            raise Unavailable(f"it ended {len(images)} images early")

    def open_backend(name, *_):
        return nullcontext(Crashes() if name == "onednn" else Wrong())

    monkeypatch.setattr("lenet_bench.questions.verify._open", open_backend)
    digits = read_mnist("test", small_mnist)
    failed, other = verify_each(["onednn", "fused"], digits, read_weights(), lambda *_: None)
    assert isinstance(failed, Unverified)
    assert failed.failed
    assert "30 images" in str(failed.reason)
    assert other.backend == "fused"


def test_data_that_is_not_mnist_is_one_sentence(refused, tmp_path):
    data = tmp_path / "absent"
    assert str(data) in refused("verify", "--data", data)


class Wrong:
    """A backend that says 3 of every image, or nothing at all."""

    def __init__(self, three=1.0):
        self._three = three

    def infer(self, images):
        return np.tile(np.eye(10, dtype=np.float32)[3] * np.float32(self._three), (len(images), 1))

    def layers(self, image):
        raise NotImplementedError

    def describe(self):
        return {}


def verify_wrong(small_mnist, weights_file, three=1.0):
    digits = read_mnist("test", small_mnist)
    truth = reference_probabilities(digits, read_weights(weights_file), lambda *_: None)
    return verify("fused", Wrong(three), digits, truth, lambda *_: None)


def test_who_has_another_call_for_batches_is_asked_for_one_image(small_mnist):
    digits, weights = read_mnist("test", small_mnist), read_weights()
    truth = reference_probabilities(digits, weights, lambda *_: None)
    lies = scratch.AnswersOneWrongly(weights, threads=1)
    assert not verify("onnxruntime", lies, digits, truth, lambda *_: None).passed


def test_nan_is_not_passed(small_mnist, weights_file):
    assert not verify_wrong(small_mnist, weights_file, three=np.nan).passed


def test_each_disagreement_is_listed_with_its_margin(small_mnist, weights_file):
    digits, weights = read_mnist("test", small_mnist), read_weights(weights_file)
    reference = lenet_bench.load("reference", weights=weights).infer(digits.ink())
    wrong = verify_wrong(small_mnist, weights_file)
    assert not wrong.passed
    expected = [index for index, row in enumerate(reference) if row.argmax() != 3]
    assert [one.index for one in wrong.disagreements] == expected
    for one in wrong.disagreements:
        row = reference[one.index]
        assert one.label == digits.labels[one.index]
        assert one.reference == row.argmax()
        assert one.digit == 3
        assert one.margin == pytest.approx(row.max() - row[3], abs=1e-6)
    lines = list(verification(Screen(80, colour=False), [wrong]))
    assert any("✗ too far" in line for line in lines)
    assert [line.split()[0] for line in lines[-len(expected) :]] == list(map(str, expected))


@pytest.mark.slow
@pytest.mark.skipif(MNIST is None, reason="LENET_BENCH_MNIST names no folder")
def test_a_backend_of_each_family_passes_on_the_10_000_test_images(run):
    """With the canonical weights, which are right on at least 99.5 % of them."""
    families = ("fused", "onednn", "openblas", "onnxruntime", "tensorflow:concrete", "numpy")
    asked = [one.name for one in backends(families) if one.available]
    done = run("verify", "--json", *(option for name in asked for option in ("--backend", name)))
    found = done.answers
    assert [backend["backend"] for backend in found] == asked
    for backend in found:
        assert backend["images"] == 10_000
        assert 0.995 <= backend["accuracy"] <= 1
        assert 0 <= backend["max_difference"] <= backend["tolerance"]
        assert isinstance(backend["disagreements"], list)
        assert backend["passed"]
    assert done.code == 0
