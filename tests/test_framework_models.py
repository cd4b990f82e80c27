"""`compare --model` with a model of Keras' or TensorFlow's: its own calls, and converted."""

import ast
import json
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lenet_bench.errors import LenetBenchError, Unavailable
from lenet_bench.measure.comparison import compare
from lenet_bench.measure.options import CompareOptions, Entry
from lenet_bench.measure.start import Start
from lenet_bench.models.callers import CALLERS, GIVEN
from lenet_bench.models.programs import program
from lenet_bench.registry import usable_cores
from lenet_bench.results import read_result
from lenet_bench.show.comparison import render
from lenet_bench.subjects import framework_model
from lenet_bench.subjects.arbiter import distance
from lenet_bench.subjects.formats import own_model
from lenet_bench.weights import Weights
from onnx_models import FLOAT, array, make, saved
from processes import python
from test_model_types import known_of

pytest.importorskip("keras")
pytest.importorskip("tensorflow")
pytest.importorskip("tf2onnx")

#: Run in a process of its own, so that the tests' process imports no framework.
MAKE = """
import sys

import keras
from keras import layers

folder = sys.argv[1]
keras.utils.set_random_seed(0)
image = [keras.Input((12, 12, 1)), layers.Conv2D(4, 3, activation="relu")]
image += [layers.BatchNormalization(), layers.Flatten(), layers.Dense(5, activation="softmax")]
small = keras.Sequential(image)
small.save(f"{folder}/small.keras")
small.save(f"{folder}/small.h5")
small.export(f"{folder}/saved", verbose=False)

a, b = keras.Input((8,), name="b"), keras.Input((4,), name="a")
both = layers.Concatenate()([layers.Dense(5)(a), b])
several = keras.Model([a, b], [layers.Dense(3, name="z")(both), layers.Dense(2, name="y")(both)])
several.save(f"{folder}/several.keras")
several.export(f"{folder}/several", verbose=False)
ends = [keras.Input((3,), name="zz"), keras.Input((3,), name="aa")]
apart = keras.Model(ends, layers.Subtract()(ends))
apart.save(f"{folder}/apart.keras")
apart.export(f"{folder}/apart", verbose=False)
scores, boxes = layers.Dense(3)(both), layers.Dense(2)(both)
keras.Model({"b": a, "a": b}, {"scores": scores, "box2": boxes}).save(f"{folder}/named.keras")

import tensorflow as tf

kernel = tf.random.stateless_normal((3, 3, 2, 6), seed=(0, 0))
scaled = tf.function(
    lambda x, scale: (seen := tf.nn.conv2d(x, kernel, 1, "SAME"), seen * scale),
    input_signature=[tf.TensorSpec((None, None, 6, 2), name="x"), tf.TensorSpec((), name="scale")],
)
converter = tf.lite.TFLiteConverter.from_concrete_functions([scaled.get_concrete_function()])
open(f"{folder}/open.tflite", "wb").write(converter.convert())

module = tf.Module()
call = tf.function(lambda x: {"y": x + 1}, input_signature=[tf.TensorSpec((1, 4), name="x")])
tf.saved_model.save(module, f"{folder}/signed", {"mine": call})

scaled = [keras.Input((4,)), layers.Normalization(mean=[1.0] * 4, variance=[2.0] * 4)]
keras.Sequential([*scaled, layers.Dense(2)]).save(f"{folder}/scaled.keras")


class Mine(layers.Layer):
    def call(self, x):
        return x + 1


keras.Sequential([keras.Input((4,)), Mine()]).save(f"{folder}/custom.keras")
keras.Sequential([keras.Input((4,)), layers.Lambda(lambda x: x + 1)]).save(f"{folder}/lambda.keras")
"""

UNNAMED = """
import keras
from keras import layers

def get_model():
    return keras.Sequential([keras.Input((6,)), layers.Dense(3)])
"""

KERAS = ("keras", "keras:predict_on_batch", "keras:call", "keras:function")
TENSORFLOW = ("tensorflow", *(f"tensorflow:{n}" for n in ("function", "xla", "concrete")))
SESSION = "tensorflow:session"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("own")
    python(MAKE, made)
    kernel = array(np.random.default_rng(0).standard_normal((6, 2, 3, 3), np.float32), "kernel")
    nodes = [
        make("MaxPool", ["x"], ["largest"], kernel_shape=[1, 2], strides=[1, 2]),
        make("Conv", ["largest", "kernel"], ["seen"], pads=[1, 1, 1, 1]),
        make("Mul", ["seen", "scale"], ["y"]),
    ]
    ends = {"x": (FLOAT, ["n", 2, "h", 6]), "scale": (FLOAT, []), "seen": (FLOAT, None)}
    saved(made / "open.onnx", nodes, {**ends, "y": (FLOAT, None)}, kernel, opset=8)
    return made


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def measured(file, *names, **more):
    told = []
    options = CompareOptions(names, subject=own_model(file), rounds=1, timeout_s=600, **more)
    return compare(options, lambda progress: told.append(progress.doing)), told


def installed(*names):
    """Those of the engines whose package is here."""
    packages = {"litert": "ai_edge_litert", "openvino": "openvino", "opencv": "cv2"}
    return [name for name in names if not packages.get(name) or has(packages[name])]


def has(package):
    from importlib.util import find_spec

    return find_spec(package) is not None


def test_a_keras_file_runs_on_its_calls_and_converted(folder, tmp_path):
    engines = installed("onnxruntime", "litert", "openvino", "opencv")
    output = tmp_path / "run.jsonl"
    result, told = measured(folder / "small.keras", *KERAS, *engines, output=output)
    found = {row.name: row for row in result.backends}
    assert {name: row.reason for name, row in found.items() if row.status != "ok"} == {}
    assert all(row.difference < 1e-5 for row in found.values())
    assert result.rules.placed.arbiter == "Keras in float64"
    assert result.rules.placed.parameters == 2061
    assert "converting small.keras to ONNX" in told
    for name, row in found.items():
        is_converted = name in engines
        assert (row.conversion_s is not None) == is_converted
        assert (row.file_mib is not None) == is_converted
    assert read_result(output).backend("onnxruntime").conversion_s

    text = render(result)
    assert "2,061 parameters" in text
    assert "converting" in text
    assert "Replace `model.predict(x)` by `" in text
    assert "The fastest of all: " in text
    assert "off by" in text


def test_a_first_dimension_is_a_batch_of_the_frameworks_calls(folder):
    """What is converted has one size, and says so."""
    result, _ = measured(
        folder / "several.keras", "keras:predict_on_batch", "onnxruntime", batches=(4,)
    )
    own, engine = map(result.backend, ("keras:predict_on_batch", "onnxruntime"))
    assert own.status == engine.status == "ok"
    assert [batch.size for batch in own.batches] == [4]
    assert own.batches[0].images_per_s > 0
    assert "dimension" in engine.batch_refusals["4"]


def test_a_conversion_is_kept_and_not_made_again(folder):
    first, told = measured(folder / "small.h5", "onnxruntime")
    assert "converting small.h5 to ONNX" in told
    again, _ = measured(folder / "small.h5", "onnxruntime")
    took = [run.backend("onnxruntime").conversion_s for run in (first, again)]
    assert took[0]
    assert took[0] == took[1]


def test_a_file_with_other_inputs_than_the_models_costs_its_engine(folder):
    """Keras' export to ONNX makes inputs of a normalisation's constants."""
    result, _ = measured(folder / "scaled.keras", "keras:predict_on_batch", "onnxruntime")
    own, engine = map(result.backend, ("keras:predict_on_batch", "onnxruntime"))
    assert own.status == "ok"
    assert engine.status == "unsupported"
    assert engine.reason.startswith("its converter made a file with 3 inputs (input_layer")
    assert engine.reason.endswith("where the model has 1")


def test_openvino_converts_a_keras_model_whose_input_has_no_name(tmp_path):
    pytest.importorskip("openvino")
    file = tmp_path / "model.py"
    file.write_text(UNNAMED)
    result, _ = measured(file, "openvino")
    assert result.backend("openvino").reason is None
    run_lines(own_model(file).program("openvino", 1), tmp_path)


@pytest.mark.parametrize(
    ("absent", "reason"),
    [
        (("tensorflow",), None),
        (
            ("tensorflow", "torch"),
            "its conversion to OpenVINO's form needs tensorflow; fix it with: "
            "pip install 'lenet-bench[keras]'",
        ),
    ],
)
def test_openvino_converts_a_keras_model_without_tensorflow(
    folder, tmp_path, monkeypatch, absent, reason
):
    """On PyTorch; on JAX, Keras' conversion is TensorFlow's."""
    for package in ("openvino", "torch", "jax"):
        pytest.importorskip(package)
    for module in absent:
        missing = f"raise ModuleNotFoundError('absent', name={module!r})"
        (tmp_path / f"{module}.py").write_text(missing)
        for package in (module, f"{module}_cpu"):
            (tmp_path / f"{package}-1.dist-info").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    for file in ("small.keras", "several.keras"):
        row = measured(folder / file, "openvino")[0].backend("openvino")
        assert row.reason == reason
        assert reason or row.difference < 1e-5


def test_openvino_reads_what_it_converted_in_float32(folder):
    pytest.importorskip("openvino")
    rows = ("openvino", "openvino:tensors")
    result, told = measured(folder / "several.keras", *rows)
    assert {row.name: row.reason for row in result.backends if row.status != "ok"} == {}
    assert all(row.difference < 1e-5 for row in result.backends)
    assert [one for one in told if one.startswith("converting")] == [
        "converting several.keras to OpenVINO's form"
    ]
    weights = 4 * result.rules.placed.parameters
    assert all(row.file_mib * 2**20 > weights for row in result.backends)
    again, _ = measured(folder / "several.keras", "openvino")
    assert again.backend("openvino").status == "ok"
    assert again.backend("openvino").conversion_s == result.backend("openvino").conversion_s


@pytest.mark.slow
@pytest.mark.parametrize(("name", "order"), [("several", ["b", "a"]), ("named", ["a", "b"])])
def test_inputs_and_outputs_keep_their_places(folder, name, order):
    """Whose names are in another order than the alphabet's."""
    engines = installed("onnxruntime", "litert", "openvino")
    result, _ = measured(folder / f"{name}.keras", *KERAS, *engines)
    assert [(row.name, row.reason) for row in result.backends if row.status != "ok"] == []
    assert list(result.rules.placed.inputs) == order


@pytest.mark.slow
@pytest.mark.parametrize("name", ["saved", "several"])
def test_a_saved_model_runs_on_tensorflows_calls_and_converted(folder, name):
    engines = installed("onnxruntime", "litert", "openvino")
    result, _ = measured(folder / name, *TENSORFLOW, SESSION, *engines)
    failed = {row.name: row.reason for row in result.backends if row.status != "ok"}
    several = {SESSION: f"{SESSION} is asked of a model with one input and one output"}
    assert failed == (several if name == "several" else {})
    assert "TensorFlow" in result.rules.placed.arbiter


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("custom.keras", None, "it has the class Mine, which Keras does not know; give it in a "),
        ("lambda.keras", None, "Requested the deserialization of a `Lambda` layer"),
        ("none.keras", b"hello", "it is no file that Keras can load"),
        ("absent.keras", None, "no such file"),
        ("own.pt", b"\x80\x02}q\x00.", "is a pickle, which runs code of its own"),
        ("own.bin", b"hello", "is no model that can be measured: expected .onnx"),
    ],
)
def test_what_is_no_model_is_refused_in_a_sentence(run, folder, tmp_path, name, content, sentence):
    file = folder / name
    if content:
        file = tmp_path / name
        file.write_bytes(content)
    done = run("compare", "--model", str(file), "keras", "-o", str(tmp_path / "o.jsonl"))
    assert done.code == 1
    assert sentence in " ".join(done.errors.split())
    assert "Traceback" not in done.errors


def test_a_converter_that_does_not_end_costs_its_rows_only(folder, monkeypatch):
    monkeypatch.setattr(framework_model, "_CONVERT_S", 0.0)
    shapes = {"input_layer": (3, 12, 12, 1)}  # which no other test converts
    subject = own_model(folder / "small.keras", shapes)
    options = CompareOptions(("keras:predict_on_batch", "onnxruntime"), subject=subject, rounds=1)
    result = compare(options)
    assert result.backend("keras:predict_on_batch").status == "ok"
    refused = result.backend("onnxruntime")
    assert refused.status == "unsupported"
    assert str(refused.reason).startswith("its conversion to ONNX failed: ")


def test_an_engine_that_reads_no_such_file_is_refused(folder):
    with pytest.raises(LenetBenchError, match="no Keras file is read by fused, but by keras"):
        measured(folder / "small.keras", "fused")


def test_an_engine_that_is_not_installed_is_not_said_to_take_no_such_file(folder, monkeypatch):
    monkeypatch.setattr("lenet_bench.registry.building.installed_version", lambda _: None)
    with pytest.raises(Unavailable, match="onnxruntime is not installed"):
        own_model(folder / "small.keras").build("onnxruntime", 1, Weights({}), None)


PROGRAMS = [*KERAS, *TENSORFLOW, SESSION, "keras-jax", "keras-jax:jit", "keras-torch:call"]
PROGRAMS += ["keras-torch:compile", "keras-openvino", "onnxruntime", "onnxruntime:iobinding"]
PROGRAMS += ["onnxruntime:extended", "openvino", "openvino:tensors", "opencv", "mnn", "mnn:direct"]
PROGRAMS += ["mnn:module", "tract", "tvm", "iree", "litert", "litert:compiled", "tflite-micro"]
PACKAGES = {
    "keras-jax": "jax",
    "keras-torch": "torch",
    "keras-openvino": "openvino",
    "openvino": "openvino",
    "opencv": "cv2",
    "mnn": "MNN",
    "litert": "ai_edge_litert",
    "tflite-micro": "tflite_micro",
    **{name: name for name in ("tract", "tvm", "iree")},
}


def test_every_row_has_a_program(folder):
    readers = {*own_model(folder / "small.keras").readers, *own_model(folder / "saved").readers}
    assert readers - {*PROGRAMS} <= {
        "keras-openvino:predict_on_batch",
        "keras-openvino:call",
        "keras-jax:predict_on_batch",
        "keras-jax:call",
        "keras-torch",
        "keras-torch:predict_on_batch",
    }  # whose lines are those of others


def needs(name):
    """Skip where what this backend calls is not installed."""
    if package := PACKAGES.get(name) or PACKAGES.get(name.partition(":")[0]):
        pytest.importorskip(package)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "file"),
    [(name, "saved" if name.startswith("tensorflow") else "small.keras") for name in PROGRAMS]
    + [("openvino", name) for name in ("saved", "several", "several.keras")],
)
def test_the_lines_to_copy_run(folder, tmp_path, monkeypatch, name, file):
    """Whatever Keras has below it where they are run."""
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    needs(name)
    run_lines(own_model(folder / file).program(name, 1), tmp_path)


#: After the lines that make the inputs, and after the last.
FILLED = """
for name, array in np.load("given.npz").items():
    assert x[name].shape == array.shape
    x[name][...] = array
"""
ANSWERED = """
from collections.abc import Mapping

def arrays(one):
    if isinstance(one, Mapping):
        one = [*one.values()]
    if hasattr(one, "dtype"):
        return [np.asarray(one.numpy() if hasattr(one, "numpy") else one)]
    return [array for each in one for array in arrays(each)]

np.savez("answers.npz", *arrays(y))
"""
KNOWN: dict[str, Any] = {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "suffix"), [(name, suffix) for suffix in GIVEN for name in CALLERS[suffix]]
)
def test_the_lines_give_open_sizes_what_is_timed(folder, tmp_path, name, suffix):
    """Of a file that engines read as it is; TFLite Micro takes no other sizes than the file's."""
    needs(name)
    shape = (2, 2, 7, 6) if suffix == ".onnx" else (2, 7, 6, 2)
    shapes = {} if name == "tflite-micro" else {"x": shape}
    own = own_model(folder / f"open{suffix}", shapes)
    if repr(own) not in KNOWN:  # all of a file's backends, so that voices are heard once
        names = tuple(filter(own.is_read_by, PROGRAMS))
        KNOWN[repr(own)] = known_of(CompareOptions(names, subject=own, seed=0))
    same, known = KNOWN[repr(own)]
    inputs = known.rotating.inputs[:1]
    with closing(Start(Entry.of_backend(name, 1), same, known.subject)) as start:
        start.build(inputs)
        (timed,) = start.answers(inputs)
    np.savez(tmp_path / "given.npz", **inputs[0])
    lines = re.sub("^x = .*$", lambda x: x[0] + FILLED, own.program(name, 1), flags=re.MULTILINE)
    python(lines + ANSWERED, cwd=tmp_path)
    found = [*np.load(tmp_path / "answers.npz").values()]
    assert len(found) == len(timed)
    for output in timed:  # named outputs may have another order
        assert min(distance([one], [output]) for one in found) < 1e-3


@pytest.mark.slow
def test_the_lines_convert_as_the_run_does_where_tensorflow_is_absent(
    folder, tmp_path, monkeypatch
):
    for package in ("torch", "openvino"):
        pytest.importorskip(package)
    monkeypatch.setattr(
        "lenet_bench.subjects.framework_model.is_installed", lambda row: row.name == "keras-torch"
    )
    text = own_model(folder / "small.keras").program("openvino", 1)
    assert "tensorflow" not in text
    run_lines(text, tmp_path)


def run_lines(text, folder):
    code = f"{text}\nimport json\nprint(json.dumps({{'y': str(type(y))}}))"
    done = python(code, cwd=folder)
    assert json.loads(done.stdout.splitlines()[-1])["y"]


MODULE = """
import torch


def get_model():
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 3))


def get_args():
    return (torch.zeros(1, 3, 4),)
"""
FUNCTION = """
import jax.numpy as jnp
import numpy as np


def get_model():
    return jnp.tanh


def get_args():
    return (np.zeros((1, 4), np.float32),)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("framework", "name"),
    [("torch", name) for name in ("torch", "torch:contiguous", "torch:compile", "torch:export")]
    + [("torch", name) for name in ("torch:autotuned", "torch:torchscript", "onnxruntime")]
    + [("torch", "openvino"), ("torch", "executorch"), ("jax", "jax"), ("jax", "jax:aot")],
)
def test_the_lines_of_a_model_py_run(tmp_path, framework, name):
    pytest.importorskip(framework)
    if name in ("openvino", "executorch"):
        pytest.importorskip(name)
    model = tmp_path / "own.py"
    model.write_text(MODULE if framework == "torch" else FUNCTION)
    run_lines(own_model(model).program(name, 1), tmp_path)


SWAPPED = """
import torch


class Model(torch.nn.Module):
    def forward(self, q, k, *, scale=1):
        return q - scale * k


def get_model():
    return Model()


def get_args():
    return {"k": torch.ones(1, 8), "q": torch.ones(1, 8), SCALE}
"""
SWAPPED_OF_JAX = """
import jax
import numpy as np


def get_model():
    return lambda q, k: q - 2 * k


def get_args():
    return {"k": np.ones((1, 8)), "q": np.ones((1, 8))}
"""


@pytest.mark.parametrize(
    ("code", "name"),
    [(SWAPPED.replace("SCALE", '"scale": torch.ones(1, 8)'), "torch:contiguous")]
    + [(SWAPPED.replace("SCALE", ""), name) for name in ("torch:torchscript", "onnxruntime")]
    + [(SWAPPED_OF_JAX, "jax:aot")],
)
def test_the_lines_give_inputs_by_name_that_are_not_the_first(tmp_path, code, name):
    """Of zeros for q and ones for k a place would make zeros and ones."""
    for package in ("torch", "jax", "onnxscript"):
        pytest.importorskip(package)
    (tmp_path / "own.py").write_text(code)
    text = own_model(tmp_path / "own.py").program(name, 1)
    ones = text.replace('"q": np.zeros', '"q": np.ones')
    run_lines(f"{ones}\nassert np.asarray(y).max() == 1", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "file"), [("tract", "apart.keras"), ("iree", "apart.keras"), (SESSION, "apart")]
)
def test_the_lines_give_inputs_in_the_order_of_the_file(folder, tmp_path, name, file):
    """By name, not in the model's own order: zz - aa."""
    needs(name)
    text = own_model(folder / file).program(name, 1)
    ones = text.replace('"zz": np.zeros', '"zz": np.ones')
    assert ones != text
    run_lines(f"{ones}\nassert [*np.ravel(y[0])] == [1, 1, 1], y", tmp_path)


@pytest.mark.parametrize("name", ["tensorflow", "tensorflow:session"])
def test_the_lines_have_the_name_of_the_only_signature(folder, tmp_path, name):
    run_lines(own_model(folder / "signed").program(name, 1), tmp_path)


def test_a_result_has_the_name_of_the_signature_that_was_timed(folder):
    needs("tensorflow")
    result, _ = measured(folder / "signed", "tensorflow:function")
    assert result.rules.placed.signature == "mine"


def test_the_lines_of_a_session_have_what_is_timed(folder, tmp_path):
    """Constants for variables, computed in the thread that calls."""
    text = own_model(folder / "saved").program(SESSION, 1)
    assert "RunOptions(inter_op_thread_pool=-1)" in text
    kinds = "{one.type for one in session.graph.get_operations()}"
    run_lines(f"{text}\nassert 'VarHandleOp' not in {kinds}", tmp_path)


@pytest.mark.parametrize("name", ["torch", "torch:autotuned", "torch:compile", "torch:torchscript"])
def test_the_lines_of_a_module_have_the_layout_that_is_timed(tmp_path, name):
    """As backends/torch.py loads it."""
    pytest.importorskip("torch")
    (tmp_path / "own.py").write_text(MODULE)
    text = own_model(tmp_path / "own.py").program(name, 1)
    assert "get_model().eval().to(memory_format=torch.channels_last)\n" in text


@pytest.mark.parametrize("name", ["my-model", "class"])
def test_the_lines_import_a_file_whose_name_is_no_identifier(tmp_path, name):
    pytest.importorskip("jax")
    (tmp_path / f"{name}.py").write_text(FUNCTION)
    run_lines(own_model(tmp_path / f"{name}.py").program("jax", 1), tmp_path)


@pytest.mark.parametrize("function", ["FILE", "to_FILE", "NAME"])
def test_the_lines_call_a_function_of_any_name(function):
    text = program("torch", "torch model.py", f"own.py:{function}", {"x": ("float32", (1, 3))}, 1)
    assert f"from own import {function}\n" in (text or "")
    assert f" {function}().eval()" in (text or "")


@pytest.mark.parametrize(
    ("name", "kind"),
    [("jax", "jax model.py"), ("jax:aot", "jax model.py"), ("keras-jax:jit", "keras")],
)
def test_the_lines_turn_jaxs_dispatch_off_before_the_model_is_made(name, kind):
    """JAX reads it once, when it first computes."""
    text = program(name, kind, "own", {"x": ("float32", (1, 3))}, 1)
    assert text
    _, _, after = text.partition('\njax.config.update("jax_cpu_enable_async_dispatch", False)')
    assert "get_model()" in after or "load_model(" in after


@pytest.mark.parametrize(
    ("name", "kind", "line"),
    [
        ("torch:compile", "torch model.py", "torch.set_num_threads(2)\n"),
        ("keras-torch", "keras", "torch.set_num_threads(2)\n"),
        ("keras-torch:call", "keras", '"KERAS_BACKEND": "torch", '),
        ("keras:function", "keras", '"TF_NUM_INTRAOP_THREADS": "2", '),
        ("tensorflow", "tensorflow", '"TF_NUM_INTRAOP_THREADS": "2", '),
        ("jax", "jax model.py", '"NPROC": "2"'),
        ("iree", ".onnx", '"--task_topology_group_count=2"'),
        ("iree", ".onnx", 'driver="local-task"'),
    ],
)
def test_the_lines_set_the_threads_that_are_timed(name, kind, line):
    def lines(threads):
        return program(name, kind, "own", {"x": ("float32", (1, 3))}, threads)

    assert lines(2).count(line) == 1
    assert "_threads" not in lines(0).lower()


@pytest.mark.parametrize(
    ("name", "kind", "line"),
    [
        ("litert", ".tflite", "num_threads=1)"),
        ("mnn", ".onnx", '"numThread": 4,'),
        ("openvino", ".onnx", '"INFERENCE_NUM_THREADS": 0,'),
        ("opencv", ".onnx", f"cv2.setNumThreads({usable_cores()})"),
        ("iree", ".onnx", f'"--task_topology_group_count={usable_cores()}"'),
    ],
)
def test_the_lines_without_a_number_have_the_threads_of_their_api(name, kind, line):
    assert line in (program(name, kind, "own", {"x": ("float32", (1, 3))}, 0) or "")


@pytest.mark.parametrize(
    ("name", "kind", "suffix"),
    [(name, kind, "") for kind in GIVEN for name in CALLERS[kind]]
    + [(name, "keras", "") for name in KERAS]
    + [(name, "tensorflow", "") for name in TENSORFLOW]
    + [("torch:export", "torch model.py", ""), ("litert", "keras", ".tflite")]
    + [("onnxruntime", "tensorflow", ".onnx"), ("openvino", "keras", ".xml")],
)
def test_a_name_with_a_quote_is_one_in_the_lines(name, kind, suffix):
    odd, form = 'the "x\\', ("float32", (1, 3))
    about = {"taken": ((), {odd: odd})} if kind == "torch model.py" else {"signature": odd}
    text = program(name, kind, "own", {odd: form, "other": form}, 1, suffix, about)
    tree = ast.walk(ast.parse(text or ""))
    assert any(odd in str(one.value) for one in tree if isinstance(one, ast.Constant))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("iree", '"--iree-[^"]+"'),
        ("tvm", '"(?:mcpu|fast-[a-z-]+)":'),
        ("openvino", '"[A-Z_]+":'),
        ("litert:compiled", "CpuOptions.num_threads="),
    ],
)
def test_the_lines_have_the_options_that_are_timed(name, options):
    file = f"{name.partition(':')[0]}.py"
    source = Path(framework_model.__file__).parents[1] / "backends" / file
    text = program(name, ".onnx", "own", {"x": ("float32", (1, 3))}, 1) or ""
    assert set() < {*re.findall(options, source.read_text())} <= {*re.findall(options, text)}


def test_the_command_prints_the_lines(run, folder):
    model = str(folder / "small.keras")
    done = run("compare", "--model", model, "--code", "keras:predict_on_batch")
    assert done.code == 0
    assert done.output.endswith("\ny = model.predict_on_batch(x)\n\n")
    assert f"keras.models.load_model({model!r})" in done.output


def test_the_page_has_the_lines(folder, tmp_path):
    pytest.importorskip("jinja2")
    from lenet_bench.show.page import write_report

    result, _ = measured(folder / "small.keras", "keras:predict_on_batch", "onnxruntime")
    page = tmp_path / "page.html"
    write_report({"run.jsonl": result}, page)
    text = page.read_text()
    assert "The lines that load this model with each backend" in text
    assert "predict_on_batch" in text
    assert "small.keras" in text
    assert np.isfinite(result.backend("onnxruntime").p50_us)
    assert Path(page).stat().st_size > 1000
