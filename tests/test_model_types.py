"""Models of each type of number on each engine that reads them: the right answer, or a refusal."""

import re
import subprocess
from contextlib import closing
from functools import cache

import numpy as np
import pytest
from lenet_bench.errors import first_line
from lenet_bench.measure.comparison import compare
from lenet_bench.measure.judged import Judged, prepared
from lenet_bench.measure.options import CompareOptions, Entry
from lenet_bench.measure.start import Failed, conditions
from lenet_bench.models.callers import CALLERS, GIVEN, Model
from lenet_bench.registry import find, is_installed
from lenet_bench.subjects.model import ModelFile, unsupported
from processes import python

TYPES = ("float32", "int64", "int32", "uint8", "bool", "float16", "float64")
WEIGHTS = np.random.default_rng(0).standard_normal((8, 4)).astype(np.float32)


@pytest.fixture(scope="module")
def model_of(tmp_path_factory):
    """`model_of(".onnx", "int64")`: two inputs of any number of rows, three outputs, so typed."""
    folder = tmp_path_factory.mktemp("types")
    makers = {".onnx": onnx_model, ".tflite": tflite_model}

    @cache
    def made(suffix, kind):
        file = folder / f"{kind}{suffix}"
        makers[suffix](file, kind)
        return file

    return made


def onnx_model(file, kind):
    from onnx_models import FLOAT, array, make, onnx, saved

    number = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    nodes = [
        make("MatMul", ["x", "weights"], ["product"]),
        make("Cast", ["i"], ["as_float"], to=FLOAT),
        make("Add", ["product", "as_float"], ["sum"]),
        make("Relu", ["product"], ["not_negative"]),
        make("Greater", ["product", "zero"], ["made"])
        if kind == "bool"
        else make("Cast", ["not_negative"], ["made"], to=number),
        make("Identity", ["i"], ["same"]),
    ]
    ends = {"x": (FLOAT, ["n", 8]), "i": (number, ["n", 4]), "sum": (FLOAT, None)}
    ends |= dict.fromkeys(("made", "same"), (number, None))
    saved(file, nodes, ends, array(WEIGHTS, "weights"), array(np.float32(0), "zero"))


def tflite_model(file, kind):
    pytest.importorskip("ai_edge_litert")
    tf = pytest.importorskip("tensorflow")

    def typed(x, i):
        product = x @ WEIGHTS
        made = product > 0 if kind == "bool" else tf.cast(tf.nn.relu(product), kind)
        return product + tf.cast(i, tf.float32), made, tf.reshape(i, [-1, 2, 2])

    signature = [tf.TensorSpec([None, 8], tf.float32), tf.TensorSpec([None, 4], kind)]
    concrete = tf.function(typed, signature).get_concrete_function()
    converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete])
    file.write_bytes(converter.convert())


@pytest.fixture(scope="module")
def judged(model_of):
    """`judged(".onnx", "int64")`: the conditions, with the right answers to that model."""

    @cache
    def judge(suffix, kind):
        first = "onnxruntime" if suffix == ".onnx" else "litert"
        pytest.importorskip({"litert": "ai_edge_litert"}.get(first, first))
        file = model_of(suffix, kind)
        names = input_names(file)
        shapes = dict(zip(names, [(2, 8), (2, 4)], strict=True))
        whole = np.dtype(kind).kind in "iu"
        own = ModelFile(str(file), shapes, {names[1]: (0.0, 100.0)} if whole else {})
        options = CompareOptions((first,), subject=own, seed=0)
        return known_of(options)

    return judge


def input_names(file):
    """In the order of x and i."""
    if file.suffix == ".onnx":
        return ["x", "i"]
    from ai_edge_litert.interpreter import Interpreter

    details = Interpreter(model_path=str(file)).get_input_details()
    return [one["name"] for one in sorted(details, key=lambda one: -one["shape"][1])]


READERS = [(suffix, name) for suffix in GIVEN for name in CALLERS[suffix]]


def known_of(options):
    """The conditions of a run, and the right answers."""
    entries = options.entries()
    same = conditions(options, entries)
    return same, prepared(same, entries)


def checked(name, known):
    """What becomes of its answers: "ok", or its status and the reason."""
    same, known = known
    with closing(Judged(Entry.of_backend(name, 1), same, known)) as start:
        try:
            start.build(known.rotating.inputs)
            start.check_parity()
        except Failed as failure:
            return f"{failure.status}: {failure.reason}"
    return "ok"


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(("suffix", "name"), READERS)
def test_an_engine_answers_rightly_or_refuses(judged, suffix, name, kind):
    if not is_installed(find(name)[0]):
        pytest.skip(f"{name} is not installed")
    assert re.match("ok|unsupported: .+ does not run it: ", checked(name, judged(suffix, kind)))


@pytest.mark.parametrize("name", ["mnn", "mnn:module", "mnn:direct"])
@pytest.mark.parametrize("kind", ["int64", "bool", "float16", "float64"])
def test_mnn_gets_the_type_that_it_takes(judged, name, kind):
    pytest.importorskip("MNN")
    assert checked(name, judged(".onnx", kind)) == "ok"


@pytest.mark.parametrize("kind", ["uint8", "float64"])
def test_iree_takes_and_gives_the_types_of_the_model(judged, kind):
    pytest.importorskip("iree.compiler")
    assert checked("iree", judged(".onnx", kind)) == "ok"


def test_the_evaluator_of_onnx_is_not_asked_about_a_tflite_file(model_of):
    pytest.importorskip("ai_edge_litert")
    told: list[str] = []
    own = ModelFile(str(model_of(".tflite", "float32")))
    options = CompareOptions(("litert",), subject=own, seed=0)
    entries = options.entries()
    prepared(conditions(options, entries), entries, told.append)
    assert any("asking litert" in one for one in told)
    assert not any("ONNX" in one for one in told)


def without_outputs(file):
    from ai_edge_litert import schema_py_generated as schema
    from flatbuffers import Builder

    model = schema.ModelT.InitFromObj(schema.Model.GetRootAsModel(file.read_bytes(), 0))
    model.subgraphs[0].outputs = []
    builder = Builder(0)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def test_litert_is_quoted_without_places_in_its_sources(model_of, tmp_path):
    pytest.importorskip("ai_edge_litert.compiled_model")
    whole, damaged = model_of(".tflite", "float32"), tmp_path / "damaged.tflite"
    damaged.write_bytes(without_outputs(whole))
    wide = dict.fromkeys(input_names(whole), np.zeros((2, 99), np.float32))
    for file, inputs, said in (
        (damaged, {}, "CompiledModel error: code=1"),
        (whole, wide, "CompiledModel error: code=1, message=New shape is not compatible with "),
    ):
        with pytest.raises(RuntimeError) as caught:
            CALLERS[".tflite"]["litert:compiled"](Model(file, file, inputs, ()), 1)
        line = first_line(caught.value)
        assert line.startswith(said)
        assert "ERROR" not in line
        reason = str(unsupported(find("litert:compiled")[0], caught.value))
        assert reason == f"LiteRT does not run it: {line.removesuffix('.')}"


def test_a_program_that_failed_is_quoted_from_its_end():
    printed = "\n".join(["the converter's banner " * 20, "more", "LSTM:", "no such", "operator"])
    error = subprocess.CalledProcessError(1, "convert", printed.encode())
    said = str(unsupported(find("mnn")[0], error))
    assert said == "MNN does not run it: LSTM: no such operator"


def one_layer(file, kind, opset=17, **more):
    from onnx_models import FLOAT, make, saved

    ends = {"x": (FLOAT, [1, 1, 4, 4]), "y": (FLOAT, None)}
    return ModelFile(str(saved(file, [make(kind, ["x"], ["y"], **more)], ends, opset=opset)))


@pytest.mark.parametrize(("opset", "more"), [(8, {}), (17, {"auto_pad": "SAME_UPPER"})])
def test_iree_takes_what_its_compiler_takes_only_otherwise(tmp_path, opset, more):
    """MaxPool of before opset 10; and padded, where float64 is not read as float32."""
    pytest.importorskip("iree.compiler")
    model = one_layer(tmp_path / "own.onnx", "MaxPool", opset, kernel_shape=[2, 2], **more)
    options = CompareOptions(("iree",), subject=model, seed=0)
    assert checked("iree", known_of(options)) == "ok"


def test_a_reason_that_is_only_printed_is_told(model_of):
    """Of TFLite Micro, whose error says that it failed, and no more."""
    pytest.importorskip("tflite_micro")
    options = CompareOptions(
        ("tflite-micro",), rounds=1, subject=ModelFile(str(model_of(".tflite", "float16")))
    )
    reason = str(compare(options).backend("tflite-micro").reason)
    assert reason.startswith(
        "TFLite Micro does not run it: Interpreter invocation failed; it printed: "
    )
    assert "CAST" in reason


@pytest.mark.parametrize("name", ["mnn", "mnn:module"])
def test_the_operator_that_mnn_lacks_is_named(tmp_path, name):
    pytest.importorskip("MNN")
    model = one_layer(tmp_path / "own.onnx", "Frobnicate")
    options = CompareOptions((name,), subject=model, seed=0)
    said = checked(name, known_of(options))
    assert said.startswith("unsupported: MNN does not run it: ")
    assert "These Op Not Support: ONNX::Frobnicate" in said


def test_mnn_refuses_numbers_that_its_type_does_not_hold(model_of):
    pytest.importorskip("MNN")
    own = ModelFile(str(model_of(".onnx", "int64")), {}, {"i": (2.0**40, 2.0**41)})
    options = CompareOptions(("mnn",), subject=own, seed=0)
    said = checked("mnn", known_of(options))
    assert "it takes i as int32, which does not hold its numbers" in said


MNN = """
from types import SimpleNamespace as Names

Halide_Type_Float, Halide_Type_Int, Halide_Type_Uint8, Tensor_DimensionType_Caffe = range(4)


def check(array):
    assert array.dtype == "int32"


def Tensor(shape, kind, array, layout):
    return array


def Interpreter(_):
    taken = Names(getDataType=lambda: Halide_Type_Int, copyFrom=check)
    called = dict.fromkeys(("createSession", "runSession", "resizeTensor", "resizeSession"), print)
    called["getSessionInput"] = lambda *_: taken
    return Names(**called, getSessionOutputAll=lambda _: {})


loaded = Names(
    get_info=lambda: {"inputs": [Names(dtype=1)]},
    onForward=lambda given: [*map(check, given)][:0],
)
nn = Names(create_runtime_manager=print, load_module_from_file=lambda *_, **more: loaded)
expr = Names(float=0, int=1, uint8=2, NCHW=3, const=lambda array, *_: array)
"""


@pytest.mark.parametrize("name", ["mnn", "mnn:module"])
def test_the_lines_give_mnn_the_type_that_it_takes(model_of, tmp_path, name):
    """MNN, which takes int32 here, and its converter stand aside."""
    (tmp_path / "MNN.py").write_text(MNN)
    (tmp_path / "_tools.py").write_text("mnnconvert = print")
    text = ModelFile(str(model_of(".onnx", "int64"))).program(name, 1)
    python(text, cwd=tmp_path)
