"""`compare --model model.py` and .pt2: models of PyTorch, Keras and JAX that code makes."""

import zipfile
from contextlib import closing
from importlib.util import find_spec

import numpy as np
import pytest
from lenet_bench.errors import LenetBenchError
from lenet_bench.process import Child, same_modules
from lenet_bench.registry import find, is_installed
from lenet_bench.subjects import python_model
from lenet_bench.subjects.by_example import ByExample
from lenet_bench.subjects.formats import own_model
from lenet_bench.subjects.python_model import split
from processes import python

HERE = {name: find_spec(name) is not None for name in ("torch", "jax", "keras")}

LAYER = """
import torch
print("read me")
def get_model():
    return torch.nn.Linear(4, 3)  # with random weights
def get_args():
    return (torch.ones(2, 4),)
if __name__ == "__main__":
    raise SystemExit(1)
"""
SEVERAL = """
import torch
from parts import Parts
def mine():
    return Parts()
def get_args():
    return {"scale": torch.tensor(2.0), "ids": torch.tensor([1, 9]), "x": torch.ones(2, 4)}
"""
PARTS = """
import torch
class Parts(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.table = torch.nn.Linear(4, 3), torch.nn.Embedding(10, 3)
    def forward(self, x, ids, *, scale):
        y = self.layer(x) * scale + self.table(ids)
        return {"y": y, "others": [y.sum(0), ids * 2]}
"""
MASKED = """
import torch
from torch import nn
class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)
    def forward(self, x, mask):
        return self.encoder(x, src_key_padding_mask=mask)
def get_model():
    return Masked()
def get_args():
    return torch.ones(1, 3, 8), torch.tensor([[False, False, True]])
"""
UNKNOWN = """
import torch
class Unknown(torch.nn.Module):
    def forward(self, x):
        return torch.linalg.qr(x)
def get_model():
    return Unknown()
def get_args():
    return (torch.ones(4, 4),)
"""
OF_JAX = """
import jax, numpy as np
w = jax.random.normal(jax.random.key(0), (4, 3))
def get_model():
    return lambda x: jax.nn.softmax(x @ w)
def get_args():
    return (np.ones((2, 4), np.float32),)
"""
SEVERAL_OF_JAX = """
import jax, numpy as np
w = jax.random.normal(jax.random.key(0), (4, 3))
def get_model():
    return lambda x, ids: {"z": x @ w, "a": (w[:, ids], ids * 2)}
def get_args():
    return np.ones((2, 4), np.float32), np.array([0, 2])
"""
OF_KERAS = """
import keras
def get_model():
    image = keras.Input((8, 8, 3), name="image")
    return keras.Model(image, keras.layers.Dense(4)(keras.layers.Flatten()(image)))
"""


def needs(*names):
    return pytest.mark.skipif(not all(HERE[name] for name in names), reason=f"needs {names}")


@pytest.fixture
def compared(run, tmp_path):
    """`compared(file, "torch")`: a round of these backends."""
    more = ("--rounds", "1", "--timeout", "600s", "-o", tmp_path / "run.jsonl", "--json")
    return lambda model, *words: run("compare", "--model", model, *words, *more)


@pytest.fixture
def measured(compared, tmp_path):
    """`measured(LAYER, "torch")`: the rows of these backends by name."""

    def rows(code, *words, function=""):
        (tmp_path / "parts.py").write_text(PARTS)
        done = compared(f"{of(tmp_path, code)}{function}", *words)
        assert "Traceback" not in done.errors
        return {row["name"]: row for row in done.answer["backends"]}

    return rows


def reasons(rows):
    return {name: row["reason"] for name, row in rows.items() if row["status"] != "ok"}


@needs("torch")
def test_a_module_is_called_as_lenet_is(measured):
    rows = measured(LAYER, "torch", "torch:contiguous", "torch:torchscript", "torch:export")
    assert len(rows) == 4
    assert not reasons(rows)


@needs("torch")
def test_a_module_of_several_inputs_and_outputs_is_called_by_their_names(measured):
    rows = measured(SEVERAL, "torch", "torch:torchscript", "torch:export", function=":mine")
    assert not reasons(rows)


@needs("torch")
def test_pytorch_is_right_with_its_fast_path_and_without(compared, tmp_path):
    """At the positions that a mask leaves out, which torch.export computes as all others."""
    done = compared(of(tmp_path, MASKED), "torch:contiguous", "torch:export")
    assert {row["name"]: row["reason"] for row in done.answer["backends"]} == dict.fromkeys(
        ("torch:contiguous", "torch:export")
    )
    assert all(row["difference"] < 1e-5 for row in done.answer["backends"])
    assert ", or without its fast path for attention, which differs by " in done.answer["arbiter"]


@needs("torch")
@pytest.mark.skipif(not find_spec("onnxscript"), reason="needs onnxscript")
@pytest.mark.parametrize(("code", "function"), [(LAYER, ""), (SEVERAL, ":mine")])
def test_a_module_is_converted_for_engines(measured, code, function):
    rows = measured(code, "onnxruntime", function=function)
    assert not reasons(rows)
    assert rows["onnxruntime"]["conversion_s"] > 0


@needs("torch")
@pytest.mark.parametrize("engine", ["openvino", "executorch"])
@pytest.mark.parametrize(("code", "function"), [(LAYER, ""), (SEVERAL, ":mine")])
def test_an_engine_converts_a_module_itself(measured, engine, code, function):
    if not is_installed(find(engine)[0]):
        pytest.skip(f"{engine} is not installed")
    rows = measured(code, engine, function=function)
    assert not reasons(rows)
    assert rows[engine]["conversion_s"] > 0
    assert rows[engine]["file_mib"] > 0


@needs("torch")
def test_what_openvino_does_not_convert_is_its_row_only(measured):
    pytest.importorskip("openvino")
    rows = measured(UNKNOWN, "torch", "openvino")
    assert rows["torch"]["status"] == "ok"
    assert rows["openvino"]["status"] == "unsupported"
    said = "its conversion to OpenVINO's form failed: No conversion rule found for operations: "
    assert reasons(rows)["openvino"].startswith(said)


@needs("torch")
@pytest.mark.parametrize(
    ("engine", "package"), [("onnxruntime", "onnxscript"), ("litert", "litert_torch")]
)
def test_a_converter_that_is_not_installed_is_named(measured, engine, package):
    if find_spec(package) or (engine == "litert" and not find_spec("ai_edge_litert")):
        pytest.skip(f"{package} is here, or {engine} is not")
    rows = measured(LAYER, "torch", engine)
    assert rows["torch"]["status"] == "ok"
    assert f"needs {package.replace('_', '-')}" in reasons(rows)[engine]
    assert "pip install" in reasons(rows)[engine]


@needs("jax")
@pytest.mark.parametrize("code", [OF_JAX, SEVERAL_OF_JAX])
def test_a_function_for_jax_is_called_as_lenet_is(measured, code):
    rows = measured(code, "jax", "jax:aot")
    assert len(rows) == 2
    assert not reasons(rows)


CALLED = """
import sys
import numpy as np
from lenet_bench.subjects.by_example import ONE
from lenet_bench.subjects.python_model import PythonJax
from lenet_bench.weights import Weights
given = {"x": np.ones((2, 4), np.float32)}
PythonJax(sys.argv[1], outputs=ONE).build("jax", 1, Weights({}), given)
print(sys.modules["model"].is_asynchronous)
"""


@needs("jax")
def test_a_file_that_computes_finds_jax_as_lenet_does(tmp_path):
    asked = "is_asynchronous = jax.config.read('jax_cpu_enable_async_dispatch')\n"
    file = of(tmp_path, OF_JAX.replace("w =", f"{asked}w ="))
    assert python(CALLED, file).stdout == "False\n"


@needs("keras")
@pytest.mark.slow
def test_a_keras_model_has_the_same_weights_on_each_framework(measured):
    others = {"torch": "keras-torch:call", "jax": "keras-jax:jit"}
    able = [row for name, row in others.items() if HERE[name]]
    rows = measured(OF_KERAS, "keras:call", "onnxruntime", *able)
    assert not {name: why for name, why in reasons(rows).items() if name != "onnxruntime"}
    assert rows["onnxruntime"]["status"] in ("ok", "unavailable")  # tf2onnx may be absent


DERIVED = """
import keras, numpy as np
@keras.saving.register_keras_serializable()
class Derived(keras.Model):
    def __init__(self, **more):
        super().__init__(**more)
        self.layer = keras.layers.Dense(3)
    def call(self, x):
        return self.layer(x)
def get_args():
    return (np.ones((1, 4), "float32"),)
def get_model():
    model, x = Derived(), keras.Input((4,))
    return MODEL
"""


@needs("keras")
@pytest.mark.parametrize(
    ("code", "said"),
    [
        (DERIVED.replace("MODEL", "model"), "in a model.py return keras.Model(x, model(x)) with"),
        (OF_KERAS + "def get_args():\n    return 1, 2\n", "it takes 1 input, and get_args() "),
    ],
)
def test_a_keras_model_whose_inputs_are_not_known_is_one_sentence(refused, tmp_path, code, said):
    result = ("-o", tmp_path / "run.jsonl")
    assert said in refused("compare", "--model", of(tmp_path, code), "keras:call", *result)


@needs("keras")
def test_a_keras_class_is_measured_as_its_refusal_says(measured):
    assert not reasons(measured(DERIVED.replace("MODEL", "keras.Model(x, model(x))"), "keras:call"))


IN_FLOAT64 = """
import sys
import numpy as np
from lenet_bench.subjects.python_model import PythonKeras
made, given = PythonKeras(sys.argv[1]), {"x": np.ones((1, 4), np.float32)}
print(made.exact(made.load(), given, double=True)[0].dtype)
"""


@needs("keras")
def test_the_layers_of_a_keras_class_are_in_float64_where_that_is_said(tmp_path):
    file = of(tmp_path, DERIVED.replace("MODEL", "keras.Model(x, model(x))"))
    assert python(IN_FLOAT64, file).stdout == "float64\n"


def of(tmp_path, code):
    file = tmp_path / "model.py"
    file.write_text(code)
    return file


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            "def get_model():\n    raise ValueError('no file')\n",
            "line 2 raises ValueError: no file",
        ),
        ("import sys\nsys.exit(3)\n", "line 2 raises SystemExit: 3"),
        ("import os\nos._exit(7)\n", "its process ended with exit code 7"),
        ("def get_model(:\n", "line 1 raises SyntaxError: invalid syntax"),
        ("name = input()\n", "line 1 raises EOFError"),
        ("import nonesuch\n", "line 1 raises ModuleNotFoundError: No module named 'nonesuch'"),
        ("\0", "it raises "),
        ("x = 1\n", "it has no get_model(), which has to return the model"),
        ("def get_model():\n    return 3\n", "its get_model() returns int, and no PyTorch module"),
    ],
)
def test_a_file_that_makes_no_model_is_one_sentence(tmp_path, code, said):
    with pytest.raises(LenetBenchError) as caught:
        own_model(of(tmp_path, code), {}, {}, "")
    assert str(caught.value).startswith("model.py: ")
    assert said in str(caught.value)


JAX = "import jax\ndef get_model():\n    return lambda x: {answer}\n"
ARGS = "import numpy as np\ndef get_args():\n    return {args}\n"


@needs("jax")
@pytest.mark.parametrize(
    ("answer", "args", "said"),
    [
        ("x @ np.ones((4, 3))", "(np.ones((2, 5)),)", "line 3 raises ValueError: "),
        ("x", "5", "its get_args() returns int, not a tuple of arrays"),
        ("x", "(None,)", "its input x is of the type NoneType, and only arrays of numbers"),
        ("x", "(np.array(['a']),)", "its input x is of the type ndarray, and only arrays"),
        ("x", "(jax.numpy.ones(2, 'bfloat16'),)", "its input x is bfloat16, which NumPy lacks; "),
        ("exit(4)", "(np.ones(2),)", "line 3 raises SystemExit: 4"),
        ("x[calls.pop()]", "(np.ones(2),)\ncalls = [0]", "line 3 raises IndexError: pop from "),
        ("x / 0", "(np.ones(2, np.float32),)", "its answers are not finite"),
        ("x * np.random.rand()", "(np.ones(2),)", "it answers the same input differently each"),
    ],
)
def test_a_model_that_cannot_be_called_is_one_sentence(refused, tmp_path, answer, args, said):
    file = of(tmp_path, JAX.format(answer=answer) + ARGS.format(args=args))
    sentence = refused("compare", "--model", file, "jax", "-o", tmp_path / "run.jsonl")
    assert "model.py: " in sentence
    assert said in sentence


@needs("jax")
def test_a_tolerance_that_the_models_precision_widens_is_said(compared, tmp_path):
    code = JAX.format(answer="jax.numpy.sin(x * 1e6)")
    file = of(tmp_path, code + ARGS.format(args="(np.full(4, 0.1, np.float32),)"))
    done = compared(file, "jax")
    assert done.answer["arbiter"].startswith("JAX in float64; its own precision moves these by 0.0")


@needs("jax")
def test_real_inputs_take_the_place_of_get_args(compared, refused, tmp_path):
    file, data = of(tmp_path, JAX.format(answer="x * 2")), tmp_path / "real.npz"
    sentence = refused("compare", "--model", file, "jax", "-o", tmp_path / "run.jsonl")
    assert "it has no example inputs, which get_args() of a model.py returns" in sentence
    np.savez(data, x=np.ones((3, 5), np.float32))
    done = compared(file, "jax", "--input", data)
    assert done.answer["inputs"] == {"x": "float32 3x5"}
    assert done.code == 0, done.errors


@needs("jax")
def test_a_shape_takes_the_place_of_that_of_get_args(measured):
    assert not reasons(measured(OF_JAX, "jax", "--shape", "x=7x4"))


def test_a_file_that_hangs_ends_at_the_timeout(monkeypatch, tmp_path):
    monkeypatch.setattr(python_model, "READ_S", 1.0)
    with pytest.raises(LenetBenchError, match=r"model.py: it cannot be read: did not answer with"):
        own_model(of(tmp_path, "while True: pass\n"), {}, {}, "")


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass\n",
        pytest.param(
            JAX.format(answer="x") + "def get_args():\n    while True: pass\n",
            marks=needs("jax"),
        ),
    ],
)
def test_the_budget_bounds_the_reading_of_a_file_that_hangs(refused, tmp_path, code):
    file, result = of(tmp_path, code), tmp_path / "run.jsonl"
    sentence = refused("compare", "--model", file, "jax", "--budget", "10s", "-o", result)
    assert "model.py: it cannot be read: the budget ended before it answered" in sentence


def test_a_framework_that_is_not_installed_is_named(tmp_path):
    absent = next((name for name, here in HERE.items() if not here), None)
    if absent is None:
        pytest.skip("all frameworks are installed")
    with pytest.raises(LenetBenchError, match=f"it needs {absent}, but .*fix it with: "):
        own_model(of(tmp_path, f"import {absent}\n"), {}, {}, "")


def known(file):
    serving = "lenet_bench.subjects.python_model:serve_kind"
    with closing(Child(serving, printed="dropped", variables=same_modules())) as child:
        return child.answer(str(file), 600)


@needs("jax")
def test_the_checksum_is_of_all_code_beside_it(tmp_path):
    file, beside = (
        of(tmp_path, "import jax\nfrom beside import get_model\n"),
        tmp_path / "beside.py",
    )
    beside.write_text("def get_model():\n    return lambda x: x\n")
    first, again = known(file), known(file)
    beside.write_text("def get_model():\n    return lambda x: 2 * x\n")
    assert first == again
    assert known(file)[1] != first[1]


@needs("torch")
def test_the_checksum_is_of_random_weights_that_are_always_the_same(tmp_path):
    first, again = known(of(tmp_path, LAYER)), known(tmp_path / "model.py")
    assert first == again
    assert known(of(tmp_path, LAYER.replace("Linear(4", "Linear(5")))[1] != first[1]


@pytest.mark.parametrize(
    ("file", "parts"),
    [
        ("a/model.py", ("a/model.py", "get_model")),
        ("a/model.py:mine", ("a/model.py", "mine")),
        ("a:b/model.onnx", ("a:b/model.onnx", "get_model")),
    ],
)
def test_a_function_follows_the_file(file, parts):
    path, name = split(file)
    assert (str(path), name) == parts


def test_inputs_are_given_by_place_only_where_they_are_first():
    def function(x, mask=None, scale=1):
        return x, mask, scale

    model = ByExample("model.py")
    assert model.taken(function, ["x", "mask"])((1, 2)) == ((1, 2), {})
    assert model.taken(function, ["x", "scale"])((1, 2)) == ((), {"x": 1, "scale": 2})
    assert model.taken(max, ["arg0", "arg1"])((1, 2)) == ((1, 2), {})


EXPORTED = """
import sys
from pathlib import Path
import torch

class Sum(torch.nn.Module):
    def forward(self, a, b):
        return (a + b).relu(), a

folder, rows = Path(sys.argv[1]), torch.export.Dim("rows")
given = (torch.ones(2, 4),), {"b": torch.full((2, 4), 2.0)}
shapes = {"a": {0: rows}, "b": {0: rows}}
program = torch.export.export(Sum().eval(), *given, dynamic_shapes=shapes)
torch.export.save(program, folder / "program.pt2")
torch._inductor.aoti_compile_and_package(program, package_path=str(folder / "package.pt2"))
program.example_inputs = None
torch.export.save(program, folder / "without.pt2")
"""


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Programs of two inputs, the number of rows of which is open."""
    if not HERE["torch"]:
        pytest.skip("needs torch")
    folder = tmp_path_factory.mktemp("exported")
    python(EXPORTED, folder)
    return folder


@pytest.mark.parametrize("name", ["program.pt2", "without.pt2"])
def test_an_exported_program_is_called_and_compiled(compared, exported, name):
    done = compared(exported / name, "torch:contiguous", "torch:export")
    assert [row["status"] for row in done.answer["backends"]] == ["ok", "ok"], done.errors
    assert done.answer["inputs"]["a"] == {"program.pt2": "float32 2x4"}.get(name, "float32 1x4")


def test_a_compiled_package_needs_inputs(run, compared, refused, exported, tmp_path):
    package, data = exported / "package.pt2", tmp_path / "real.npz"
    said = refused("compare", "--model", package, "-o", tmp_path / "run.jsonl")
    assert "give them in its order: --input" in said
    np.savez(data, a=np.ones((3, 4), np.float32), b=np.ones((3, 4), np.float32))
    done = compared(package, "--input", data)
    (row,) = done.answer["backends"]
    assert (row["name"], row["status"]) == ("torch:export", "ok"), done.errors
    lines = run("compare", "--model", package, "--input", data, "--code", "torch:export").output
    assert "model = torch._inductor.aoti_load_package(" in lines
    assert "torch.export.export" not in lines


def test_a_program_with_pickles_is_refused(refused, exported, tmp_path):
    with (
        zipfile.ZipFile(exported / "program.pt2") as program,
        zipfile.ZipFile(tmp_path / "own.pt2", "w") as own,
    ):
        for name in program.namelist():
            own.writestr(name, program.read(name))
        own.writestr("program/data/constants/custom_obj_0", b"\x80\x02.")
    sentence = refused("compare", "--model", tmp_path / "own.pt2", "-o", tmp_path / "run.jsonl")
    assert "own.pt2: it holds pickled objects, which run code of their own" in sentence


@pytest.mark.parametrize("name", ["weights.pt", "weights.pth", "weights.bin"])
def test_a_pickle_is_refused_with_the_way_that_works(tmp_path, name):
    (tmp_path / name).write_bytes(b"\x80\x02}q\x00.")
    with pytest.raises(LenetBenchError, match=r"is a pickle, .* a model.py whose get_model\(\)"):
        own_model(tmp_path / name, {}, {}, "")
