"""What docs/why.md says in words holds in the result that it is drawn from."""

import pytest
from conftest import ROOT
from lenet_bench.results import breakdowns, read_result
from lenet_bench.results.breakdown import grouped

RESULT = ROOT / "results/why/epyc-zen5-2026-11-27.jsonl.gz"
STAGES = ("convolutions", "full layers")


@pytest.fixture(scope="module")
def apart():
    return {one.name: one for one in breakdowns(read_result(RESULT))}


def taken(one, *names):
    """The time of these parts or groups of parts."""
    us = {part.name: part.us for part in one.parts} | grouped(one.parts)
    return sum(us[name] for name in names)


def test_what_is_said_of_predict_holds(apart):
    whole = apart["keras"].median_us
    assert taken(apart["keras"], "data set") / whole == pytest.approx(0.47, abs=0.03)
    for part in ("pipeline", "second iterator"):
        assert taken(apart["keras"], part) / whole == pytest.approx(0.2, abs=0.02)


def test_what_is_said_of_operations_holds(apart):
    times = {
        ("tensorflow", "tensorflow:concrete"): 8,
        ("keras:call", "tensorflow"): 8.7,
        ("keras-torch", "torch"): 80,
        ("keras-torch:predict_on_batch", "torch"): 80,
    }
    for (slow, fast), said in times.items():
        found = apart[slow].operation_us.us / apart[fast].operation_us.us
        assert found == pytest.approx(said, rel=0.1)


def test_a_library_in_cpp_takes_little_time_beyond_the_layers(apart):
    for name in ("onednn", "openblas"):
        assert taken(apart[name], "the API") < 0.02 * taken(apart[name], *STAGES)


def test_what_is_said_of_tensorflow_holds(apart):
    concrete, keras = apart["tensorflow:concrete"], apart["keras:predict_on_batch"]
    stages = taken(concrete, *STAGES)
    assert taken(concrete, "arrays", "Python") / stages == pytest.approx(0.75, abs=0.05)
    stages = taken(keras, *STAGES)
    finding = taken(keras, "arrays", "finding the graph", "Python")
    assert finding / stages == pytest.approx(2.2, abs=0.05)
