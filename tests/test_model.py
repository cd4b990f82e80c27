"""`compare --model`: a model file of the user's own in LeNet's place."""

import json
import os
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lenet_bench.errors import LenetBenchError
from lenet_bench.measure.comparison import compare
from lenet_bench.measure.options import CompareOptions
from lenet_bench.models.callers import CALLERS
from lenet_bench.models.reader import check_memory, read_model
from lenet_bench.registry import building, every_name
from lenet_bench.results import read_result
from lenet_bench.subjects import model as model_subject
from lenet_bench.subjects.arbiter import _KIN, REFERENCE, _verdict, _Voice, distance
from lenet_bench.subjects.model import ModelFile
from onnx_models import BOOL, FLOAT, INT64, array, make, onnx, saved, value

pytest.importorskip("onnxruntime")
Y = (FLOAT, None)


def weights(fill=0.0):
    random = np.random.default_rng(0).standard_normal((8, 4)).astype(np.float32)
    return array(random + np.float32(fill), "w")


def product(file, **more):
    """One layer, for any number of rows."""
    node = make("MatMul", ["x", "w"], ["y"])
    return saved(file, [node], {"x": (FLOAT, ["rows", 8]), "y": Y}, weights(), **more)


def stateful(file):
    """As Silero's voice detector: a sampling rate that chooses, and a state that is given back."""
    nodes = [
        make("Gather", ["table", "rate"], ["factor"]),
        make("MatMul", ["x", "w"], ["seen"]),
        make("Add", ["seen", "state"], ["sum"]),
        make("Tanh", ["sum"], ["next"]),
        make("Mul", ["next", "factor"], ["y"]),
    ]
    table = array(np.arange(1, 11, dtype=np.float32), "table")
    ends = {"x": (FLOAT, [1, 8]), "state": (FLOAT, [1, 4]), "rate": (INT64, [])}
    return saved(file, nodes, {**ends, "y": Y, "next": Y}, weights(), table)


def one_layer(kind, inputs, shape, *constants):
    """A function that writes a model of one layer."""

    def write(file):
        node = make(kind, inputs, ["y"])
        return saved(file, [node], {"x": (FLOAT, shape), "y": Y}, *constants)

    return write


unknown = one_layer("Frobnicate", ["x"], [1, 8])
contradicting = one_layer("MatMul", ["x", "w"], [1, 5], weights())
with_nan = one_layer("MatMul", ["x", "w"], [1, 8], weights(fill=np.nan))
LARGE = array(np.array([1 << 20, 1 << 20, 8]), "shape")
huge = one_layer("Expand", ["x", "shape"], [1, 8], LARGE)


def with_an_unknown_type(file):
    return saved(file, [make("Relu", ["x"], ["y"])], {"x": (77, [1, 8]), "y": Y})


def with_strings(file):
    end = onnx.TensorProto.STRING, [1]
    return saved(file, [make("Identity", ["x"], ["y"])], {"x": end, "y": end})


def with_many_inputs(file):
    names = [f"x{number}" for number in range(2000)]
    node = make("Sum", names, ["y"])
    return saved(file, [node], {**dict.fromkeys(names, (FLOAT, [1])), "y": Y})


def of_a_constant(file, **more):
    """The same, with its weights in an attribute."""
    value = array(np.ones((8, 8), np.float32))
    nodes = [
        make("Constant", [], ["w"], value=value),
        make("MatMul", ["x", "w"], ["y"]),
    ]
    form = {"x": (FLOAT, ["rows", 8]), "y": Y}
    return saved(file, nodes, form, convert_attribute=True, **more)


def one_round(file, *names, **options):
    """The result of these backends."""
    return compare(CompareOptions(names, rounds=1, subject=ModelFile(str(file)), **options))


@pytest.mark.parametrize("make", [product, of_a_constant])
def test_weights_in_a_file_beside_the_model_are_in_its_checksum(tmp_path, make):
    labels = set()
    for seed in (0, 1, 1):
        file, data = tmp_path / "mine.onnx", tmp_path / "weights.bin"
        data.unlink(missing_ok=True)
        make(file, save_as_external_data=True, location=data.name, size_threshold=0)
        values = np.random.default_rng(seed).random(data.stat().st_size // 4, np.float32)
        data.write_bytes(values.tobytes())
        made = one_round(file, "onnxruntime")
        labels.add(made.rules.weights_sha256)
    assert len(labels) == 2


def without_its_data(file):
    product(file, save_as_external_data=True, location="weights.bin", size_threshold=0)
    (file.parent / "weights.bin").unlink()
    return file


def text(file):
    file.write_text("This is no model, but a text.\n" * 50)
    return file


def empty(file):
    file.touch()
    return file


def nested(file):
    """Messages within messages: a graph in an attribute of a node of a graph, 15,000 deep."""
    content = b""
    for field in [*(6, 5, 1) * 5000, 7]:  # an attribute's graph, a node's attribute, a graph's node
        length, size = len(content), bytearray()
        while length > 127:
            size.append(length & 127 | 128)
            length >>= 7
        content = bytes([field << 3 | 2, *size, length]) + content
    file.write_bytes(content)
    return file


def sparse(file):
    """2.2 GB that take no room on the disk."""
    with file.open("wb") as stream:
        stream.truncate(2_200_000_000)
    return file


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def measured(run, folder):
    """A run of a model with a state and a scalar, and its result at `state.jsonl`."""
    options = ("--range", "rate=3", "--rounds", "1", "-o", folder / "state.jsonl", "--json")
    return run("compare", "--model", stateful(folder / "state.onnx"), "onnxruntime", *options)


def test_a_model_with_a_state_is_timed(measured):
    (row,) = measured.answer["backends"]
    assert (measured.code, row["status"]) == (0, "ok"), measured.errors
    assert row["p50_us"] > measured.answer["harness_us"] > 0


def test_a_model_has_a_row_for_each_number_of_threads(run, folder):
    options = ("--threads", "1,default", "--rounds", "1", "-o", folder / "threads.jsonl", "--json")
    done = run("compare", "--model", product(folder / "threads.onnx"), "onnxruntime", *options)
    found = [(row["name"], row["status"]) for row in done.answer["backends"]]
    assert found == [("onnxruntime (1 thread)", "ok"), ("onnxruntime (default threads)", "ok")]


def test_a_result_names_the_model_with_its_checksum(measured, folder):
    sum = read_result(folder / "state.jsonl").rules.weights_sha256
    assert measured.answer["network"] == f"state.onnx ({sum[:8]})"


def test_a_result_holds_no_folder(measured, folder):  # noqa: ARG001
    header, *blocks = (folder / "state.jsonl").read_text().splitlines()
    assert folder.name not in "".join(blocks)
    assert folder.name not in json.loads(header)["rules"].values()


def test_a_result_has_the_inputs_of_the_model(measured):
    inputs = measured.answer["inputs"]
    assert inputs == {"x": "float32 1x8", "state": "float32 1x4", "rate": "int64 scalar"}


def test_a_model_of_ones_own_cannot_be_shared(refused, measured, folder):  # noqa: ARG001
    said = refused("share", folder / "state.jsonl", "--yes", "-o", folder)
    assert "a model of your own, state.onnx" in said


def test_why_of_a_file_says_what_times_it(run, tmp_path):
    done = run("why", "--model", product(tmp_path / "my.onnx"), "onnxruntime")
    assert done.code == 2
    assert "to time it on each engine: lenet-bench compare" in " ".join(done.errors.split())


def test_a_run_with_other_inputs_is_not_continued(run, refused, folder):
    file, result = product(folder / "rows.onnx"), folder / "rows.jsonl"
    run("compare", "--model", file, "onnxruntime", "--rounds", "1", "-o", result)
    said = refused("compare", "--model", file, "--shape", "x=3x8", "--rounds", "2", "-o", result)
    assert "input x: float32 1x8, now float32 3x8" in said


def read(file, **given):
    shapes, ranges = given.get("shapes", {}), given.get("ranges", {})
    return read_model(str(file), shapes, ranges, given.get("data", ""))["inputs"]


def test_dimensions_of_one_name_have_one_size(tmp_path):
    node = make("Add", ["a", "b"], ["y"])
    ends = {"a": (FLOAT, ["n", 4]), "b": (FLOAT, ["n", 4]), "y": Y}
    inputs = read(saved(tmp_path / "a.onnx", [node], ends), shapes={"a": (6, 4)})
    assert inputs[0]["b"].shape == (6, 4)


def test_a_constant_of_an_old_file_is_no_input(tmp_path):
    """Before ONNX's format 4 each constant is an input, too."""
    model = onnx.load(product(tmp_path / "old.onnx"))
    model.ir_version = 3
    model.graph.input.append(value("w", FLOAT, [8, 4]))
    onnx.save(model, tmp_path / "old.onnx")
    known = read_model(str(tmp_path / "old.onnx"), {}, {}, "")
    onnx.checker.check_model(known["path"])
    assert known["inputs"][0].keys() == {"x"}


def test_an_input_that_is_an_output_too_keeps_its_size(tmp_path):
    inputs = [value(name, FLOAT, ["n"]) for name in "ab"]
    outputs = [value(name, FLOAT, None) for name in "yb"]
    graph = onnx.helper.make_graph([make("Add", ["a", "b"], ["y"])], "own", inputs, outputs)
    onnx.save(onnx.helper.make_model(graph), tmp_path / "a.onnx")
    model = onnx.load(read_model(str(tmp_path / "a.onnx"), {"a": (6,)}, {}, "")["path"])
    sizes = [end.type.tensor_type.shape.dim[0].dim_value for end in model.graph.output]
    assert sizes == [6, 6]


def test_whole_numbers_lie_within_the_given_range(tmp_path):
    inputs = read(stateful(tmp_path / "a.onnx"), ranges={"rate": (4.0, 9.0)})
    assert {int(one["rate"]) for one in inputs} <= set(range(4, 10))


def test_real_data_is_what_an_engine_gets(tmp_path):
    real = np.arange(16, dtype=np.float32).reshape(2, 8)
    np.savez(tmp_path / "real.npz", x=real)
    (inputs,) = read(product(tmp_path / "a.onnx"), data=str(tmp_path / "real.npz"))
    assert np.array_equal(inputs["x"], real)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"shapes": {"z": (1, 8)}}, "no input z, but x"),
        ({"shapes": {"x": (1, 9)}}, r"x is \?x8 in it, not 1x9"),
        ({"shapes": {"x": (1 << 24, 8)}}, "its inputs have 537 MB"),
    ],
)
def test_a_wrong_shape_is_refused_by_name(tmp_path, given, said):
    with pytest.raises(LenetBenchError, match=said):
        read(product(tmp_path / "a.onnx"), **given)


@pytest.mark.parametrize(("kind", "largest"), [("int8", 127), ("float16", 65504)])
def test_numbers_that_an_input_does_not_hold_are_refused(tmp_path, kind, largest):
    number = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    node = make("Cast", ["x"], ["y"], to=FLOAT)
    file = saved(tmp_path / "a.onnx", [node], {"x": (number, [1, 6]), "y": Y})
    data = str(tmp_path / "real.npz")
    np.savez(data, x=np.full((1, 6), largest + 100))
    ranges = {"x": (0.0, largest + 200.0)}
    for given, number in (({"ranges": ranges}, largest + 200), ({"data": data}, largest + 100)):
        said = f"x is {kind} in the model, which does not hold {number}$"
        with pytest.raises(LenetBenchError, match=said):
            read(file, **given)


def test_an_input_of_a_size_of_0_is_refused(tmp_path):
    node, ends = make("Concat", ["x", "past"], ["y"], axis=1), {"x": (FLOAT, [1, "n"]), "y": Y}
    file = saved(tmp_path / "a.onnx", [node], {**ends, "past": (FLOAT, [1, 0])})
    with pytest.raises(LenetBenchError, match="past has a size of 0, "):
        read(file)
    assert read(file, shapes={"past": (1, 3)})[0]["past"].shape == (1, 3)


def compressed(file):
    """200 MB in 0.2."""
    header = {"descr": "<f4", "fortran_order": False, "shape": (6_250_000, 8)}
    archive = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED)
    with archive, archive.open("x.npy", "w") as stream:
        np.lib.format.write_array_header_1_0(stream, header)
        for _ in range(25):
            stream.write(bytes(8_000_000))


def of_objects(file):
    np.savez(file, x=np.array([{}], object))


def no_archive(file):
    with file.open("wb") as stream:
        np.save(stream, np.zeros((1, 8), np.float32))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (compressed, "real.npz has arrays of 200 MB, at most 67 are handed over"),
        (of_objects, "x holds Python's objects, not numbers"),
        (no_archive, "real.npz is no .npz file: "),
        (Path.mkdir, "real.npz cannot be read: Is a directory"),
    ],
)
def test_data_that_cannot_be_an_input_is_refused(tmp_path, make, said):
    make(tmp_path / "real.npz")
    with pytest.raises(LenetBenchError, match=said):
        read(product(tmp_path / "a.onnx"), data=str(tmp_path / "real.npz"))


def test_large_data_is_not_unpacked(tmp_path):
    compressed(tmp_path / "real.npz")
    file, data = str(product(tmp_path / "a.onnx")), str(tmp_path / "real.npz")
    tracemalloc.start()
    with pytest.raises(LenetBenchError):
        read_model(file, {}, {}, data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100e6


def test_a_model_that_does_not_fit_the_memory_is_refused():
    with pytest.raises(LenetBenchError, match=r"its largest tensor 1048576\.0"):
        check_memory(0, 1 << 50)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (text, "no ONNX model|cannot be read as ONNX"),
        (empty, "no ONNX model"),
        (nested, "cannot be read as ONNX"),
        (sparse, "it has 2.2 GB, and a model file has less than 2"),
        (without_its_data, "its weights are in weights.bin, which is not beside it"),
        (with_an_unknown_type, "x is of a type that ONNX has not: 77"),
        (with_strings, "x is of strings, and only numbers are measured"),
        (with_many_inputs, "it has 2000 inputs, and at most 500 are measured"),
        (huge, "of memory are free"),
        (with_nan, "its answers are NaN"),
    ],
)
def test_a_bad_model_is_one_sentence(run, tmp_path, make, said):
    file = make(tmp_path / "bad.onnx")
    done = run("compare", "--model", file, "onnxruntime", "-o", tmp_path / "run.jsonl")
    *_, sentence = done.errors.splitlines()
    assert done.code == 1
    assert "bad.onnx: " in sentence
    assert any(one in sentence for one in said.split("|")), sentence
    assert "Traceback" not in done.errors


@pytest.mark.parametrize("name", ["nothere.pt", "nothere.pt2", "nothere"])
def test_a_file_that_does_not_exist_is_said_not_to(refused, tmp_path, name):
    said = refused("compare", "--model", tmp_path / name, "-o", tmp_path / "r.jsonl")
    assert said.endswith(f"{name} cannot be read: no such file")


def test_a_device_is_said_to_be_no_plain_file(refused, tmp_path):
    said = refused("compare", "--model", os.devnull, "-o", tmp_path / "r.jsonl")
    assert said.endswith(f"{os.devnull} cannot be read: not a plain file")


def test_a_folder_is_no_pickle(refused, tmp_path):
    (tmp_path / "own.pt").mkdir()
    said = refused("compare", "--model", tmp_path / "own.pt", "-o", tmp_path / "r.jsonl")
    assert "own.pt is no model that can be measured: expected " in said


def measured_as(run, file, *names):
    """The status of each backend."""
    result = file.with_suffix(".jsonl")
    done = run("compare", "--model", file, *names, "--rounds", "1", "-o", result, "--json")
    return {row["name"]: row["reason"] or row["status"] for row in done.answer["backends"]}


@pytest.mark.parametrize("name", ["own.bin", "own.json", "own.tflite"])
def test_an_onnx_file_is_known_by_its_content(run, tmp_path, name):
    file = product(tmp_path / "own.onnx").rename(tmp_path / name)
    assert measured_as(run, file, "onnxruntime") == {"onnxruntime": "ok"}


def test_what_only_begins_as_a_model_is_refused(refused, tmp_path):
    whole = product(tmp_path / "own.onnx").read_bytes()
    file, noise = tmp_path / "own.bin", np.random.default_rng(0).bytes(2000)
    for content in (whole[:-1], whole[:20] + noise, whole + whole, noise, b"\x08" * 2000, b""):
        file.write_bytes(content)
        sentence = refused("compare", "--model", file, "-o", tmp_path / "run.jsonl")
        assert "own.bin is no model that can be measured: expected .onnx, " in sentence


@pytest.mark.parametrize("make", [unknown, contradicting])
def test_who_refuses_a_model_is_quoted(run, tmp_path, make):
    file = make(tmp_path / "bad.onnx")
    done = run("compare", "--model", file, "onnxruntime", "-o", tmp_path / "run.jsonl", "--json")
    (row,) = done.answer["backends"]
    assert (done.code, row["status"]) == (1, "unsupported")
    assert row["reason"].startswith("ONNX Runtime does not run it: ")


def test_an_engine_that_reads_no_such_file_says_so(run, folder):
    file, result = product(folder / "one.onnx"), folder / "one.jsonl"
    done = run("compare", "--model", file, "numpy", "onnxruntime", "--rounds", "1", "-o", result)
    assert done.code == 0
    assert "numpy: unsupported: numpy reads no .onnx file" in done.output


def test_backends_that_read_no_model_are_refused_at_once(refused, folder):
    """Before the file is read, which is none."""
    result = folder / "none.jsonl"
    sentence = refused("compare", "--model", text(folder / "text.onnx"), "numpy", "-o", result)
    assert "no .onnx file is read by numpy, but by tract, mnn, onnxruntime, " in sentence
    assert not result.exists()


def test_a_size_that_was_made_1_is_named_where_an_engine_fails(run, tmp_path):
    """Of a kernel that is wider than the input."""
    kernel = array(np.ones((1, 1, 5), np.float32), "k")
    file = one_layer("Conv", ["x", "k"], [1, 1, "samples"], kernel)(tmp_path / "wide.onnx")
    result = tmp_path / "run.jsonl"
    done = run("compare", "--model", file, "numpy", "onnxruntime", "-o", result, "--json")
    reasons = {row["name"]: row["reason"] for row in done.answer["backends"]}
    hint = "; in the file x is 1x1x?, and 1 was used for each ?: try --shape x=SIZES"
    assert reasons["onnxruntime"].endswith(hint)
    assert "SIZES" not in reasons["numpy"]
    said = "float32 1x1x1 (1x1x? in the file: --shape gives other sizes)"
    assert done.answer["inputs"] == {"x": said}


def test_an_engine_that_looks_beyond_a_table_is_given_other_numbers(run, tmp_path):
    table = array(np.ones((1, 8), np.float32), "table")
    node, ends = make("Gather", ["table", "ids"], ["y"]), {"ids": (INT64, [1, "n"]), "y": Y}
    file = saved(tmp_path / "own.onnx", [node], ends, table)
    reason = measured_as(run, file, "onnxruntime")["onnxruntime"]
    assert reason.endswith("; for other whole numbers try --range ids=A:B")


def of_any_size(file):
    """The places of what is not 0."""
    nodes = [make("Relu", ["x"], ["positive"]), make("NonZero", ["positive"], ["y"])]
    return saved(file, nodes, {"x": (FLOAT, [1, 20]), "y": (INT64, None)})


def listed_twice(file):
    model = onnx.load(product(file))
    model.graph.output.append(model.graph.output[0])
    onnx.save(model, file)
    return file


@pytest.mark.parametrize("make", [of_any_size, listed_twice])
def test_memory_is_bound_to_each_output(run, tmp_path, make):
    file, name = make(tmp_path / "own.onnx"), "onnxruntime:iobinding"
    assert measured_as(run, file, name) == {name: "ok"}


def test_the_page_has_the_lines_of_a_file_with_open_sizes(tmp_path):
    pytest.importorskip("jinja2")
    from lenet_bench.show.page import write_report

    file = one_layer("Relu", ["x"], [1, "n", "m"])(tmp_path / "own.onnx")
    write_report({"run.jsonl": one_round(file, "onnxruntime")}, tmp_path / "page.html")
    assert "InferenceSession" in (tmp_path / "page.html").read_text()


#: An engine that ends its process, one that hangs and one that is off, in place of ONNX Runtime's.
BROKEN = """
import os, sys, time
import lenet_bench.models.callers as callers
right = callers.onnxruntime
def crash(model, threads, device):
    os.kill(os.getpid(), 11)
def hang(model, threads, device):
    time.sleep(1000)
def off(model, threads, device):
    call = right(model, threads, device)
    return lambda inputs: [1.5 * one for one in call(inputs)]
callers.CALLERS[".onnx"]["onnxruntime:extended"] = {broken}
"""


@pytest.mark.parametrize(
    ("broken", "status", "said"),
    [
        ("crash", "crashed", "SIGSEGV"),
        pytest.param("hang", "timeout", "did not answer", marks=pytest.mark.slow),
        ("off", "wrong", "its answers differ from those of ONNX's reference evaluator by 0.5"),
    ],
)
def test_an_engine_that_fails_loses_its_own_row_only(monkeypatch, tmp_path, broken, status, said):
    (tmp_path / "sitecustomize.py").write_text(BROKEN.format(broken=broken))
    monkeypatch.syspath_prepend(tmp_path)  # where children import from
    names = ("onnxruntime", "onnxruntime:extended")
    timeout_s = 60 if broken == "hang" else 120
    result = one_round(product(tmp_path / "one.onnx"), *names, timeout_s=timeout_s)
    assert result.backend("onnxruntime").status == "ok"
    assert result.backend("onnxruntime:extended").status == status
    assert said in str(result.backend("onnxruntime:extended").reason)


def without_end(file):
    go_on = array(np.array(True), "go_on")
    body = onnx.helper.make_graph(
        [make("Identity", ["yes"], ["still"]), make("Tanh", ["x_in"], ["x_out"])],
        "body",
        [value("n", INT64, []), value("yes", BOOL, []), value("x_in", FLOAT, [1, 8])],
        [value("still", BOOL, []), value("x_out", FLOAT, [1, 8])],
    )
    loop = make("Loop", ["", "go_on", "x"], ["y"], body=body)
    return saved(file, [loop], {"x": (FLOAT, [1, 8]), "y": Y}, go_on)


def test_a_round_that_no_budget_ends_has_its_right_answers(tmp_path):
    file = product(tmp_path / "one.onnx")
    (row,) = one_round(file, "onnxruntime", budget_s=1e-3, least_rounds=1).backends
    assert row.status == "ok", row.reason


def test_a_loop_without_end_is_asked_about_within_the_budget(tmp_path):
    told: list[Any] = []
    model = ModelFile(str(without_end(tmp_path / "loop.onnx")))
    options = CompareOptions(("onnxruntime",), budget_s=60, subject=model)
    said = r"loop.onnx: no engine answered: onnxruntime had \d+ s.*; give a larger --budget"
    with pytest.raises(LenetBenchError, match=said):
        compare(options, told.append)
    asked = [one.doing for one in told]
    assert asked[:2] == ["reading loop.onnx", "asking ONNX's reference evaluator about loop.onnx"]
    assert asked[2] == "asking onnxruntime about the model"


#: Engines that answer so, in place of all; none of these is called.
PLANTED = """
import sys, time, types
import lenet_bench.models.callers as callers
right = callers.onnxruntime
def as_the_evaluator(model, threads, device):
    call = right(model, threads, device)
    return lambda inputs: [one * 0 + 1 for one in call(inputs)]
def otherwise(model, threads, device):
    call = right(model, threads, device)
    return lambda inputs: [one * 0 - 1 for one in call(inputs)]
def adds_in_another_order(model, threads, device):
    import numpy as np
    def call(inputs):
        terms = inputs["x"][0] * np.float32(1e9)
        sums = np.array([sum(np.roll(terms, column)) for column in range(4)], np.float32)
        powers = np.exp(sums - sums.max())
        return [(powers / powers.sum())[np.newaxis]]
    return call
def off_by(share):
    def engine(model, threads, device):
        call = right(model, threads, device)
        return lambda inputs: [one * (1 + share) for one in call(inputs)]
    return engine
def hangs(model, threads, device):
    time.sleep(1000)
callers.CALLERS[".onnx"] = {{{engines}}}
for name, package in (("mnn", "MNN"), ("opencv", "cv2"), ("tract", "tract")):
    sys.modules["lenet_bench.backends." + name] = types.ModuleType(name)
    sys.modules[package] = types.ModuleType(package)
    sys.modules[package].__version__ = "1"
"""


@pytest.fixture
def planted(monkeypatch, tmp_path):
    """`planted(model, mnn="right")`: compare these engines, which answer so, and no others."""

    def compare_planted(model, named=(), timeout_s=480, **engines):
        answers = {name.replace("_", ":"): answer for name, answer in engines.items()}
        spelled = ", ".join(f"{name!r}: {answer}" for name, answer in answers.items())
        (tmp_path / "sitecustomize.py").write_text(PLANTED.format(engines=spelled))
        monkeypatch.syspath_prepend(tmp_path)  # where children import from
        monkeypatch.setitem(CALLERS, ".onnx", answers)
        monkeypatch.setattr(model_subject, "_may_run", lambda _: True)
        return one_round(model(tmp_path / "own.onnx"), *(named or answers), timeout_s=timeout_s)

    return compare_planted


def old_softmax(file):
    """Opset 9's softmax is over all that follows; ONNX's evaluator takes the last axis: ones."""
    node = make("Softmax", ["x"], ["y"])
    return saved(file, [node], {"x": (FLOAT, [1, 4, 1, 1]), "y": Y}, opset=9)


def quantized(file):
    """A quantized input, and what it stands for."""
    scale = array(np.float32(0.1), "scale")
    zero = array(np.int8(0), "zero")
    nodes = [
        make("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
        make("DequantizeLinear", ["q", "scale", "zero"], ["y"]),
    ]
    return saved(file, nodes, {"x": (FLOAT, [1, 8]), "y": Y}, scale, zero)


def statuses(result):
    return {one.name: one.status for one in result.backends}


def test_more_engines_than_the_evaluator_has_decide(planted):
    answers = {"onnxruntime": "right", "opencv": "right", "tract": "right"}
    result = planted(old_softmax, mnn="as_the_evaluator", **answers)
    assert statuses(result) == {**dict.fromkeys(answers, "ok"), "mnn": "wrong"}
    assert str(result.rules.placed.arbiter).startswith(
        "onnxruntime, opencv and tract, from which ONNX's reference evaluator and mnn differ by "
    )
    assert "from those of onnxruntime, opencv and tract by " in str(result.backend("mnn").reason)


def test_onnx_runtime_is_not_wrong_where_the_evaluator_errs(run, tmp_path):
    file = Path(onnx.__file__).parent / "backend/test/data/light/light_squeezenet.onnx"
    if not file.exists():
        pytest.skip("this onnx has no light models")
    result = tmp_path / "run.jsonl"
    done = run("compare", "--model", file, "onnxruntime", "--rounds", "1", "-o", result, "--json")
    (row,) = done.answer["backends"]
    assert row["status"] == "ok", row["reason"]
    assert "ONNX's reference evaluator" in done.answer["arbiter"]
    assert " differ" in done.answer["arbiter"]


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ({"onnxruntime": "right"}, "ONNX's reference evaluator, or onnxruntime, which differ by "),
        (
            {"mnn": "as_the_evaluator", "onnxruntime": "right", "tract": "right"},
            "ONNX's reference evaluator and mnn, or onnxruntime and tract, which differ by ",
        ),
    ],
)
def test_nobody_is_wrong_with_as_many_voices_as_the_others(planted, answers, told):
    result = planted(old_softmax, **answers)
    assert set(statuses(result).values()) == {"ok"}
    assert str(result.rules.placed.arbiter).startswith(told)
    assert str(result.rules.placed.arbiter).endswith(": who is right is unknown")


def test_who_agrees_with_neither_of_two_groups_is_wrong(planted):
    answers = {"mnn": "as_the_evaluator", "onnxruntime": "right", "tract": "right"}
    result = planted(old_softmax, opencv="otherwise", **answers)
    assert statuses(result) == {**dict.fromkeys(answers, "ok"), "opencv": "wrong"}


def test_variants_of_an_engine_are_one_voice(planted):
    answers = {"onnxruntime": "right", "onnxruntime_extended": "right"}
    result = planted(old_softmax, mnn="as_the_evaluator", **answers)
    assert result.rules.placed.arbiter == "ONNX's reference evaluator"
    assert set(statuses(result).values()) == {"ok", "wrong"}
    assert result.backend("mnn").status == "ok"


def test_an_installed_engine_that_is_not_measured_has_a_voice(planted):
    result = planted(old_softmax, named=["tract"], onnxruntime="right", tract="right")
    assert statuses(result) == {"tract": "ok"}
    assert str(result.rules.placed.arbiter).startswith("tract and onnxruntime, from which ")


def test_of_two_of_one_mind_the_one_that_answered_is_named(planted, monkeypatch):
    monkeypatch.setitem(_KIN, "tract", "mnn")
    result = planted(old_softmax, mnn="lambda *_: 1 / 0", tract="right")
    arbiter = str(result.rules.placed.arbiter)
    assert arbiter.startswith("ONNX's reference evaluator, or tract, which differ by ")


def test_where_no_two_of_three_agree_nothing_is_timed(planted):
    with pytest.raises(LenetBenchError, match=r"no two of .* agree, so none can be believed"):
        planted(old_softmax, onnxruntime="right", mnn="otherwise")


def test_engines_are_asked_within_a_bound(planted):
    said = r"no engine answered: mnn had 1 s and tract had \d+ s; give a larger --timeout"
    with pytest.raises(LenetBenchError, match=said):
        planted(unknown, timeout_s=4, mnn="hangs", tract="hangs")


def test_who_refuses_a_model_says_why_though_another_is_late(planted):
    engines = {"onnxruntime": "right", "tract": "hangs"}
    result = planted(unknown, named=["onnxruntime"], timeout_s=60, **engines)
    assert statuses(result) == {"onnxruntime": "unsupported"}
    assert "Frobnicate" in str(result.backend("onnxruntime").reason)


def test_without_an_answer_no_arbiter_is_named(planted):
    result = planted(unknown, onnxruntime="right")
    assert result.rules.placed.arbiter == "none, since nothing answers"
    assert statuses(result) == {"onnxruntime": "unsupported"}


def test_a_tolerance_for_float32_does_not_widen_that_for_eight_bits(planted):
    """MNN may differ by 0.02 in float32, and by no more than 0.05 in eight bits."""
    result = planted(quantized, onnxruntime="right", tract="right", mnn="off_by(0.1)")
    assert statuses(result) == {"onnxruntime": "ok", "tract": "ok", "mnn": "wrong"}


def amplifying(file):
    """Equal sums of 10^9, whose last bit is 64 and more; softmax gives all to the greatest."""
    value = array(np.array([1e9], np.float32))
    shape = array(np.array([8, 4]), "shape")
    nodes = [
        make("ConstantOfShape", ["shape"], ["w"], value=value),
        make("MatMul", ["x", "w"], ["sums"]),
        make("Softmax", ["sums"], ["y"]),
    ]
    return saved(file, nodes, {"x": (FLOAT, [1, 8]), "y": Y}, shape)


def test_nobody_is_wrong_where_the_model_amplifies_rounding(planted):
    result = planted(amplifying, onnxruntime="right", tract="right", mnn="adds_in_another_order")
    assert set(statuses(result).values()) == {"ok"}
    assert result.backend("mnn").difference > 0.1
    assert "; the last bits of the weights move these by " in str(result.rules.placed.arbiter)


def test_a_sigmoid_near_0_need_not_be_righter_than_near_1(tmp_path):
    """ONNX Runtime's is right to 1e-7, tract's to 5e-7: a detector that sees nothing answers so."""
    import onnxruntime

    file = one_layer("Sigmoid", ["x"], [1, 64])(tmp_path / "nothing.onnx")
    given = {"x": np.linspace(-16, -14, 64, dtype=np.float32).reshape(1, 64)}
    found = onnxruntime.InferenceSession(file).run(None, given)
    exact = [1 / (1 + np.exp(-given["x"].astype(np.float64)))]
    assert distance(found, exact) < 1e-3
    assert distance([exact[0] + 4.5e-7], exact) < 1e-3
    assert distance([exact[0] + 1e-5], exact) > 1e-3


def test_who_agrees_with_the_judge_is_right(planted):
    """MNN may differ by 0.02 in float32, so all three agree with it, but no two of the others."""
    result = planted(product, mnn="off_by(0.01)", opencv="off_by(0.004)", onnxruntime="right")
    assert "mnn, opencv and onnxruntime, which agree" in str(result.rules.placed.arbiter)
    assert set(statuses(result).values()) == {"ok"}


@pytest.mark.parametrize("name", [REFERENCE, "onnxruntime"])
def test_who_had_no_time_may_answer(name):
    alone = [_Voice(name, [[np.ones(3)]], 1e-3)]
    assert _verdict(alone, some_late=True).arbiter.endswith(" answered in time")
    assert _verdict(alone).arbiter.endswith(" answers")


def test_nan_in_both_answers_is_equal():
    one = [np.array([np.nan, 1.0])]
    assert distance(one, one) == 0


def test_a_truth_value_is_any_number_that_is_not_0():
    assert distance([np.array([0, 21, 1])], [np.array([False, True, True])]) == 0


def test_infinities_in_both_answers_are_equal():
    one = [np.array([np.inf, -np.inf, 1.0])]
    assert distance(one, one) == 0


def test_an_answer_of_another_size_is_infinitely_far():
    assert distance([np.zeros(3)], [np.zeros(4)]) == np.inf


@pytest.mark.parametrize("suffix", CALLERS)
def test_each_caller_has_the_name_of_a_backend(suffix):
    assert set(CALLERS[suffix]) <= set(every_name())


@pytest.mark.parametrize(
    ("suffix", "named", "extra"),
    [
        (".onnx", (), "tract"),
        (".onnx", ("onnxruntime", "opencv"), "onnxruntime"),
        (".tflite", (), "litert"),
        (".tflite", ("tflite-micro",), "tflite-micro"),
    ],
)
def test_without_any_engine_the_lightest_is_said(suffix, named, extra, tmp_path, monkeypatch):
    monkeypatch.setattr(building, "find_spec", lambda _: None)
    file = text(tmp_path / f"own{suffix}")
    said = (
        rf"no engine that reads {suffix} files is installed .*pip install 'lenet-bench\[{extra}\]'$"
    )
    with pytest.raises(LenetBenchError, match=said):
        one_round(file, *named)


def test_versions_of_an_engine_read_what_it_reads(tmp_path, monkeypatch):
    """Where nothing else is named."""
    monkeypatch.setenv("LENET_BENCH_ENVIRONMENTS", str(tmp_path))
    versions = ("onnxruntime==1.24.1", "onnxruntime==1.26.0")
    made = one_round(product(tmp_path / "own.onnx"), *versions)
    for row in made.backends:
        assert f"{row.name} is not installed; " in str(row.reason)
