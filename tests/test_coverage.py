"""The simulation of how often intervals hold the truth, and what it found."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from lenet_bench.results.statistics import Interval

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench import coverage
from bench.coverage import APART, CASES, STARTS, Starts

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "results/cpu/epyc-2026-11-24.jsonl"
COMMITTED = sorted((ROOT / "results/coverage").glob("*.json"))
MEASURED = np.linspace(10.0, 10.4, 15)


@pytest.mark.parametrize("slow", [0, 2, 3])
def test_starts_are_drawn_from_what_was_measured_and_so_many_are_slow(slow):
    drawn = Starts(MEASURED, slow).draw(np.random.default_rng(1), 20_000)
    fast = drawn <= 10.4
    assert np.mean(~fast) == pytest.approx(slow / 6, abs=0.02)
    assert np.median(drawn[fast]) == pytest.approx(10.2, rel=0.002)
    if slow:
        assert np.median(drawn[~fast]) == pytest.approx(10.2 * APART, rel=0.002)


def test_the_true_median_lies_where_half_of_the_starts_are_below():
    assert Starts(MEASURED, 0).median == pytest.approx(10.2)
    assert Starts(MEASURED, 2).median == pytest.approx(10.3, rel=1e-3)
    assert 10.4 < Starts(MEASURED, 3).median < 10 * APART


def test_an_interval_that_misses_is_counted(monkeypatch):
    held = coverage.held_median(Starts(MEASURED, 0), 10)
    assert coverage.share(held, range(40)) > 0.85
    monkeypatch.setattr(coverage, "median_interval", lambda *_: Interval(1.0, 2.0))
    assert coverage.share(held, range(40)) == 0


def test_the_command_writes_each_case_of_each_backend(tmp_path):
    command = [sys.executable, coverage.__file__, str(RESULT), "--runs", "1"]
    subprocess.run([*command, "--json", str(tmp_path / "c.json")], check=True, capture_output=True)
    found = json.loads((tmp_path / "c.json").read_text())
    assert len(found["cases"]) == 2 * len(CASES) * len(STARTS)
    (ratios,) = {len(one["backends"]) for one in found["cases"] if one["of"] == "ratio"}
    (medians,) = {len(one["backends"]) for one in found["cases"] if one["of"] == "median"}
    assert ratios == medians - 1, "the baseline's own ratio is none"


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_where_95_are_promised_90_of_100_intervals_hold_the_truth(path):
    """Of all backends with six starts, of every one with ten and more."""
    found = json.loads(path.read_text())
    assert (ROOT / "results/cpu" / found["result"]).exists()
    for one in found["cases"]:
        assert one["share"] >= 0.94, one["case"]
        if one["starts"] >= 10:
            assert min(one["backends"].values()) >= 0.9, one["case"]
