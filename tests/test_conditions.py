"""The tool that measures under four conditions, and the table that is drawn from its files."""

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import environment
from lenet_bench import units
from lenet_bench.measure.pinning import usable_cores
from lenet_bench.results import read_result

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
import conditions
from conditions import CONDITIONS
from tables import DRAWN, NONE_KEPT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three backends, two rounds under each condition: ten calls after gaps give no median."""
    if usable_cores() < 2:
        pytest.skip("two threads need two cores")
    folder = tmp_path_factory.mktemp("conditions")
    command = [sys.executable, conditions.__file__, "numpy", "fused", "fused:int16"]
    done = subprocess.run(
        [*command, "--rounds", "2", "--folder", str(folder)],
        capture_output=True,
        text=True,
        env=environment(),
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_each_condition_has_its_file_and_is_in_its_rules(folder):
    rules = {name: read_result(folder / f"{name}.jsonl").rules for name in CONDITIONS}
    found = {name: (r.threads, len(r.worker_cores), r.interval_s) for name, r in rules.items()}
    assert found["one-thread"] == (1, 1, None)
    assert found["two-threads"] == (2, 2, None)
    assert found["idle"] == (1, 1, 0.02)
    assert [name for name, r in rules.items() if r.cold_mb] == ["cold"]


def test_the_table_has_each_median_beside_the_first_conditions(folder):
    drawn = list(DRAWN["conditions"](folder))
    (row,) = [line for line in drawn if line.startswith("| numpy ")]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    medians = [
        read_result(folder / f"{name}.jsonl").row("numpy").summary.p50_us for name in CONDITIONS
    ]
    ratios = [f" ({units.ratio(us / medians[0])})" for us in medians]
    assert cells[1] == units.time(medians[0])
    assert cells[2:] == [units.time(us) + r for us, r in zip(medians, ratios, strict=True)][1:]
    assert sum("64 MB" in line for line in drawn) == 1


def test_what_computes_in_less_than_float32_has_a_table_of_its_own(folder):
    drawn = list(DRAWN["conditions"](folder))
    tables = [number for number, line in enumerate(drawn) if line.startswith("| backend ")]
    assert len(tables) == 2
    assert any(line.startswith("| fused:int16 ") for line in drawn[tables[1] :])


def test_without_a_file_there_is_one_line(tmp_path):
    assert list(DRAWN["conditions"](tmp_path)) == [NONE_KEPT]
