"""Tools of bench/: other settings, and C++ beside Python."""

import sys
from pathlib import Path

import pytest
from lenet_bench import CompareOptions, compare, read_weights, units
from lenet_bench.registry import BACKENDS, FLOAT32, find, names, precision, tolerance
from lenet_bench.results import read_result
from sample_results import blocks, log, write_log

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
sys.path.insert(0, str(Path(__file__).parents[1]))
import gpu
from without_python import PAIRS, without_python

from bench.settings import Alternative
from bench.settings.__main__ import _FILES, alternatives, entry, own_variables, ways

ROOT = Path(__file__).parents[1]


def test_an_alternative_is_measured_beside_the_registrys_ways_and_records_its_version():
    onnxruntime = pytest.importorskip("onnxruntime")
    tried = entry("onnxruntime", "no_arena")
    result = compare(CompareOptions(("onnxruntime", tried), rounds=1))
    assert [(row.name, row.status) for row in result.backends] == [
        ("onnxruntime", "ok"),
        ("onnxruntime/no_arena", "ok"),
    ]
    said = Alternative("onnxruntime", "no_arena", read_weights(), threads=1).describe()
    library = f"ONNX Runtime {onnxruntime.__version__}"
    assert said == {"library": library, "setting": "no_arena"}


@pytest.mark.parametrize("backend", _FILES)
def test_each_alternative_says_what_it_tries(backend):
    found = alternatives(backend)
    assert found
    assert all(found.values())
    assert len(ways(backend)) == len(found) + len([*find(backend)[0].names()])
    assert set(own_variables(backend)) <= set(found)


def test_only_what_computes_in_less_than_float32_may_differ_by_much_and_on_the_cpu_alone():
    assert entry("openvino", "called").tolerance == FLOAT32
    assert entry("mnn", "power_high").tolerance == tolerance("mnn")
    for name in names(gone=False):
        assert precision(name) != "float32" or tolerance(name) <= 20 * FLOAT32
    for row in BACKENDS:
        if (moved := row.on("gpu")) and moved is not row:
            assert not set(moved.reduced) & set(moved.variants)


def test_each_pair_has_both_medians_and_their_ratio(tmp_path):
    rows = [
        blocks(name, us, lines_of_code=int(us))
        for pair in PAIRS.items()
        for name, us in zip(pair, (60, 90), strict=True)
    ]
    write_log(tmp_path / "run.jsonl", log(*rows))
    found = read_result(tmp_path / "run.jsonl")
    slow, fast = (found.row(name).summary.p50_us for name in ("torch", "torch:cpp"))
    (line,) = [
        line for line in without_python(tmp_path / "run.jsonl") if line.startswith("| torch ")
    ]
    name, python, cpp, of_that, bounds, *lines = (
        cell.strip() for cell in line.strip("|").split("|")
    )
    assert (name, python, cpp) == ("torch", units.time(slow), units.time(fast))
    assert of_that == units.ratio(fast / slow)
    low, high = map(float, bounds.split("-"))
    assert low <= float(of_that) <= high
    assert lines == ["90", "60"]


def test_the_run_on_a_gpu_times_each_backend_once():
    timed = [name for those in gpu.groups().values() for name in those]
    assert sorted(timed) == sorted(names(gone=False, device="gpu"))


def test_the_run_on_a_gpu_judges_backends_that_exist():
    floors = {floor.name for floor in gpu.FLOORS}
    judged = {name for goal in gpu.GOALS for name in (goal.backend, goal.other) if name}
    assert {*judged - floors, *gpu.APART, *gpu.FLOOR_OF} <= {*names(gone=False, device="gpu")}


def test_wheels_to_carry_to_a_gpu_are_the_versions_that_are_tested():
    carried = {
        line for line in (ROOT / "bench/gpu-wheels.txt").read_text().splitlines() if line[0] != "#"
    }
    of_cuda = {line for line in carried if line.startswith("nvidia-")}  # of the image's CUDA
    assert carried - of_cuda <= {*(ROOT / "constraints.txt").read_text().splitlines()}
