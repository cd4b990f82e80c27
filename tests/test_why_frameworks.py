"""The pieces that frameworks are taken apart by compute what they should, each in a process."""

import functools
import json
import re
from pathlib import Path

import numpy as np
import pytest
from conftest import environment
from lenet_bench import CompareOptions, read_weights
from lenet_bench.backends import reference
from lenet_bench.measure import block
from lenet_bench.network import LAYERS, STAGES
from lenet_bench.questions.why import why
from lenet_bench.registry import find
from lenet_bench.registry.environments import variables
from lenet_bench.results import breakdowns, read_result
from lenet_bench.show.terminal.screen import Screen
from lenet_bench.show.why import in_markdown, in_terminal
from lenet_bench.subjects.formats import own_model
from processes import python

pytestmark = pytest.mark.slow

ON_ONNX = ("openvino", "mnn", "opencv", "tract")
TORCH = ("torch", "torch:contiguous", "torch:torchscript", "torch:compile")
CHANNELS_FIRST = (*ON_ONNX, *TORCH, "executorch")
NAMES = (
    *(*TORCH, "jax", "tensorflow", "tensorflow:concrete", *ON_ONNX),
    *("tensorflow:xla", "tensorflow:session", "keras", "keras:call", "keras:function"),
    *("keras-jax", "keras-torch:predict_on_batch", "keras-openvino"),
    *("litert", "litert:compiled", "tflite-micro"),
)
EAGER = ("torch", "torch:contiguous", "tensorflow", "keras:call", "keras-torch:predict_on_batch")
FEW = ("1", "pool2", "fc2")  # pieces of what takes seconds to compile
NOT_HERE = r"No module named|needs \S+, but \S+ is installed"
CHILD = """
import json, sys
from collections.abc import Mapping
import numpy as np
from lenet_bench import load, read_weights
from lenet_bench.networks import network
from lenet_bench.networks.pieces import pieces
from lenet_bench.subjects.network import placed
from lenet_bench.registry import find
from lenet_bench.why import Case
from lenet_bench.why.ways import ways_of

def ten(answer):
    while isinstance(answer, (list, tuple)):
        answer = answer[0]
    if isinstance(answer, Mapping):
        (answer,) = answer.values()
    return np.ravel(np.asarray(answer))[:10].tolist() if answer is not None else None

found = {}
names, few = json.loads(sys.argv[1])
for name in names:
    load(name)
    case = Case(*find(name), network("lenet"), read_weights(), 1)
    chosen, image = ways_of(case), case.images[0]
    every = pieces(case.network, chosen.form)
    if name == "torch:compile":
        every = [one for one in every if one.name in few or one.kind == "way"]
    found[name] = []
    for one in every:
        made = placed(
            case.row, case.variant, one.network, case.weights, 1, **chosen.others
        )
        ways = chosen.ways if one.kind == "way" else (chosen.ways[0], chosen.ways[-1])
        answers = [ten(way.of(made)(image)) for way in ways]
        found[name].append([one.kind, one.name, [ten for ten in answers if ten is not None]])
    for one in chosen.beside:
        found[name].append([one.kind, one.name, [ten(one.infer(image))]])
    images = case.images.ravel()[:784].tolist()
print("\\n" + json.dumps([found, images]))
"""


GRAPHS = """
import json
import tensorflow as tf
from lenet_bench import read_weights
from lenet_bench.networks import network
from lenet_bench.networks.builders import keras, tensorflow
from lenet_bench.networks.pieces import pieces
from lenet_bench.why.ways import COMPILED

lenet, weights, image = network("lenet"), read_weights(), tf.zeros([1, 28, 28, 1])
found = {"keras": [], "tensorflow": []}
for one in pieces(lenet, COMPILED):
    made = {
        "keras": keras.in_place(one.network, weights)["lenet"](weights),
        "tensorflow": tensorflow.in_place(one.network, weights)["LeNet"](weights),
    }
    for name, model in made.items():
        graph = tf.function(model).get_concrete_function(image)
        found[name].append(len(graph.captured_inputs))
print("\\n" + json.dumps(found))
"""

#: What LeNet and a network that does nothing call of PyTorch, in the form of a variant.
CALLED = """
import json, sys
import torch
from lenet_bench import read_weights
from lenet_bench.networks import network
from lenet_bench.networks.builders.torch import in_place
from lenet_bench.registry import find
from lenet_bench.why import Case
from lenet_bench.why.ways import ways_of
from torch.overrides import TorchFunctionMode

class Names(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        names.append(function.__name__)
        return function(*args, **(kwargs or {}))

class Here(Case):
    placed = {"example": lambda place: torch.zeros(1, 1, 28, 28)}  # also of a GPU that is absent

found = {}
for name in sys.argv[1:]:
    case = Here(*find(name), network("lenet"), read_weights(), 1)
    nothing, *_, whole = case.pieces(ways_of(case).form)
    for piece in (nothing, whole):
        model, names = in_place(piece.network, case.weights)["LeNet"](), []
        with Names():
            model(torch.zeros(1, 1, 28, 28))
        found.setdefault(name, []).append(names)
print("\\n" + json.dumps(found))
"""

#: A compiled module of which Dynamo makes two graphs.
BROKEN = """
from types import SimpleNamespace
import torch
from lenet_bench.errors import Unsupported
from lenet_bench.why import inductor

class Broken(torch.nn.Module):
    def forward(self, x):
        x = x + 1
        torch._dynamo.graph_break()
        return x * 2

torch._inductor.compile = lambda graph, examples: graph
try:
    inductor.below_dynamo(SimpleNamespace(_orig_mod=Broken()), torch.zeros(3))
except Unsupported as error:
    print(error)
"""

#: A model of the user's, its pieces, and what each way answers.
OF_A_MODEL = """
import json, sys
import numpy as np
from lenet_bench import load
from lenet_bench.networks.pieces import block
from lenet_bench.registry import find
from lenet_bench.subjects.framework_model import FrameworkModel, as_list
from lenet_bench.subjects.keras_file import KerasFile
from lenet_bench.weights import Weights
from lenet_bench.why.own_model import OfModel
from lenet_bench.why.ways import ways_of

load(sys.argv[1])  # which sets the framework's threads, before it makes a model

{made}

def parts(answer):
    if answer is None:
        return None
    arrays = [one for one in as_list(answer) if hasattr(one, "shape")]
    return [np.ravel(np.asarray(one, np.float32)).tolist() for one in arrays]

found = {{}}
for name in sys.argv[1:]:
    built = subject.build(name, 1, Weights({{}}), first)
    network = block("own", next(iter(first.values())).shape[1:])
    case = OfModel(*find(name), network, Weights({{}}), 1, subject, first)
    chosen = ways_of(case)
    found[name] = {{"call": parts(built.infer(first)), "pieces": []}}
    for piece in case.pieces(chosen.form):
        made = case.built(piece, chosen)
        answers = [parts(way.of(made)(first)) for way in chosen.ways]
        found[name]["pieces"].append([piece.name, piece.operations, answers])
print("\\n" + json.dumps([found, [one.ravel().tolist() for one in first.values()]]))
"""
KERAS_FILE = """
import keras, tempfile
from keras import layers
x, words = keras.Input((3, 5), name="x"), keras.Input((4,), dtype="int32", name="words")
y = layers.Dense(2)(layers.Flatten()(x))
inputs, outputs = x, y
if {several}:
    seen = layers.Flatten()(layers.Embedding(9, 2)(words))
    inputs, outputs = [words, x], [layers.Concatenate()([y, seen]), y]
file = tempfile.mkdtemp() + "/own.keras"
keras.Model(inputs, outputs).save(file)
values = {{
    "words": np.array([[1, 2, 3, 4]], np.int32),
    "x": np.linspace(-1, 1, 15, dtype=np.float32).reshape(1, 3, 5),
}}
first = values if {several} else {{"x": values["x"]}}
subject = KerasFile(file, outputs=("a", "b") if {several} else ("a",))
"""
MODULE = """
import torch

class Own(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.full = torch.nn.Linear(15, 2)

    def forward(self, x):
        return torch.relu(self.full(torch.flatten(x, 1)))

torch.manual_seed(0)
whole = Own().eval()
first = {"x": np.linspace(-1, 1, 15, dtype=np.float32).reshape(1, 3, 5)}

class OfPyTorch(FrameworkModel):
    framework, modules, formats = "PyTorch", ("torch",), ()

    def load(self):
        return whole

    def exact(self, model, inputs, *, double):
        return [model(torch.from_numpy(inputs["x"]))]

    def in_place(self, placing):
        def plain(weights, threads, device):
            return placing.load().to(device)

        def example(device):
            return torch.from_numpy(placing.first["x"]).to(device)

        return {"plain": plain, "example": example}

subject = OfPyTorch("own")
"""

SAVED = """
import tempfile
import tensorflow as tf
from lenet_bench.subjects.saved_model import SavedModel

full = tf.Variable(tf.reshape(tf.linspace(-1.0, 1.0, 30), [15, 2]))
table = tf.Variable(tf.reshape(tf.range(18.0), [9, 2]))

def one(x):
    return {{"a": tf.nn.relu(tf.reshape(x, [1, 15]) @ full)}}

def both(x, words):
    return {{**one(x), "b": tf.gather(table, words)}}

values = {{
    "words": np.array([[1, 2, 3, 4]], np.int32),
    "x": np.linspace(-1, 1, 15, dtype=np.float32).reshape(1, 3, 5),
}}
first = values if {several} else {{"x": values["x"]}}
specs = {{name: tf.TensorSpec(one.shape, one.dtype, name) for name, one in first.items()}}
module, file = tf.Module(), tempfile.mkdtemp()
module.held = [full, table]
graph = tf.function(both if {several} else one).get_concrete_function(**specs)
tf.saved_model.save(module, file, graph)
subject = SavedModel(file, outputs=("a", "b") if {several} else ("a",))
"""
FUNCTION = """
import tempfile
from pathlib import Path
from lenet_bench.subjects.by_example import ONE
from lenet_bench.subjects.python_model import PythonJax

file = Path(tempfile.mkdtemp()) / "model.py"
file.write_text('''
import jax
import numpy as np
w = jax.random.normal(jax.random.key(0), (5, 2))
def get_args():
    return (np.ones((1, 3, 5), np.float32),)
def one():
    return lambda x: jax.nn.softmax(x @ w)
def both():
    return lambda x, words: {{"z": x @ w, "a": w[words]}}
''')
first = {{"x": np.linspace(-1, 1, 15, dtype=np.float32).reshape(1, 3, 5)}}
if {several}:
    first["words"] = np.array([[1, 2, 3, 4]], np.int32)
name = "both" if {several} else "one"
subject = PythonJax(f"{{file}}:{{name}}", outputs=("a", "z") if {several} else ONE)
"""


def said_by(framework, program, *arguments):
    """What the program prints in its environment; skips where the framework is not here."""
    own = environment(**variables(find(framework)[0], 1, hide_output=True))
    done = python(program, *arguments, code=None, env=own)
    if re.search(NOT_HERE, done.stderr):
        pytest.skip(done.stderr.splitlines()[-1])
    assert done.returncode == 0, done.stderr
    return done.stdout


@functools.cache
def answers_of(framework):
    """Ten floats of each piece's answers, of a framework's variants, all from one process."""
    names = [name for name in NAMES if find(name)[0].name == framework]
    return json.loads(said_by(framework, CHILD, json.dumps([names, FEW])).splitlines()[-1])


@pytest.fixture(scope="module", params=NAMES)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def image(name):
    return np.array(answers_of(find(name)[0].name)[1], np.float32).reshape(1, 28, 28)


@pytest.fixture(scope="module")
def found(name):
    answers, _ = answers_of(find(name)[0].name)
    return {(kind, piece): given for kind, piece, given in answers[name]}


def test_a_cut_network_computes_what_lenet_does_until_there(name, image, found):
    layers = reference.build(read_weights())(image)
    tried = [(key, cut) for cut, key in zip(STAGES, LAYERS, strict=True) if ("stage", cut) in found]
    assert tried
    for key, cut in tried:
        layer = layers[key][0]
        if layer.ndim == 3 and name not in CHANNELS_FIRST:
            layer = layer.transpose(1, 2, 0)
        for answer in found["stage", cut]:
            expected = layer.ravel()[: len(answer)]
            assert answer == pytest.approx(expected, abs=2e-4), cut


def test_all_ways_answer_for_a_network_that_does_nothing(image, found):
    for (kind, _), answers in found.items():
        for answer in answers if kind in ("way", "hand-over") else ():
            assert answer == pytest.approx(image.ravel()[:10])


@pytest.mark.parametrize("framework", ["keras-jax", "keras-openvino"])
def test_predict_is_taken_apart_down_to_predict_on_batch(framework):
    answers, _ = answers_of(framework)
    (of_nothing,) = (given for kind, _, given in answers[framework] if kind == "way")
    assert len(of_nothing) == len(("checks", "loop", "entering"))


def test_a_trivial_layer_is_a_softmax_of_ten_pixels_or_where_eager_a_relu(name, image, found):
    ten = image.ravel()[:10]
    powers = np.exp(ten)
    expected = ten if name in EAGER else powers / powers.sum()
    assert found["operations", "1"]
    for answer in found["operations", "1"]:
        assert answer == pytest.approx(expected, abs=1e-5)


def test_an_eager_network_that_does_nothing_has_no_unused_layers():
    """No compiler would leave them out."""
    names = ("torch", "torch:contiguous", "torch@gpu", "torch:contiguous@gpu")
    for name, called in json.loads(said_by("torch", CALLED, *names).splitlines()[-1]).items():
        assert ["conv2d" in functions for functions in called] == [False, True], name


def test_a_module_of_several_graphs_is_left_whole_with_the_reason():
    assert "Dynamo makes 2 graphs of it, and why takes one apart" in said_by("torch", BROKEN)


def test_each_graph_of_tensorflow_is_given_all_weights():
    """A call hands them over in Python, so a network that does nothing must have them."""
    for name, counts in json.loads(said_by("keras", GRAPHS).splitlines()[-1]).items():
        assert set(counts) == {8}, name  # weights and biases of four layers


TRIES = 3  # whole runs: on a busy machine a part of a call may be far too long


@pytest.fixture
def tries():
    """Runs of Keras' two ways to ask the same network: the parts of each, as often as needed."""

    def tried():
        found = why(CompareOptions(("keras", "keras:predict_on_batch"), rounds=1))
        if "unavailable" in {one.status for one in found}:
            pytest.skip(str([one.reason for one in found]))
        assert [one.reason for one in found] == [None] * 2
        return {one.name: {part.name: part.us for part in one.parts} for one in found}

    return (tried() for _ in range(TRIES))


OF_PREDICT = {
    *("data set", "tuning", "loop", "callbacks", "second iterator", "batch", "pipeline"),
    "iterator",
}


def test_most_of_keras_predict_is_its_data_set(tries):
    shares = []
    for parts in tries:
        assert set(parts["keras"]) - set(parts["keras:predict_on_batch"]) == OF_PREDICT
        assert not OF_PREDICT & set(parts["keras:predict_on_batch"])
        most = sum(parts["keras"][name] for name in ("data set", "pipeline", "second iterator"))
        shares.append(most / sum(parts["keras"].values()))
        if shares[-1] > 1 / 2:
            break
    assert max(shares) > 1 / 2, shares


@pytest.mark.parametrize(
    ("framework", "answer"),
    [("tensorflow", "[[tensorflow.zeros(10)], 'a graph']"), ("jax", "(jax.numpy.zeros(10), 2)")],
)
def test_a_wait_for_a_gpu_takes_whatever_an_api_answers_with(framework, answer):
    code = (
        f"import {framework}\n"
        "from lenet_bench.registry import find\n"
        "from lenet_bench.registry.devices import wait\n"
        f"assert wait(find({framework!r})[0]) is None\n"
        f"wait(find('{framework}@gpu')[0])({answer})\n"
    )
    said_by(framework, code)


TENSORFLOW = ("tensorflow", *(f"tensorflow:{name}" for name in ("function", "concrete", "xla")))
ON_MODELS = {
    "keras": (KERAS_FILE.format(several=False), ("keras", "keras:predict_on_batch", "keras:call")),
    "keras, several inputs": (
        KERAS_FILE.format(several=True),
        ("keras", "keras:predict_on_batch", "keras:call", "keras:function"),
    ),
    "keras-jax": (KERAS_FILE.format(several=False), ("keras-jax:jit", "keras-jax:call")),
    "torch": (MODULE, ("torch", "torch:torchscript", "torch:compile")),
    "tensorflow": (SAVED.format(several=False), (*TENSORFLOW, "tensorflow:session")),
    "tensorflow, several inputs": (SAVED.format(several=True), TENSORFLOW),
    "jax": (FUNCTION.format(several=False), ("jax", "jax:aot")),
    "jax, several inputs": (FUNCTION.format(several=True), ("jax", "jax:aot")),
}
#: What each model has of them, as its framework counts.
OPERATIONS = {
    **{"keras": 2, "keras, several inputs": 5, "keras-jax": 2, "torch": 3},
    **{"tensorflow": 3, "tensorflow, several inputs": 4, "jax": 1, "jax, several inputs": 1},
}


@pytest.mark.parametrize("of", ON_MODELS)
def test_each_way_calls_a_users_model_and_trivial_ones_with_its_inputs(of):
    made, names = ON_MODELS[of]
    program = OF_A_MODEL.format(made=made)
    found, inputs = json.loads(said_by(of.partition(",")[0], program, *names).splitlines()[-1])
    assert set(found) == set(names)
    for name, of_name in found.items():
        (nothing, _, ways), *trivial, (whole, operations, answers) = of_name["pieces"]
        for answer in filter(None, ways):
            ((*given,),) = answer
            assert given[:10] == pytest.approx(inputs[0][:10]), (name, nothing)
        counts = [count for _, count, _ in trivial]
        assert np.diff(counts).tolist() == [7, 56]
        assert operations == OPERATIONS[of]
        told = [answer for answer in answers if answer is not None]
        assert len(told) > 1
        assert whole == "network"
        for answer in told:
            assert len(answer) == len(of_name["call"])
            for one, expected in zip(answer, of_name["call"], strict=True):
                assert one == pytest.approx(expected, abs=1e-5), name


@pytest.fixture(scope="module")
def of_a_file(tmp_path_factory):
    """A run of a user's Keras file."""
    folder = tmp_path_factory.mktemp("own")
    program = (
        "import keras, sys\n"
        "layers = [keras.Input((8, 8, 3)), keras.layers.Flatten(), keras.layers.Dense(4)]\n"
        "keras.Sequential(layers).save(sys.argv[1])\n"
    )
    said_by("keras", program, str(folder / "own.keras"))
    names = ("keras", "keras:predict_on_batch", "onnxruntime")
    path = folder / "why.jsonl"
    subject = own_model(folder / "own.keras", {}, {}, "")
    with pytest.MonkeyPatch.context() as patch:  # which parts there are is asked, not how long
        patch.setattr(block, "_TURNS_S", 20.0)
        why(CompareOptions(names, rounds=1, output=path, subject=subject))
    return read_result(path)


AROUND = ("finding the graph", "Python", "hand-over", "entering", "dispatch", "network")


def test_the_call_of_a_users_keras_file_has_lenets_parts_and_its_network_as_one_block(of_a_file):
    found = {one.name: one for one in breakdowns(of_a_file)}
    for name, own in (("keras", OF_PREDICT), ("keras:predict_on_batch", set())):
        one = found[name]
        assert one.reason is None
        figures = {part.name: part.us for part in one.parts}
        assert set(figures) == {"checks", "arrays", *own, *AROUND, "unexplained"}
        assert sum(figures.values()) == pytest.approx(one.median_us)
        assert one.anatomy
        assert one.anatomy.python_calls["keras"] > 0
    assert "converted" in str(found["onnxruntime"].reason)


OF_GRAPHS = {
    "tensorflow": {
        "tensorflow": {"arrays", "Python", "hand-over"},
        "tensorflow:function": {"arrays", "finding the graph", "Python", "hand-over"},
        "tensorflow:session": {"Python"},
    },
    "jax": {"jax": {"arrays"}, "jax:aot": {"arrays"}},
}


@pytest.mark.parametrize("framework", OF_GRAPHS)
def test_the_call_of_a_users_graph_has_lenets_parts(tmp_path, framework):
    made, path = ON_MODELS[framework][0], tmp_path / "why.jsonl"
    program = f"import numpy as np\n{made}\nprint(subject.file)"
    file = said_by(framework, program).splitlines()[-1]
    subject, names = own_model(Path(file)), tuple(OF_GRAPHS[framework])
    why(CompareOptions(names, rounds=1, output=path, subject=subject))
    for one in breakdowns(read_result(path)):
        own = OF_GRAPHS[framework][one.name]
        assert one.reason is None
        assert {part.name for part in one.parts} == {
            *("checks", *own, "entering", "dispatch", "network", "unexplained")
        }


def test_a_users_model_is_told_with_its_file_and_its_network(of_a_file):
    text = "\n".join(in_terminal(of_a_file, Screen(columns=200, colour=False)))
    assert text.startswith("own.keras (")
    assert re.search(r"^ *network +\S+ .s ", text, re.MULTILINE)
    table = "\n".join(in_markdown(of_a_file))
    assert "| network |" in table
    assert "convolutions" not in table
