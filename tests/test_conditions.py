"""The conditions of bench/conditions.py are those that `compare` knows."""

import sys

import pytest
from conftest import ROOT
from lenet_bench.cli.compare import compare
from lenet_bench.measure.options import CompareOptions
from lenet_bench.registry import find

sys.path.insert(0, str(ROOT / "bench"))
import conditions


@pytest.fixture(autouse=True)
def _eight_cores(monkeypatch):
    monkeypatch.setattr("lenet_bench.registry.usable_cores", lambda: 8)


@pytest.mark.parametrize("name", conditions.CONDITIONS)
def test_a_condition_is_one_that_compare_knows(name):
    condition = conditions.CONDITIONS[name]
    asked = compare.make_context("compare", [*condition.backends, *condition.options]).params
    assert find(asked["backends"][0])[0] if condition.backends else not asked["backends"]
    names = ("threads", "cores", "interval_s", "keep_warm_s", "beside", "cold")
    CompareOptions(**{one: asked[one] for one in names}).check()


def test_each_remedy_differs_from_the_run_as_installed_in_one_thing():
    parsed = {
        name: compare.make_context("compare", list(one.options)).params
        for name, one in conditions.CONDITIONS.items()
        if one.backends
    }
    usual = parsed.pop("as-installed")
    for name, asked in parsed.items():
        changed = {option for option in asked if asked[option] != usual[option]} - {"output"}
        remedy = {"one-thread": {"threads", "cores"}, "one-core": {"cores"}}
        assert changed == remedy.get(name, {"keep_warm_s"})
