"""`pytest bench/`: the comparison through pytest-benchmark."""

import json
import sys

from conftest import ROOT, environment
from processes import ran


def test_a_backend_is_timed_in_the_group_of_its_device(tmp_path):
    command = (sys.executable, "-m", "pytest", ROOT / "bench", "-k", "test_infer[fused]")
    quick = ("--benchmark-only", "--benchmark-max-time=0.2")
    kept = (f"--benchmark-storage={tmp_path}", "--benchmark-save=it")
    ran(*command, *quick, *kept, env=environment(), cwd=ROOT)
    (file,) = tmp_path.rglob("*_it.json")
    (found,) = json.loads(file.read_text())["benchmarks"]
    assert found["group"] == "cpu"
    assert found["params"] == {"name": "fused"}
    assert found["stats"]["rounds"] > 100
