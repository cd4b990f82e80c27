"""`make bench`: the comparison through pytest-benchmark, and its fixture in tests of one's own."""

import json
import os
import re
import sys
from pathlib import Path

import pytest
from conftest import ROOT, environment
from lenet_bench.registry import find, is_installed
from processes import ran

FIXTURE = "from lenet_bench.pytest_fixture import time_backend as time_backend\n"
needs_keras = pytest.mark.skipif(not is_installed(find("keras")[0]), reason="needs Keras")


@pytest.fixture
def bench(tmp_path):
    """Its output, with one start of each backend; what it saves is in tmp_path."""

    def output(*words, tests=ROOT / "bench", code=0):
        options = ("--benchmark-only", "--benchmark-max-time=0.1", "--benchmark-group-by=func")
        command = (sys.executable, "-m", "pytest", tests, "-rs", *options, *words)
        paths = filter(None, (str(Path(__file__).parent), os.environ.get("PYTHONPATH")))
        variables = environment(PYTHONPATH=os.pathsep.join(paths))
        return ran(*command, code=code, env=variables, cwd=tmp_path).stdout

    return output


def rows(file):
    return {row["name"]: row for row in json.loads(file.read_text())["benchmarks"]}


@needs_keras
@pytest.mark.slow
def test_one_table_has_every_family_from_native_code_to_keras(bench, tmp_path):
    kept = tmp_path / "bench.json"
    families = {"fused": "native code", "tensorflow": "frameworks", "keras": "Keras"}
    chosen = " or ".join(f"test_infer[{name}]" for name in families)
    said = bench("-k", chosen, f"--benchmark-json={kept}")
    found = rows(kept)
    assert {row["param"]: row["group"] for row in found.values()} == families
    assert all(len(row["stats"]["data"]) >= 20 for row in found.values())
    medians = {name: row["stats"]["median"] for name, row in found.items()}
    assert medians["test_infer[fused]"] < medians["test_infer[keras]"] < 60
    assert re.findall(r"^test_infer\[.+?\]", said, re.M) == sorted(medians, key=medians.__getitem__)


def test_a_slower_commit_fails_also_after_a_change_of_the_machine(bench, tmp_path):
    chosen = ("-k", "test_infer[fused]")
    bench(*chosen, "--benchmark-save=it")
    (file,) = tmp_path.rglob("*_it.json")
    saved = json.loads(file.read_text())
    saved["machine_info"]["release"] = "another kernel"
    for times, code, order in ((1e-3, 1, ["NOW", "0001_it"]), (1e3, 0, ["0001_it", "NOW"])):
        earlier = json.loads(json.dumps(saved))
        earlier["benchmarks"][0]["stats"]["median"] *= times
        earlier["benchmarks"][0]["stats"]["min"] /= times  # another order than the median's
        file.write_text(json.dumps(earlier))
        compared = ("--benchmark-compare", "--benchmark-compare-fail=median:5%")
        said = bench(*chosen, *compared, "--benchmark-sort=min", code=code)
        assert re.findall(r"^test_infer\[fused\] \((\w+)\)", said, re.M) == order


def test_what_pytest_benchmark_warns_of_is_no_error(bench):
    said = bench("-k", "test_infer[theano]", "--benchmark-compare", "--benchmark-save=none")
    assert "1 skipped" in said


def test_the_fixture_is_for_tests_of_ones_own(bench, tmp_path):
    chosen = ["test_one_image[fused]", "test_mine"]
    section = (ROOT / "docs/python.md").read_text().partition("## With pytest-benchmark")[2]
    fixture, tests, *_ = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    assert fixture == FIXTURE
    own = tmp_path / "own"
    own.mkdir()
    (own / "conftest.py").write_text(fixture)
    (own / "test_speed.py").write_text(tests)
    (own / "mine.py").write_text("from scratch_backends import HasInferOnly as build")
    kept = tmp_path / "bench.json"
    bench("-k", " or ".join(chosen), f"--benchmark-json={kept}", tests=own)
    assert all(len(row["stats"]["data"]) >= 20 for row in rows(kept).values())
    assert rows(kept).keys() == {*chosen}


def test_only_what_is_not_installed_is_skipped(bench, tmp_path):
    (tmp_path / "conftest.py").write_text(FIXTURE)
    (tmp_path / "test_speed.py").write_text("""
import scratch_backends as scratch

def test_missing(time_backend):
    time_backend("theano")

def test_old(time_backend):
    time_backend("ncnn")

def test_wrong(time_backend):
    time_backend(scratch.entry(scratch.AnswersWrongly))
""")
    (tmp_path / "ncnn-0.1.dist-info").mkdir()
    (tmp_path / "ncnn-0.1.dist-info/METADATA").write_text("Name: ncnn\nVersion: 0.1\n")
    kept = tmp_path / "bench.json"
    said = bench(f"--benchmark-json={kept}", tests=tmp_path, code=1)
    assert re.search(r"ncnn needs ncnn>=\S+, but 0.1 is installed; fix it with: ", said)
    assert "theano is not installed" in said
    assert "AnswersWrongly: wrong: while starting: its probabilities differ" in said
    assert "1 failed, 2 skipped" in said
    assert rows(kept) == {}


def test_the_fixture_asks_for_what_pytest_benchmark_is_told(bench, tmp_path):
    (tmp_path / "conftest.py").write_text(FIXTURE)
    (tmp_path / "test_asked.py").write_text("""
import pytest
from lenet_bench import pytest_fixture
from lenet_bench.errors import Misuse

@pytest.fixture
def asked(time_backend, monkeypatch):
    class Asked(Exception):
        pass

    def ask(options):
        raise Asked(options)

    def asked(**options):
        with pytest.raises(Asked) as found:
            time_backend("numpy", **options)
        return found.value.args[0]

    monkeypatch.setattr(pytest_fixture, "compare", ask)
    return asked

def test_the_option(asked):
    assert asked().budget_s == 0.1

@pytest.mark.benchmark(max_time=25)
def test_the_mark(asked):
    assert asked().budget_s == 25

def test_where_benchmarks_are_disabled(asked, benchmark):
    benchmark.disabled = True
    assert asked(rounds=9).rounds == 1

def test_a_row_for_each_number_of_threads_is_refused(time_backend):
    with pytest.raises(Misuse, match="one number of threads"):
        time_backend("numpy", threads=(1, 2))
""")
    bench(tests=tmp_path)
