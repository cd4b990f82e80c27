"""`pytest bench/`: the comparison through pytest-benchmark."""

import json
import sys
from pathlib import Path

from conftest import environment
from processes import ran

BENCH = Path(__file__).parents[1] / "bench"


def test_a_backend_is_timed_in_the_group_of_its_device(tmp_path):
    command = (sys.executable, "-m", "pytest", BENCH, "--benchmark-only", "-k", "test_infer[fused]")
    kept = (f"--benchmark-storage={tmp_path}", "--benchmark-save=it", "--benchmark-max-time=0.2")
    ran(*command, *kept, env=environment(), cwd=BENCH.parent)
    (file,) = tmp_path.rglob("*_it.json")
    (found,) = json.loads(file.read_text())["benchmarks"]
    assert found["group"] == "cpu"
    assert found["params"] == {"name": "fused"}
    assert found["stats"]["rounds"] > 100
