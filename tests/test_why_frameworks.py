"""The networks that frameworks are taken apart by compute what they should, each in a process."""

import functools
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import environment
from lenet_bench import CompareOptions, read_weights
from lenet_bench.backends import reference
from lenet_bench.probes import ALONE, COUNTS, CUTS, IMAGES, IN_FULL, SOFTMAX
from lenet_bench.questions.why import why
from lenet_bench.registry import find
from lenet_bench.registry.environments import variables
from processes import python

pytestmark = pytest.mark.slow

ON_ONNX = ("openvino", "mnn", "opencv", "tract")
INDUCTOR = "torch:compile"  # a network takes it seconds: few are asked
CHANNELS_FIRST = (*ON_ONNX, INDUCTOR, "torch")
Answers = dict[tuple[str, str], Any]

TEN = IMAGES.ravel()[:10]
NAMES = (
    *("torch", "torch:torchscript", "jax", "tensorflow", "tensorflow:concrete", *ON_ONNX),
    *(
        "tensorflow:xla",
        "tensorflow:session",
        "keras",
        "keras:call",
        "keras-jax",
        "keras-torch:predict_on_batch",
    ),
    *("litert", "litert:compiled", "tflite-micro", "keras:function"),
)
#: What each is asked for: how many trivial operations, and where LeNet is cut.
ASKED = {
    **dict.fromkeys(NAMES, (tuple(COUNTS), tuple(CUTS))),
    INDUCTOR: (tuple(COUNTS[-1:]), ("pool2", CUTS[-1])),
}
NOT_HERE = r"No module named|needs \S+, but \S+ is installed"
CHILD = """
import json, sys
from collections.abc import Mapping
from importlib import import_module
import numpy as np
from lenet_bench import load, probes, read_weights
from lenet_bench.probes import IMAGES, probes_of
from lenet_bench.registry import find

def ten(answer):
    while isinstance(answer, (list, tuple)):
        answer = answer[0]
    if isinstance(answer, Mapping):
        (answer,) = answer.values()
    return np.ravel(np.asarray(answer))[:10].tolist()

found = {}
names, counts, cuts = json.loads(sys.argv[1])
for name in names:
    load(name)
    import_module(f"lenet_bench.probes.{find(name)[0].module}")
    probes.COUNTS, probes.CUTS = counts, cuts
    made = probes_of(*find(name), read_weights(), 1)
    found[name] = [[p.kind, p.name, ten(p.infer(IMAGES[0]))] for p in made]
print("\\n" + json.dumps(found))
"""


@functools.cache
def answers_of(framework: str, counts: tuple[int, ...], cuts: tuple[str, ...]) -> Any:
    """Ten floats of each network's answer, of a framework's variants, all from one process."""
    names = [
        name
        for name, asked in ASKED.items()
        if find(name)[0].name == framework and asked == (counts, cuts)
    ]
    own = environment(**variables(find(framework)[0], 1, quiet=True))
    done = python(CHILD, json.dumps([names, counts, cuts]), code=None, env=own)
    if re.search(NOT_HERE, done.stderr):
        pytest.skip(done.stderr.splitlines()[-1])
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    return {
        name: {(kind, probe): answer for kind, probe, answer in answers}
        for name, answers in found.items()
    }


@pytest.fixture(scope="module", params=ASKED)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def found(name: str) -> Answers:
    return dict(answers_of(find(name)[0].name, *ASKED[name])[name])


def test_a_cut_network_computes_what_lenet_does_until_there(name: str, found: Answers) -> None:
    layers = reference.build(read_weights())(IMAGES)
    assert found.get(("stage", IN_FULL), TEN) == pytest.approx(TEN)
    _, cuts = ASKED[name]
    for cut in cuts:
        layer = layers[cut][0]
        if layer.ndim == 3 and name not in CHANNELS_FIRST:
            layer = layer.transpose(1, 2, 0)
        assert found["stage", cut] == pytest.approx(layer.ravel()[:10], abs=2e-4), cut
    last = found["stage", CUTS[-1]]
    assert found.get(("stage", ALONE), last) == pytest.approx(last, abs=2e-4)


def test_all_trivial_operations_and_the_softmax_are_done(name: str, found: Answers) -> None:
    expected, (counts, _) = TEN, ASKED[name]
    for done in range(1, COUNTS[-1] + 1):
        fused = name.startswith(("tensorflow", "keras"))  # grappler would fuse the tangents
        expected = expected / (1 + np.abs(expected)) if fused else np.tanh(expected)
        if done in counts:
            assert found["operations", str(done)] == pytest.approx(expected, abs=1e-5)
    softmax = np.exp(TEN) / np.exp(TEN).sum()
    assert found["stage", SOFTMAX] == pytest.approx(softmax, abs=1e-5)
    ways = [answer for (kind, _), answer in found.items() if kind in ("way", "hand-over")]
    assert len(ways) >= 2
    for answer in ways:  # of a network that does nothing
        assert answer == pytest.approx(TEN)


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, float]]:
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


def test_most_of_keras_predict_is_its_data_set(parts: dict[str, dict[str, float]]) -> None:
    most = sum(parts["keras"][name] for name in ("data set", "pipeline", "second iterator"))
    assert most > sum(parts["keras"].values()) / 2
    assert set(parts["keras"]) - set(parts["keras:predict_on_batch"]) == OF_PREDICT
    assert not OF_PREDICT & set(parts["keras:predict_on_batch"])


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("tensorflow@gpu", "[[tensorflow.zeros(10)], 'a graph']"),
        ("jax@gpu", "(jax.numpy.zeros(10), 2)"),
    ],
)
def test_a_wait_for_a_gpu_takes_whatever_an_api_answers_with(name: str, answer: str) -> None:
    framework = name.partition("@")[0]
    code = (
        f"import {framework}\n"
        "from lenet_bench.registry import find\n"
        "from lenet_bench.registry.devices import wait\n"
        f"assert wait(find({framework!r})[0]) is None\n"
        f"wait(find({name!r})[0])({answer})\n"
    )
    on_cpu = variables(find(framework)[0], 1, quiet=True)
    done = python(code, code=None, env=environment(**on_cpu))
    if re.search(NOT_HERE, done.stderr):
        pytest.skip(done.stderr.splitlines()[-1])
    assert done.returncode == 0, done.stderr
