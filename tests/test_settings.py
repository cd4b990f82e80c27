"""The tool that measures alternative settings, on a framework of the core environment."""

import sys
from pathlib import Path

import pytest
from lenet_bench import CompareOptions, compare, read_weights
from lenet_bench.registry import BACKENDS, FLOAT32, find, names, precision, tolerance

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench.settings import Alternative
from bench.settings.__main__ import _FILES, alternatives, entry, own_variables, ways


def test_an_alternative_is_measured_beside_the_registrys_ways():
    pytest.importorskip("onnxruntime")
    tried = entry("onnxruntime", "no_arena")
    result = compare(CompareOptions(("onnxruntime", tried), rounds=1))
    assert [(row.name, row.status) for row in result.backends] == [
        ("onnxruntime", "ok"),
        ("onnxruntime/no_arena", "ok"),
    ]


def test_an_alternative_records_the_version_that_it_ran_on():
    onnxruntime = pytest.importorskip("onnxruntime")
    said = Alternative("onnxruntime", "no_arena", read_weights(), threads=1).describe()
    assert said == {
        "library": f"ONNX Runtime {onnxruntime.__version__}",
        "setting": "no_arena",
    }


def test_an_alternative_is_held_to_the_tolerance_of_float32():
    assert entry("openvino", "called").tolerance == FLOAT32
    assert entry("mnn", "power_high").tolerance == tolerance("mnn")


@pytest.mark.parametrize("backend", _FILES)
def test_each_alternative_says_what_it_tries(backend):
    found = alternatives(backend)
    assert found
    assert all(found.values())
    assert len(ways(backend)) == len(found) + len([*find(backend)[0].names()])
    assert set(own_variables(backend)) <= set(found)


def test_only_what_computes_in_less_than_float32_may_differ_by_much():
    for name in names(gone=False):
        assert precision(name) != "float32" or tolerance(name) <= 20 * FLOAT32


def test_reduced_precision_is_for_the_cpu_where_both_could_run_it():
    for row in BACKENDS:
        if (moved := row.on("gpu")) and moved is not row:
            assert not set(moved.reduced) & set(moved.variants)
