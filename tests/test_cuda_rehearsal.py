"""bench/gpu.sh from its first line to its last without a GPU: the backends run on the double of
CUDA, nvidia-smi and compute-sanitizer are stand-ins that note how they were called.
"""

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from cuda_setting import TESTS, built_major
from lenet_bench.results import read_result, taken_apart

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        built_major() != 13, reason="rehearsed once, with CUDA 13 (make test-cuda13)"
    ),
]

NVIDIA_SMI = "echo 'a double of a GPU, 580.00'"

#: Runs one of the programs it is given, finds a fault in another, and believes the rest.
COMPUTE_SANITIZER = """
echo "$@" >> "$CALLS"
case "$*" in
  *racecheck*cuda:mapped) exit 9 ;;
  *memcheck*driver' 'cuda) shift 6; LD_LIBRARY_PATH=$LENET_BENCH_CUDA_LIBRARIES exec "$@" ;;
esac
"""


class Rehearsal:
    """One run of bench/gpu.sh, and what it left."""

    def __init__(
        self, folder: Path, *options: str, double: Path | None = None, seconds: float = 200
    ) -> None:
        self.calls = folder / "calls"
        self.results = folder / "results"
        programs = {"nvidia-smi": NVIDIA_SMI, "compute-sanitizer": COMPUTE_SANITIZER}
        for name, text in programs.items():
            program = folder / "bin" / name
            program.parent.mkdir(exist_ok=True)
            program.write_text(f"#!/bin/sh\n{text}")
            program.chmod(0o755)
        places = ("--output", str(self.results), "--environment", str(folder / "environment"))
        host = ("--python", sys.executable, "--cuda", str(built_major()))
        self.done = subprocess.run(
            [str(TESTS.parent / "bench" / "gpu.sh"), *host, *places, *options],
            env={
                **{k: v for k, v in os.environ.items() if k != "LENET_BENCH_MNIST"},
                "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
                "CALLS": str(self.calls),
                "LENET_BENCH_CUDA_LIBRARIES": str(double),
                "XDG_CACHE_HOME": str(folder),
                "PYTEST_ADDOPTS": "-k 'every_layer and cudnn:graph'",
            },
            capture_output=True,
            text=True,
            timeout=seconds,
        )


@pytest.fixture(scope="module")
def whole(double: Path, tmp_path_factory: pytest.TempPathFactory) -> Rehearsal:
    """All of it but the build and what takes MNIST."""
    folder = tmp_path_factory.mktemp("rehearsal")
    steps = ("--steps", "tests,verify,frameworks,benchmark,why,sanitizer", "--quick")
    return Rehearsal(folder, *steps, "--backends", "cudnn cudnn:graph", double=double, seconds=800)


def test_a_step_that_fails_is_named_and_costs_its_own_result_only(whole: Rehearsal) -> None:
    assert whole.done.returncode == 1
    failed = [line for line in whole.done.stdout.splitlines() if line.startswith("== failed")]
    assert failed == ["== failed: racecheck cuda:mapped"], whole.done.stdout + whole.done.stderr
    left = {file.name: file.read_text() for file in whole.results.iterdir()}
    expected = {
        *("machine.txt", "tests.xml", "compare.jsonl", "goals.txt"),
        *("why.jsonl", "why.txt", "sanitizer.txt"),
    }
    assert set(left) == expected
    assert [name for name, text in left.items() if "a double of a GPU" not in text] == []
    (suite,) = ElementTree.parse(whole.results / "tests.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("1", "0", "0")


def test_backends_were_measured_and_taken_apart_and_the_goals_judged(whole: Rehearsal) -> None:
    rows = read_result(whole.results / "compare.jsonl").backends
    measured = [(row.name, row.status, row.reason) for row in rows]
    floors = [f"floor: {way}" for way in ("launch and copies", "launch and flag", "resident echo")]
    assert measured == [(name, "ok", None) for name in (*floors, "cudnn", "cudnn:graph")]
    judged = (whole.results / "goals.txt").read_text()
    assert judged.removeprefix("on a double of a GPU, 580.00\n") in whole.done.stdout
    assert "kernels_us" in judged
    goals = [line for line in judged.splitlines() if "reached" in line or "not judged" in line]
    assert len(goals) == 5
    assert goals[0].startswith("cudnn:graph takes at most half of cudnn: ")
    assert "reached" in goals[0]
    assert goals[1].endswith("without cuda:mapped")
    found = taken_apart(read_result(whole.results / "why.jsonl"))
    assert [one.name for one in found] == ["cudnn", "cudnn:graph"]
    assert all({"entering", "dispatch", "conv2"} <= {p.name for p in one.parts} for one in found)


def test_every_tool_looks_at_every_kernel_of_ours(whole: Rehearsal) -> None:
    calls = [line.split() for line in whole.calls.read_text().splitlines()]
    ours = {(call[1], call[-1]) for call in calls}
    tools = ("memcheck", "racecheck", "synccheck", "initcheck")
    backends = ("cuda", "cuda:mapped", "cuda:persistent")
    assert ours >= {(tool, backend) for tool in tools for backend in backends}
    assert "cuda: right" in (whole.results / "sanitizer.txt").read_text()


def test_no_time_leaves_steps_out_and_an_unknown_option_is_refused(tmp_path: Path) -> None:
    done = Rehearsal(tmp_path, "--steps", "tests,benchmark", "--seconds", "1").done
    assert done.returncode == 0, done.stderr
    late = [line for line in done.stdout.splitlines() if line.startswith("== no time was left")]
    assert [line.rpartition(" ")[2] for line in late] == ["tests", "benchmark"]
    done = Rehearsal(tmp_path, "--stps", "tests").done
    assert done.returncode == 2
    assert "--steps A,B" in done.stdout
