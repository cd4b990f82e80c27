"""`lenet-bench export`: the models are what the other programs say they are."""

import os

import numpy as np
import pytest
from lenet_bench import load, read_weights

IMAGE = np.random.default_rng(1).random((28, 28), np.float32)


def test_an_onnx_model_is_lenet(run, tmp_path, weights_file):
    """In ONNX's own evaluator, which is nobody's runtime."""
    onnx = pytest.importorskip("onnx")
    from onnx.reference import ReferenceEvaluator

    done = run("export", "onnx", "-o", tmp_path / "lenet.onnx", "--weights", weights_file)
    assert done.code == 0
    model = onnx.load(tmp_path / "lenet.onnx")
    onnx.checker.check_model(model, full_check=True)
    found = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    for name, array in read_weights(weights_file).parameters.items():
        assert (found[name] == array).all()
    (answer,) = ReferenceEvaluator(model).run(None, {"image": IMAGE[np.newaxis, np.newaxis]})
    expected = load("reference", weights=weights_file).infer(IMAGE)
    assert np.abs(answer[0] - expected).max() < 1e-5


def test_a_tflite_model_is_lenet(run, tmp_path):
    litert = pytest.importorskip("ai_edge_litert.interpreter")
    run("export", "tflite", "-o", tmp_path / "lenet.tflite")
    interpreter = litert.Interpreter(str(tmp_path / "lenet.tflite"))
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], IMAGE[None, ..., None])
    interpreter.invoke()
    found = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])[0]
    expected = load("reference").infer(IMAGE)
    assert np.abs(found - expected).max() < 1e-5


def test_caffe_has_two_files(run, tmp_path):
    done = run("export", "caffe", "-o", tmp_path / "lenet.caffemodel")
    assert done.code == 0
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["lenet.caffemodel", "lenet.prototxt"]
    content = (tmp_path / "lenet.caffemodel").read_bytes()
    for array in read_weights().parameters.values():
        assert array.tobytes() in content


def test_a_model_replaces_only_its_like(run, refused, tmp_path):
    mine = tmp_path / "lenet.prototxt"
    mine.write_text("my notes")
    assert "of another kind" in refused("export", "caffe", "-o", tmp_path / "lenet")
    assert [mine.read_text(), *tmp_path.iterdir()] == ["my notes", mine]
    mine.write_text("")
    for _ in range(2):
        assert run("export", "caffe", "-o", mine).code == 0


def test_a_wrong_place_is_refused(refused, tmp_path):
    """`lenet.v2` is no order to replace lenet.caffemodel."""
    assert "lenet.v2" in refused("export", "caffe", "-o", tmp_path / "lenet.v2")
    assert "ends in .onnx" in refused("export", "onnx", "-o", tmp_path / "lenet.tflite")
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").touch()
    said = refused("export", "caffe", "-o", tmp_path / "file" / "lenet")
    assert f"cannot be written: {tmp_path / 'file'} is no folder" in said


def test_several_files_are_not_written_beside_a_pipe(refused, tmp_path):
    pipe = tmp_path / "lenet"
    os.mkfifo(pipe)
    assert "2 files" in refused("export", "caffe", "-o", pipe)
    assert [*tmp_path.iterdir()] == [pipe]
