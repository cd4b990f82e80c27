"""`lenet-bench export`: the models are what the other programs say they are."""

from pathlib import Path

import numpy as np
import pytest
from conftest import Run
from lenet_bench import load, read_weights
from lenet_bench.export import caffe


def test_an_onnx_model_is_valid_and_has_the_weights(
    run: Run, tmp_path: Path, weights_file: Path
) -> None:
    onnx = pytest.importorskip("onnx")
    done = run("export", "onnx", "-o", tmp_path / "lenet.onnx", "--weights", weights_file)
    assert done.code == 0
    model = onnx.load(tmp_path / "lenet.onnx")
    onnx.checker.check_model(model, full_check=True)
    found = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    for name, array in read_weights(weights_file).parameters.items():
        assert (found[name] == array).all()


def test_an_onnx_model_gives_the_reference_probabilities(
    run: Run, tmp_path: Path, weights_file: Path
) -> None:
    """In ONNX's own evaluator, which is nobody's runtime."""
    onnx = pytest.importorskip("onnx")
    from onnx.reference import ReferenceEvaluator

    run("export", "onnx", "-o", tmp_path / "lenet.onnx", "--weights", weights_file)
    image = np.random.default_rng(1).random((28, 28), np.float32)
    (found,) = ReferenceEvaluator(onnx.load(tmp_path / "lenet.onnx")).run(
        None, {"image": image[np.newaxis, np.newaxis]}
    )
    expected = load("reference", weights=weights_file).infer(image)
    assert np.abs(found[0] - expected).max() < 1e-5


def test_a_tflite_model_gives_the_reference_probabilities(
    run: Run, tmp_path: Path, weights_file: Path
) -> None:
    litert = pytest.importorskip("ai_edge_litert.interpreter")
    run("export", "tflite", "-o", tmp_path / "lenet.tflite", "--weights", weights_file)
    interpreter = litert.Interpreter(str(tmp_path / "lenet.tflite"))
    interpreter.allocate_tensors()
    image = np.random.default_rng(1).random((28, 28), np.float32)
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], image[None, ..., None])
    interpreter.invoke()
    found = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])[0]
    expected = load("reference", weights=weights_file).infer(image)
    assert np.abs(found - expected).max() < 1e-5


def test_caffe_has_two_files(run: Run, tmp_path: Path, weights_file: Path) -> None:
    done = run("export", "caffe", "-o", tmp_path / "lenet.caffemodel", "--weights", weights_file)
    assert done.code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "lenet.caffemodel",
        "lenet.prototxt",
    ]


def test_a_caffemodel_holds_every_weight(weights_file: Path) -> None:
    weights = read_weights(weights_file)
    content = caffe.caffemodel(weights)
    for array in weights.parameters.values():
        assert array.tobytes() in content


def test_a_name_is_written_as_it_was_given_or_refused(
    run: Run, tmp_path: Path, weights_file: Path
) -> None:
    """`lenet.v2` is no order to replace lenet.caffemodel."""
    done = run("export", "caffe", "-o", tmp_path / "lenet.v2", "--weights", weights_file)
    assert done.code == 1
    assert "lenet.v2" in done.errors
    assert not list(tmp_path.iterdir())


def test_a_file_in_the_folders_place_is_one_sentence(
    run: Run, tmp_path: Path, weights_file: Path
) -> None:
    (tmp_path / "file").touch()
    done = run("export", "caffe", "-o", tmp_path / "file" / "lenet", "--weights", weights_file)
    assert done.code == 1
    assert "cannot be written" in done.errors
    assert "Traceback" not in done.errors


def test_an_unknown_format_is_misuse(run: Run, tmp_path: Path) -> None:
    assert run("export", "cntk", "-o", tmp_path / "x").code == 2
