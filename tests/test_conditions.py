"""The tool that measures under other conditions: which backends it takes."""

import sys
from pathlib import Path

from lenet_bench.registry import precision
from lenet_bench.results import read_result

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
import conditions


def test_of_each_backend_the_fastest_variant_in_float32_is_measured(monkeypatch):
    monkeypatch.setattr(conditions, "STARTS_WITHIN_S", 8)
    kept = Path(__file__).parents[1] / "results/cpu/epyc-2026-11-24.jsonl.gz"
    names = conditions.fastest(kept)
    assert "fused" in names
    assert {precision(name) for name in names} == {"float32"}
    assert [name for name in names if name.startswith("keras:")] == ["keras:function"]
    slow = {row.name for row in read_result(kept).backends if (row.cold_start_s or 0) > 8}
    assert slow
    assert not slow & set(names)
