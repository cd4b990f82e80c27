"""What a failure costs where frameworks train side by side: its own row, and no more."""

import os
import signal
import subprocess
import sys
import time

import pytest
from conftest import environment
from lenet_bench.training import read_training
from lenet_bench.training.result import FrameworkRun
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
    output = tmp_path / "out.json"
    two = (*named([crashing, sound]), *OPTIONS, "--data", data, "-o", output)
    done = run("train", *two)
    assert done.code == 1
    failed, ok = (read_training(output).run(name) for name in (crashing, sound))
    assert failed.status == "failed"
    assert "SIGSEGV" in str(failed.reason)
    assert ok.status == "ok"


def test_a_framework_that_is_absent_is_a_sentence_with_what_brings_it(run, data, broken, tmp_path):
    (broken / "torch.py").write_text("raise ModuleNotFoundError('No module named torch')")
    output = tmp_path / "out.json"
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
    command += ["--data", str(data), "-o", str(output)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment())


only_linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@only_linux
@pytest.mark.parametrize(
    ("stop", "timeout", "says"),
    [(signal.SIGKILL, "10m", "SIGKILL"), (signal.SIGSTOP, "30s", "30 s")],
)
def test_what_a_framework_measured_before_it_failed_is_kept(data, tmp_path, stop, timeout, says):
    output, name = tmp_path / "out.json", HERE[-1]
    weights = tmp_path / f"out/{name}.safetensors"
    with begun(data, output, [name], "--epochs", "2000", "--timeout", timeout) as process:
        wait_for(weights.exists)
        (child,) = children(process.pid, "training.run:serve")
        os.kill(child, stop)
        process.communicate()
    assert process.returncode == 1
    (failed,) = read_training(output).runs
    assert failed.status == "failed"
    assert says in str(failed.reason)
    assert failed.epochs
    assert len(failed.losses) == 20 * len(failed.epochs)
    assert len(failed.first_losses) == 20


@only_linux
def test_a_polite_kill_ends_a_run_as_ctrl_c_does(data, hanging, sound, tmp_path):
    output = tmp_path / "out.json"
    with begun(data, output, [sound, "torch"]) as process:
        wait_for(hanging.exists)
        process.terminate()
        process.communicate()
    assert process.returncode == 130
    assert not any(map(alive, map(int, hanging.read_text().split())))
    result = read_training(output)
    assert len(result.run(sound).epochs) == 2
    reason = "stopped before there were weights to write"
    assert result.run("torch") == FrameworkRun("torch", "interrupted", reason)


@only_linux
def test_a_second_ctrl_c_does_not_wait_for_a_framework_that_hangs(data, broken, hanging, tmp_path):
    deaf = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    (broken / "torch.py").write_text(deaf + (broken / "torch.py").read_text())
    output = tmp_path / "out.json"
    with begun(data, output, ["torch"]) as process:
        wait_for(hanging.exists)
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)  # or the two would be one
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert process.returncode == 130
    assert not any(map(alive, map(int, hanging.read_text().split())))
    (row,) = read_training(output).runs
    assert (row.status, row.reason) == ("interrupted", "stopped at once")


def test_no_epochs_make_the_first_steps_alone(run, data, tmp_path):
    output = tmp_path / "out.json"
    done = run("train", *named(HERE[-2:]), *OPTIONS, "--epochs", "0", "--data", data, "-o", output)
    assert done.code == 0, done.errors
    assert "the first 20 batches of 20" in done.output
    result = read_training(output)
    assert [(len(run.first_losses), len(run.losses)) for run in result.runs] == 2 * [(20, 0)]
    assert output.with_suffix(".png").exists()
    assert not output.with_suffix("").exists()
    output = tmp_path / "diverges.json"
    options = ("--framework", HERE[-1], *OPTIONS, "--rate", "1e9", "--data", data, "-o", output)
    assert run("train", *options).code == 1
    (row,) = read_training(output).runs
    assert row.status == "failed"
    assert row.reason.endswith("the run diverged; train again with a rate below 1e+09")
