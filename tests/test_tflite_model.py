"""`compare --model` with TFLite files, and on engines that only the frameworks' environment has."""

import pytest
from lenet_bench.models.callers import CALLERS
from lenet_bench.registry import find, is_installed
from processes import python
from test_model import measured_as, one_round

litert = pytest.importorskip("ai_edge_litert.interpreter")


@pytest.mark.parametrize("name", ["own.bin", "own.onnx"])
def test_a_tflite_file_is_known_by_its_content(run, tmp_path, name):
    run("export", "tflite", "-o", tmp_path / "own.tflite")
    file = (tmp_path / "own.tflite").rename(tmp_path / name)
    able = [one for one in CALLERS[".tflite"] if is_installed(find(one)[0])]
    assert measured_as(run, file, *able) == dict.fromkeys(able, "ok")
    done = run("compare", "--model", file, "--code", "openvino")
    assert f'shutil.copy({str(file)!r}, "model.tflite")' in done.output
    assert "read_model('model.tflite')" in done.output


REFUSING = """
import lenet_bench.models.callers as callers
def refuses(model, threads):
    raise RuntimeError("it does not like it")
readers = callers.CALLERS[".tflite"]
readers.update(dict.fromkeys([name for name in readers if name != "tflite-micro"], refuses))
"""


def test_who_answers_in_place_of_its_kin_is_named(monkeypatch, run, tmp_path):
    """TFLite Micro, which is one voice with LiteRT."""
    pytest.importorskip("tflite_micro")
    run("export", "tflite", "-o", tmp_path / "own.tflite")
    (tmp_path / "sitecustomize.py").write_text(REFUSING)
    monkeypatch.syspath_prepend(tmp_path)  # where children import from
    result = one_round(tmp_path / "own.tflite", "tflite-micro")
    assert result.rules.placed.arbiter == "tflite-micro, the only engine that answers"


def test_a_damaged_tflite_file_is_one_sentence(run, refused, tmp_path):
    """Cut, with a name that is no text, and of another kind."""
    file = tmp_path / "mine.tflite"
    run("export", "tflite", "-o", file)
    whole = file.read_bytes()
    name = litert.Interpreter(str(file)).get_tensor_details()[0]["name"].encode()
    damaged = (whole.replace(name, b"\xff" + name[1:]), whole[: len(whole) // 2], b"\0" * 64, b"")
    for content in damaged:
        file.write_bytes(content)
        said = refused("compare", "--model", file, "--rounds", "1", "-o", tmp_path / "r.jsonl")
        assert "mine.tflite: it cannot be read as TFLite: " in said


@pytest.mark.parametrize("engine", ["tvm", "iree", "opencv", "mnn:module"])
def test_the_lines_of_an_engine_that_goes_by_names_copy_the_file(run, tmp_path, engine):
    run("export", "onnx", "-o", tmp_path / "own.onnx")
    file = (tmp_path / "own.onnx").rename(tmp_path / "own.json")
    lines = run("compare", "--model", file, "--code", engine).output
    python(lines, cwd=tmp_path)
