"""From which size of a network on an API stops mattering: rows, sentences and the figure."""

import json
from dataclasses import replace
from itertools import pairwise

import pytest
from lenet_bench.networks import network
from lenet_bench.results import Other
from lenet_bench.results.sizes import Sized, by_name, since, sized
from lenet_bench.results.statistics import FEWEST_STARTS
from lenet_bench.show.figures.sizes import sizes
from lenet_bench.show.sentences import tolerant
from lenet_bench.show.sizes import answered, sentence
from lenet_bench.show.terminal.screen import Screen
from sample_results import blocks, result

SCREEN = Screen(100, colour=False)


def measured(name, us, rounds=FEWEST_STARTS):
    """A result of that network, with the time of each backend."""
    rows = [blocks(backend, time, rounds) for backend, time in us.items()]
    other = {} if name == "lenet" else {"other": Other(name, 1e-7)}
    return result(*rows, **other)


def of_networks(us):
    """Results of mlp, lenet and vgg16 with these times of each backend, the largest first."""
    return [
        measured(name, {backend: times[n] for backend, times in us.items()})
        for n, name in reversed(list(enumerate(("mlp", "lenet", "vgg16"))))
    ]


@pytest.fixture
def three():
    return of_networks(
        {
            "litert": (10, 20, 10_000),
            "tensorflow:function": (30, 21, 10_500),  # near from lenet on
            "torch": (40, 50, 20_000),  # never
            "keras": (900, 21, 20_000),  # near once, and no longer
        }
    )


def said(results, name):
    return sentence(by_name(sized(results))[name])


def test_rows_are_ordered_by_the_size_of_the_network(three):
    assert list(dict.fromkeys(one.network for one in sized(three))) == ["mlp", "lenet", "vgg16"]


def test_a_ratio_is_to_the_fastest_of_the_same_network(three):
    found = {(one.name, one.network): one.ratio for one in sized(three)}
    assert found["torch", "mlp"] == pytest.approx(4, rel=0.01)
    assert found["torch", "vgg16"] == pytest.approx(2, rel=0.01)
    assert found["litert", "mlp"] == 1


def test_a_backend_is_near_from_the_smallest_network_after_which_it_always_is(three):
    near = since(by_name(sized(three))["tensorflow:function"])
    assert near is not None
    assert near.network == "lenet"
    size = f"from {network('lenet').multiply_adds / 1e6:.2f} million multiply-adds on (lenet)"
    assert size in said(three, "tensorflow:function")


def test_a_backend_that_is_near_once_is_not_near_for_good(three):
    assert since(by_name(sized(three))["keras"]) is None


def test_the_fastest_is_near_everywhere(three):
    assert "on every network" in said(three, "litert")


def test_what_calls_cannot_explain_is_told(three):
    assert "more than 10 % longer than the fastest API even at 15,470 m" in said(three, "torch")
    assert "more than calls can explain" in said(three, "torch")
    assert "explain" not in said(three, "keras")


def test_an_answer_that_hangs_on_the_largest_network_is_told_without_it_too(three):
    assert "without vgg16 it takes less from 2.29 million multiply-adds on (lenet)" in said(
        of_networks({"litert": (10, 20, 9_000), "torch": (40, 21, 20_000)}), "torch"
    )
    alone = of_networks({"litert": (10, 20, 9_000), "torch": (40, 50, 9_100)})
    assert "without vgg16 there is no such size" in said(alone, "torch")
    assert not any("without vgg16" in said(three, name) for name in ("litert", "torch"))


def test_an_answer_that_is_farther_off_than_most_may_be_is_marked():
    rows = [blocks("mnn", 10, difference=2e-4), blocks("numpy", 20, difference=2e-6)]
    allowed = {"mnn": 3e-3, "numpy": 1.4e-4}
    run = result(*rows, other=Other("vgg16", 1.4e-6))
    run = replace(
        run, backends=tuple(replace(one, tolerance=allowed[one.name]) for one in run.backends)
    )
    lines = list(answered([run, measured("mlp", {"mnn": 5, "numpy": 6})], None, SCREEN))
    (line,) = (line for line in lines if line.startswith("mnn  "))
    assert line.split()[-2:] == ["1.00", "1.00*"]
    assert any("mnn by 2.0e-04 on vgg16" in line for line in lines)
    assert "by more than 1e-04: mnn by 3e-03" in (tolerant(run) or "")


def test_an_interval_that_holds_the_limit_is_no_answer():
    one = Sized("vgg16", 10**10, "torch", 109.0, 1.09, 1.02, 1.16)
    assert "no answer" in sentence([one])


def test_too_few_starts_are_no_answer():
    few = [measured(name, {"numpy": 10, "torch": 10.2}, 1) for name in ("mlp", "vgg16")]
    assert "no answer" in said(few, "torch")


def test_one_network_has_no_answer():
    assert sized([measured("mlp", {"numpy": 10, "torch": 20})]) == []


def test_code_for_lenet_alone_sets_no_measure():
    results = [measured("lenet", {"fused": 1, "numpy": 10}), measured("mlp", {"numpy": 5})]
    assert [(one.name, one.ratio) for one in sized(results)] == [("numpy", 1), ("numpy", 1)]


def test_networks_that_one_backend_lacks_are_a_dash(three):
    results = [*three, measured("gru", {"litert": 7, "torch": 9})]
    lines = list(answered(results, None, SCREEN))
    (line,) = (line for line in lines if line.startswith("tensorflow:function  "))
    assert line.split()[3] == "-"


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_no_line_of_the_answer_is_wider_than_the_terminal(three, columns):
    lines = answered(three, None, Screen(columns, colour=False))
    assert max(map(len, lines)) <= columns


def test_json_has_each_row_with_its_interval(three):
    (text,) = answered(three, "json", SCREEN)
    found = json.loads(text)
    row = next(one for one in found["sizes"] if one["name"] == "torch")
    assert row["low"] <= row["ratio"] <= row["high"]
    assert set(found["answers"]) == {"litert", "tensorflow:function", "torch", "keras"}


def texts(results, limits=None):
    """The figure of some results, as its specification."""
    (figure,) = sizes(sized(results), limits)
    return json.dumps(figure.spec)


def test_the_figure_names_the_fastest_variant_at_the_end_of_a_line(three):
    assert "TensorFlow: tensorflow:function" in texts(three)


def test_the_figure_has_the_machines_limit_where_it_is_known(three):
    assert "this machine's limit" in texts(three, {"mlp": 5.0, "vgg16": 9000.0})
    assert "this machine's limit" not in texts(three)


def test_the_names_in_the_figure_do_not_overlap(three):
    (figure,) = sizes(sized(three))
    rows = figure.spec["data"]["values"]
    ends = sorted(one["at"] for one in rows if one["kind"] == "end")
    assert all(low < high for low, high in pairwise(ends))
