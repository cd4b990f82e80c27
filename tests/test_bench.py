"""`pytest bench/`: the comparison through pytest-benchmark, and its gate."""

import json
import platform
import sys
from pathlib import Path

import pytest
from conftest import environment
from processes import ran

BENCH = Path(__file__).parents[1] / "bench"


def bench(storage, *options, **variables):
    command = [sys.executable, "-m", "pytest", str(BENCH), "--benchmark-only", "-q"]
    quick = ["-k", "test_infer[fused]", "--benchmark-max-time=0.2"]
    where = {"env": environment(**variables), "cwd": BENCH.parent}
    done = ran(*command, *quick, f"--benchmark-storage={storage}", *options, code=None, **where)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    storage = tmp_path_factory.mktemp("benchmarks")
    code, output = bench(storage, "--benchmark-save=before")
    assert code == 0, output
    return storage


def test_backends_are_grouped_by_device(saved):
    (file,) = saved.rglob("*_before.json")
    (found,) = json.loads(file.read_text())["benchmarks"]
    assert found["group"] == "cpu"
    assert found["params"] == {"name": "fused"}
    assert found["stats"]["rounds"] > 100


def test_the_gate_lets_the_same_backend_pass(saved):
    code, output = bench(saved, "--benchmark-compare", "--benchmark-compare-fail=min:300%")
    assert code == 0, output


@pytest.mark.skipif(platform.machine() != "x86_64", reason="another instruction set is the brake")
def test_the_gate_stops_a_slower_backend(saved):
    options = ("--benchmark-compare", "--benchmark-compare-fail=min:5%")
    code, output = bench(saved, *options, LENET_BENCH_ISA="sse2")
    assert code != 0
    assert "Performance has regressed" in output
