"""The tool that measures under other conditions, and the table that is drawn from its files."""

import sys
from pathlib import Path

import pytest
from conftest import environment
from lenet_bench import units
from lenet_bench.measure.pinning import usable_cores
from lenet_bench.registry import precision
from lenet_bench.results import read_result

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
import conditions
from conditions import CONDITIONS, fastest
from processes import ran
from tables import DRAWN

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def back_to_back(tmp_path_factory):
    """Three backends, of which two are variants of one, and each condition's run beside them.

    Two rounds under each: ten calls after gaps give no median.
    """
    if usable_cores() < 2:
        pytest.skip("two threads need two cores")
    folder = tmp_path_factory.mktemp("results")
    file = folder / "cpu/here.jsonl"
    compare = [sys.executable, "-m", "lenet_bench", "compare", "numpy", "fused", "fused:int16"]
    ran(*compare, "--rounds", "2", "--threads", "1", "-o", file, env=environment())
    others = ("--rounds", "2", "--folder", str(folder / "conditions"))
    ran(sys.executable, conditions.__file__, file, *others, env=environment())
    runs = [folder / f"conditions/{name}.jsonl" for name in CONDITIONS]
    ran(sys.executable, "-m", "lenet_bench", "share", "--keep", *runs, env=environment())
    return file


@pytest.fixture(scope="module")
def folder(back_to_back):
    return back_to_back.parents[1] / "conditions"


def test_each_condition_has_its_file_and_is_in_its_rules(folder):
    rules = {name: read_result(folder / f"{name}.jsonl").rules for name in CONDITIONS}
    found = {name: (r.threads, len(r.worker_cores), r.interval_s) for name, r in rules.items()}
    assert found["two-threads"] == (2, 2, None)
    assert found["idle"] == (1, 1, 0.02)
    assert [name for name, r in rules.items() if r.cold_mb] == ["cold"]


def test_of_each_backend_the_fastest_variant_in_float32_that_starts_soon_is_measured(monkeypatch):
    monkeypatch.setattr(conditions, "STARTS_WITHIN_S", 8)
    kept = Path(__file__).parents[1] / "results/cpu/epyc-2026-11-24.jsonl.gz"
    names = fastest(kept)
    assert "fused" in names
    assert {precision(name) for name in names} == {"float32"}
    assert [name for name in names if name.startswith("keras:")] == ["keras:function"]
    slow = {row.name for row in read_result(kept).backends if row.cold_start_s > 8}
    assert slow
    assert not slow & set(names)


def test_the_table_has_each_median_and_its_ratio_within_the_same_run(back_to_back, folder):
    drawn = list(DRAWN["conditions"](back_to_back))
    (row,) = [line for line in drawn if line.startswith("| numpy ")]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    files = (back_to_back, *(folder / f"{name}.jsonl" for name in CONDITIONS))
    rows = [read_result(file).row("numpy") for file in files]
    expected = [
        f"{units.time(one.summary.p50_us)} ({units.ratio(one.summary.ratio)}" for one in rows
    ]
    assert [cell[: len(said)] for cell, said in zip(cells[1:], expected, strict=True)] == expected
    assert sum("64 MB" in line for line in drawn) == 1
