"""The conditions of bench/conditions.py, and the table of those that are as installed."""

import gzip
import sys

import pytest
from conftest import ROOT
from lenet_bench.cli.compare import compare
from lenet_bench.measure.options import CompareOptions
from lenet_bench.registry import find
from lenet_bench.results.log import as_lines
from sample_results import blocks, log

sys.path.insert(0, str(ROOT / "bench"))
import conditions
from tables import installed


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


def test_the_table_has_a_row_for_each_backend_and_condition(tmp_path):
    (tmp_path / "conditions").mkdir()
    assert not list(installed(tmp_path / "cpu/r.jsonl.gz"))
    for name, us in (("as-installed", 900), ("one-core", 300)):
        calls = (us * 1000,) * 169 + (6_000_000,)
        rows = blocks("onednn", us, 6, samples_ns=calls, made=170)
        path = tmp_path / f"conditions/{name}.jsonl.gz"
        path.write_bytes(gzip.compress(as_lines(log(rows, interval_s=0.02))))
    lines = list(installed(tmp_path / "cpu/r.jsonl.gz"))
    rows = [line.split("|")[1:] for line in lines if line.startswith("| onednn")]
    assert [[cell.strip() for cell in row[1:4]] for row in rows] == [
        ["as installed", "900 µs", "900 µs"],
        ["pinned to one core", "300 µs", "300 µs"],
    ]
    assert [row[6].strip() for row in rows] == ["0.6"] * 2
