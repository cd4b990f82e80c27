"""The builders in C++: what they make of a network's layers, and which layers they refuse."""

from dataclasses import replace

import numpy as np
import pytest
from lenet_bench.networks import exact, network, seeded
from lenet_bench.networks.graph import Draft
from lenet_bench.registry import find, native
from lenet_bench.subjects.network import place
from networks import branched, loaded


@pytest.fixture(autouse=True)
def _is_here():
    loaded("onednn")


def load(shape, *layers):
    row = find("onednn")[0].native
    assert row
    return native.load(replace(row, cls=row.built))(shape, layers, threads=1)


def layer(kind, *shapes, reads=(0,), window=(1, 1, 0)):
    arrays = [np.ones(shape, np.float32) for shape in shapes]
    return ("one", kind, list(reads), (*window, 3), arrays)


def distance(made):
    weights, inputs = seeded.weights_of(made), seeded.inputs_of(made, 3, seed=2)
    built = place("onednn", made, weights, 1)
    answers = np.stack([built.infer(one) for one in inputs])
    expected = [exact.answer_of(made, weights, one).ravel() for one in inputs]
    return exact.distance(answers, np.stack(expected))


def test_branches_are_added_to_what_nobody_reads_later_only():
    assert distance(branched()) < 1e-5


def test_an_answer_that_is_an_image_has_its_channels_first():
    draft = Draft((3, 9, 9))
    draft.conv(20, 3)
    assert distance(draft.done("image", "")) < 1e-5


def test_the_mean_of_the_input_s_tokens_is_read_where_the_caller_has_them():
    draft = Draft((7, 5))
    draft.add("mean")
    assert distance(draft.done("tokens", "")) < 1e-6


@pytest.mark.parametrize(
    ("shape", "wrong", "said"),
    [
        ((6,), layer("lstm"), "of the kind lstm is unknown"),
        ((6,), layer("fc", (2, 5), (2,)), r"shape \(2, 5\) in place of \(2, 6\)"),
        ((6,), layer("relu", reads=(1,)), "reads a layer that does not come before it"),
        ((6,), layer("conv", (2, 6, 1, 1), (2,)), r"takes 3 dimensions and gets \(6\)"),
        ((1, 4, 4), layer("pool", window=(5, 1, 0)), r"window larger than its input \(1, 4, 4\)"),
        ((5, 4), layer("attention", (12, 4), (12,), (4, 4), (4,)), "heads that do not divide"),
        ((5, 4), layer("gru", (7, 4), (7, 2), (7,), (7,)), "no multiple of 3"),
        ((1 << 40, 1 << 40), layer("relu"), "impossible shape"),
    ],
)
def test_a_layer_that_cannot_be_is_refused_with_a_sentence(shape, wrong, said):
    with pytest.raises(ValueError, match=said):
        load(shape, wrong)


def test_shapes_that_contradict_one_another_are_refused():
    pooled = layer("pool", window=(2, 2, 0))
    with pytest.raises(ValueError, match=r"gets \(1, 4, 4\) and \(1, 2, 2\)"):
        load((1, 4, 4), pooled, layer("add", reads=(0, 1)))


def test_an_input_of_another_size_is_refused():
    with pytest.raises(ValueError, match="expected 6 floats, got 5"):
        load((6,), layer("relu")).infer(np.zeros(5, np.float32))


@pytest.mark.parametrize("word", [-1, 3, np.nan, np.inf])
def test_a_word_that_the_network_does_not_know_is_refused(word):
    built = load((2,), layer("embedding", (3, 4), window=(3, 1, 0)))
    with pytest.raises(ValueError, match="a word is not from 0 to 2"):
        built.infer(np.array([0, word], np.float32))


@pytest.mark.parametrize("name", ["mlp", "lenet", "gru", "cifar", "block"])
def test_no_primitive_is_the_library_s_reference(name):
    made = network(name)
    facts = place("onednn", made, seeded.weights_of(made), 1).describe()
    assert made.kinds - {"input", "embedding", "relu"} <= set(facts)
    facts.pop("gru", "")  # its one implementation is called that, and calls generated kernels
    assert [kind for kind, kernels in facts.items() if "ref" in kernels] == []
