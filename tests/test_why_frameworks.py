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
from lenet_bench.network import LAYERS, STAGES
from lenet_bench.questions.why import why
from lenet_bench.registry import find
from lenet_bench.registry.environments import variables
from processes import python

pytestmark = pytest.mark.slow

ON_ONNX = ("openvino", "mnn", "opencv", "tract")
CHANNELS_FIRST = (*ON_ONNX, "torch", "torch:torchscript", "torch:compile", "executorch")
NAMES = (
    *("torch", "torch:torchscript", "jax", "tensorflow", "tensorflow:concrete", *ON_ONNX),
    *("tensorflow:xla", "tensorflow:session", "keras", "keras:call", "keras:function"),
    *("keras-jax", "keras-torch:predict_on_batch"),
    *("litert", "litert:compiled", "tflite-micro"),
    "torch:compile",
)
EAGER = ("torch", "tensorflow", "keras:call", "keras-torch:predict_on_batch")
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


def test_a_trivial_layer_is_a_softmax_of_ten_pixels_or_where_eager_a_relu(name, image, found):
    ten = image.ravel()[:10]
    powers = np.exp(ten)
    expected = ten if name in EAGER else powers / powers.sum()
    assert found["operations", "1"]
    for answer in found["operations", "1"]:
        assert answer == pytest.approx(expected, abs=1e-5)


def test_each_graph_of_tensorflow_is_given_all_weights():
    """A call hands them over in Python, so a network that does nothing must have them."""
    for name, counts in json.loads(said_by("keras", GRAPHS).splitlines()[-1]).items():
        assert set(counts) == {8}, name  # weights and biases of four layers


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Of Keras' two ways to ask the same network."""
    path: Path = tmp_path_factory.mktemp("why") / "why.jsonl"
    names = ("keras", "keras:predict_on_batch")
    found = why(CompareOptions(names, rounds=1, output=path))
    if "unavailable" in {one.status for one in found}:
        pytest.skip(str([one.reason for one in found]))
    assert [one.reason for one in found] == [None] * 2
    return {one.name: {part.name: part.us for part in one.parts} for one in found}


OF_PREDICT = {
    *("data set", "tuning", "loop", "callbacks", "second iterator", "batch", "pipeline"),
    "iterator",
}


def test_most_of_keras_predict_is_its_data_set(parts):
    most = sum(parts["keras"][name] for name in ("data set", "pipeline", "second iterator"))
    assert most > sum(parts["keras"].values()) / 2
    assert set(parts["keras"]) - set(parts["keras:predict_on_batch"]) == OF_PREDICT
    assert not OF_PREDICT & set(parts["keras:predict_on_batch"])


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
