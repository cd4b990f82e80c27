"""Networks in LeNet's place: their definitions, their builders, and the commands that take them."""

import json
import os
import re
import signal
import sys
from typing import Any

import numpy as np
import pytest
from conftest import ROOT, environment
from lenet_bench.cli.output import each_network
from lenet_bench.errors import LenetBenchError, Unsupported
from lenet_bench.networks import NETWORKS, exact, memory, network, seeded
from lenet_bench.networks.graph import Draft
from lenet_bench.registry import find, tolerance
from lenet_bench.registry.environments import interpreter, variables
from lenet_bench.results import read_result
from lenet_bench.subjects.network import LACKING, able, check_memory, place
from processes import ran

Array = Any

SMALL = ("mlp", "lenet", "gru", "cifar", "block")
LARGE = tuple(name for name in NETWORKS if name not in SMALL)
#: One variant of each API, and of each framework below Keras.
BUILT = (
    *("numpy", "torch", "jax", "tensorflow:concrete", "litert", "tflite-micro", "executorch"),
    *("keras:predict_on_batch", "keras-jax:predict_on_batch", "keras-torch:predict_on_batch"),
    *("keras-openvino:predict_on_batch", "onnxruntime", "openvino", "opencv", "mnn:module"),
    *("mnn", "tract", "iree", "tvm", "ncnn", "onednn"),
)
_ALLOWED = 1e-4  # of the distance, times what LeNet's tolerance has over that of float32


def one_layer(kind, shape, **rest):
    """A network of one layer, its answer to an input, and the input."""
    draft = Draft(shape)
    draft.add(kind, **rest)
    made = draft.done("one", "")
    (image,) = seeded.inputs_of(made, 1, seed=0).astype(np.float64)
    return made, exact.answer_of(made, seeded.weights_of(made), image), image


@pytest.mark.parametrize(
    ("name", "millions", "multiply_adds"),
    [
        ("alexnet", 61.1, 714e6),
        ("googlenet", 7.0, 1.58e9),
        ("resnet50", 25.5, 4.09e9),
        ("vgg16", 138.4, 15.47e9),
    ],
)
def test_a_network_has_the_size_that_is_published(name, millions, multiply_adds):
    assert network(name).weights / 1e6 == pytest.approx(millions, rel=5e-3)
    assert network(name).multiply_adds == pytest.approx(multiply_adds, rel=5e-3)


@pytest.mark.parametrize(
    "name", [*SMALL, *(pytest.param(n, marks=pytest.mark.slow) for n in LARGE)]
)
def test_activations_neither_vanish_nor_grow(name):
    one = network(name)
    (image,) = seeded.inputs_of(one, 1, seed=0)
    outputs = exact.layers_of(one, seeded.weights_of(one), image, np.float32)
    for layer in one.computed:
        output = outputs[layer.name]
        size = np.sqrt(np.mean(output**2)) * (len(output) if layer.kind == "softmax" else 1)
        assert 0.1 < size < 10, layer.name
        smallest = np.abs(output[output != 0]).min()
        assert smallest > np.finfo(np.float32).tiny, layer.name


def test_a_convolution_with_a_stride_is_the_sum_over_its_window():
    made, answer, image = one_layer("conv", (2, 9, 9), out=3, side=3, stride=2, pad=1)
    p = seeded.weights_of(made)
    window = image[:, 3:6, 1:4]  # around (4, 2)
    by_hand = (window * p["conv1.weight"][1]).sum() + p["conv1.bias"][1]
    assert answer[1, 2, 1] == pytest.approx(by_hand)


def test_a_pool_beyond_the_edge_sees_what_is_inside():
    _, answer, image = one_layer("pool", (1, 4, 4), side=3, stride=2, pad=1)
    assert answer[0, 0, 0] == image[0, :2, :2].max()


def test_attention_is_a_mean_of_values_by_the_scores_of_each_head():
    made, answer, x = one_layer("attention", (3, 8), heads=2)
    p = seeded.weights_of(made)
    projected = x @ p["attention1.in_proj_weight"].T + p["attention1.in_proj_bias"]
    query, key, value = np.split(projected, 3, axis=1)
    heads = []
    for head in (slice(0, 4), slice(4, 8)):
        scores = np.exp([query[1, head] @ key[token, head] / 2 for token in range(3)])
        heads.append(scores / scores.sum() @ value[:, head])
    by_hand = p["attention1.out_proj.weight"] @ np.concatenate(heads)
    assert answer[1] == pytest.approx(by_hand + p["attention1.out_proj.bias"])


def test_a_gru_keeps_its_state_where_the_update_gate_is_open():
    x, zeros = np.ones((5, 2)), np.zeros((6, 2))
    always = np.array([0, 0, 50, 50, 0, 0], np.float64)  # reset, update, new
    assert exact.gru(x, zeros, zeros, always, np.zeros(6)) == pytest.approx([0, 0])


def test_layer_normalisation_gives_each_token_mean_and_variance():
    tokens = exact.normalised(np, np.arange(12.0).reshape(3, 4) ** 2, np.ones(4), np.zeros(4))
    assert tokens.mean(axis=1) == pytest.approx([0, 0, 0])
    assert tokens.std(axis=1) == pytest.approx([1, 1, 1], abs=1e-4)


#: Each network's distance from the exact answers on a backend, or why it has none.
DISTANCES = """
import json, sys
import numpy as np
from lenet_bench.errors import Unavailable, Unsupported
from lenet_bench.networks import exact, network, seeded
from lenet_bench.subjects.network import images_of, place
from lenet_bench.registry import find

backend, *names = sys.argv[1:]
found = {}
for one in map(network, names):
    weights, inputs = seeded.weights_of(one), seeded.inputs_of(one, 2, seed=3)
    try:
        placed = place(backend, one, weights, 1)
        answers = [placed.infer(image) for image in images_of(find(backend)[0], inputs)]
    except Unsupported as error:
        found[one.name] = str(error)
        continue
    except Unavailable as error:
        found = {"": str(error)}
        break
    expected = np.stack([exact.answer_of(one, weights, image) for image in inputs])
    found[one.name] = exact.distance(np.stack(answers), expected)
print()
print(json.dumps(found))
"""


def distances(backend, *names):
    row, _ = find(backend)
    here = environment(**variables(row, 1, hide_output=True))
    done = ran(interpreter(row), "-c", DISTANCES, backend, *names, env=here, timeout=1800)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if "" in found:
        pytest.skip(found[""])
    return found


@pytest.mark.parametrize("backend", BUILT)
def test_every_small_network_answers_as_its_definition_says(backend):
    check(backend, *SMALL)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["numpy", "onnxruntime", "onednn"])
def test_every_large_network_answers_as_its_definition_says(backend):
    check(backend, *LARGE)


def check(backend, *names):
    """A network of a layer that the API lacks is refused, every other is right."""
    allowed = _ALLOWED * tolerance(backend) / tolerance("numpy")
    for name, found in distances(backend, *names).items():
        if any(backend in LACKING.get(kind, ()) for kind in network(name).kinds):
            assert isinstance(found, str), name
        else:
            assert isinstance(found, float), found
            assert found < allowed, name


def test_a_variant_in_less_than_float32_says_so():
    mlp = network("mlp")
    with pytest.raises(Unsupported, match="int8"):
        place("onnxruntime:int8", mlp, seeded.weights_of(mlp), 1)


def test_an_unknown_network_is_named_with_those_that_there_are():
    with pytest.raises(LenetBenchError, match="no network is called lenet5; there are mlp, "):
        network("lenet5")


def test_a_network_that_does_not_fit_the_memory_is_refused_before_it_starts(monkeypatch):
    monkeypatch.setattr(memory, "_SPARE", 1 << 60)
    with pytest.raises(LenetBenchError, match="vgg16 has 138 million weights"):
        check_memory(network("vgg16"))


def test_the_budget_binds_the_exact_answers_too(run, tmp_path):
    """They are computed before the run, once, so here the cache is empty."""
    options = ("numpy", "--budget", "0.5s", "-o", tmp_path / "run.jsonl")
    done = run("compare", "--network", "vgg16", *options, XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert done.code != 0
    assert "vgg16: the budget ended before its exact answers were computed" in done.errors


def test_a_network_that_is_refused_does_not_end_the_others():
    ran: list[str] = []

    def run(name):
        if name == "vgg16":
            raise LenetBenchError("too large")
        ran.append(name)
        return 0

    assert each_network("all", run) == 1
    assert {*ran, "vgg16"} == set(NETWORKS)


def test_an_interrupt_before_a_network_is_measured_ends_them_all():
    ran: list[str] = []

    def run(name):
        ran.append(name)
        if name == NETWORKS[1]:
            signal.raise_signal(signal.SIGTERM)
        return 0

    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        assert each_network("all", run) == 130
    finally:
        signal.signal(signal.SIGTERM, before)
    assert tuple(ran) == NETWORKS[:2]


@pytest.fixture(scope="module")
def measured(run, tmp_path_factory):
    """A result of one network on what runs it and on what does not."""
    file = tmp_path_factory.mktemp("networks") / "mlp.jsonl"
    done = run("compare", "--network", "mlp", "numpy", "fused", "--rounds", "1", "-o", file)
    assert done.code == 0, done.errors
    assert "mlp in LeNet's place" in done.output
    assert "fused: unsupported: fused is written for LeNet only" in done.output
    return file


@pytest.mark.parametrize("command", ["compare", "why"])
def test_a_run_in_which_nothing_was_timed_fails(run, tmp_path, command):
    done = run(command, "--network", "mlp", "fused", "--rounds", "1", "-o", tmp_path / "r.jsonl")
    assert done.code == 1
    assert "No backend could be timed." in done.output


def test_a_result_names_its_network(run, measured):
    found = run("report", measured, "--json").answer
    assert found["network"] == "mlp"
    assert found["float32"] < 1e-5
    assert 0 < found["backends"][0]["difference"] < 100 * found["float32"]


def test_a_page_names_its_network(run, measured, tmp_path):
    page = tmp_path / "page.html"
    run("report", measured, "-o", page)
    assert "<h1>The network mlp takes " in page.read_text()


def test_results_of_two_networks_are_not_compared(run, refused, measured, tmp_path):
    other = tmp_path / "gru.jsonl"
    run("compare", "--network", "gru", "numpy", "--rounds", "1", "-o", other)
    assert "two networks, mlp and gru" in refused("diff", measured, other)


def test_a_run_is_continued_with_its_own_network_only(refused, measured):
    said = refused("compare", "numpy", "fused", "--rounds", "2", "-o", measured)
    assert "network: mlp, now lenet" in said


def test_verify_gives_the_distance_as_a_multiple_of_that_of_float32(run):
    found = run("verify", "--network", "mlp", "-b", "numpy", "--json").answer
    assert found["difference"] < 100 * found["float32"]


def test_networks_lists_who_can_run_each(run):
    found = {one["name"]: one for one in run("networks", "--json").answer}
    assert tuple(found) == NETWORKS
    assert set(found["mlp"]["apis"]) == set(able())
    assert "tvm" not in found["gru"]["apis"]


def test_the_control_measures_lenet_by_hand_beside_lenet_from_the_builder(tmp_path):
    file = tmp_path / "control.jsonl"
    words = ("--built", "numpy", "--rounds", "1", "-o", file)
    ran(sys.executable, "-m", "bench.settings", *words, cwd=ROOT)
    rows = [(row.name, row.status) for row in read_result(file).backends]
    assert rows == [("numpy", "ok"), ("numpy, built", "ok")]


@pytest.mark.slow
def test_all_networks_have_a_file_each(run, tmp_path):
    run("compare", "--network", "all", "numpy", "--rounds", "1", "-o", tmp_path / "run.jsonl")
    files = {name: tmp_path / f"run-{name}.jsonl" for name in NETWORKS}
    assert {name: read_result(file).rules.network for name, file in files.items()} == {
        name: name for name in NETWORKS
    }


#: A network in LeNet's place on a row that is said to be on a GPU.
ON_A_FAKE_GPU = """
import sys
from dataclasses import replace
from lenet_bench.errors import Unavailable
from lenet_bench.networks import network, seeded
from lenet_bench.subjects.network import images_of, placed
from lenet_bench.registry import find
from lenet_bench.registry.devices import ProvenOnGpu
row, variant = find(sys.argv[1])
made = network("cifar")
net = placed(replace(row, device="gpu"), variant, made, seeded.weights_of(made), 1)
try:
    ProvenOnGpu(net, "it", "fix it").infer(images_of(row, seeded.inputs_of(made, 1))[0])
except Unavailable as error:
    print(error)
"""


@pytest.mark.parametrize("name", ["jax", "jax:arguments", "keras-jax:predict_on_batch"])
def test_a_network_proves_on_which_device_it_computes(name):
    row, _ = find(name)
    pytest.importorskip("jax")
    pytest.importorskip(row.module)
    said = ran(
        interpreter(row),
        *("-c", ON_A_FAKE_GPU, name),
        env={**os.environ, **variables(row, 1, hide_output=True)},
    ).stdout
    assert re.search(r"\(it computed on \S*cpu\S* without an error\)", said, re.IGNORECASE)
