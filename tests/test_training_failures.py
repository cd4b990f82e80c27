"""What a failure costs where frameworks train side by side: its own row, and no more."""

import json
import os
import signal
import subprocess
import sys
from typing import Any

import pytest
from conftest import environment
from processes import alive, children, wait_for
from trainings import HERE, OPTIONS, named, needs_two

pytestmark = [needs_two, pytest.mark.slow]


@pytest.fixture
def broken(tmp_path, monkeypatch):
    """A folder that Python searches first: for frameworks that fail."""
    folder = tmp_path / "broken"
    folder.mkdir()
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
    return folder


def test_a_framework_that_crashes_costs_its_own_row(run, data, broken, tmp_path):
    alone = [name for name in HERE if not name.startswith("keras")]
    if len(alone) < 2:
        pytest.skip("needs two frameworks, none of which uses the other")
    crashing, sound = alone[0], alone[-1]
    crash = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
    (broken / f"{crashing}.py").write_text(crash)
    two = (*named([crashing, sound]), *OPTIONS, "--data", data, "-o", tmp_path / "out")
    done = run("train", *two, "--json")
    assert done.code == 1
    rows = {row["framework"]: row for row in json.loads(done.output)["runs"]}
    assert rows[crashing]["status"] == "failed"
    assert "SIGSEGV" in rows[crashing]["reason"]
    assert rows[sound]["status"] == "ok"


def test_a_framework_that_is_absent_is_a_sentence_with_what_brings_it(run, data, broken, tmp_path):
    (broken / "torch.py").write_text("raise ModuleNotFoundError('No module named torch')")
    output = tmp_path / "out.safetensors"
    options = ("--framework", "torch", *OPTIONS, "--data", data, "-o", output)
    done = run("train", *options)
    assert done.code == 1
    assert "fix it with: pip install 'lenet-bench[train,torch]'" in done.errors
    assert "Traceback" not in done.errors


#: Torch as it must not be: it leaves its process's id and a child's behind, and then hangs.
HANGS = """
import os, pathlib, signal, subprocess, sys, time
child = subprocess.Popen(["sleep", "1000"])
pathlib.Path({pids!r} + ".new").write_text(f"{{os.getpid()}} {{child.pid}}")
os.rename({pids!r} + ".new", {pids!r})
while True:
    time.sleep(1000)
"""


@pytest.fixture
def hanging(broken, tmp_path):
    """Where a torch that hangs when it is imported writes the ids of its processes."""
    pids = tmp_path / "pids"
    (broken / "torch.py").write_text(HANGS.format(pids=str(pids)))
    return pids


@pytest.fixture
def sound():
    """A framework that does not care for what became of torch."""
    for name in ("jax", "tensorflow"):
        if name in HERE:
            return name
    pytest.skip("needs a framework beside torch: pip install 'lenet-bench[train,jax]'")


def begun(data, output, frameworks, *more):
    """The command, under way, with what is broken before what is sound."""
    command = [sys.executable, "-m", "lenet_bench", "train", *named(frameworks), *OPTIONS, *more]
    command += ["--data", str(data), "-o", str(output), "--json"]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, **pipes, text=True, env=environment())


only_linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@only_linux
@pytest.mark.parametrize(
    ("stop", "timeout", "says"),
    [(signal.SIGKILL, "10m", "SIGKILL"), (signal.SIGSTOP, "30s", "30 s")],
)
def test_what_a_framework_measured_before_it_failed_is_kept(data, tmp_path, stop, timeout, says):
    weights, name = tmp_path / "out.safetensors", HERE[-1]
    with begun(data, weights, [name], "--epochs", "2000", "--timeout", timeout) as process:
        wait_for(weights.exists)
        (child,) = children(process.pid, "training.run:serve")
        os.kill(child, stop)
        printed, _ = process.communicate()
    assert process.returncode == 1
    failed = json.loads(printed)
    assert failed["status"] == "failed"
    assert says in failed["reason"]
    assert failed["steps"] == 20 * len(failed["epochs"]) > 0


@only_linux
def test_a_polite_kill_ends_a_run_as_ctrl_c_does(data, hanging, sound, tmp_path):
    with begun(data, tmp_path / "out", [sound, "torch"]) as process:
        wait_for(hanging.exists)
        process.terminate()
        printed, _ = process.communicate()
    assert process.returncode == 130
    assert not any(map(alive, map(int, hanging.read_text().split())))
    done, stopped = json.loads(printed)["runs"]
    assert len(done["epochs"]) == 2
    assert stopped["status"] == "interrupted"
    assert stopped["reason"] == "stopped before there were weights to write"


def test_a_run_that_diverges_says_which_rate_to_stay_below(run, data, tmp_path):
    options = ("--framework", HERE[-1], *OPTIONS, "--rate", "1e9", "--data", data)
    done = run("train", *options, "-o", tmp_path / "diverges.safetensors", "--json")
    assert done.code == 1
    assert "the run diverged; train again with a rate below 1e+09" in done.errors
