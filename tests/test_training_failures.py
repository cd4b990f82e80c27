"""What a failure costs where frameworks train side by side: its own row, and no more."""

import json
import os
import signal
import sys
from contextlib import contextmanager

import pytest
from conftest import environment
from processes import alive, children, linux, under_way, wait_for
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
    rows = {row["framework"]: row for row in done.answer["runs"]}
    assert rows[crashing]["status"] == "failed"
    assert "SIGSEGV" in rows[crashing]["reason"]
    assert rows[sound]["status"] == "ok"


def test_a_framework_that_is_absent_is_a_sentence_with_what_brings_it(run, data, broken, tmp_path):
    (broken / "torch.py").write_text("raise ModuleNotFoundError('No module named torch')")
    output = tmp_path / "out.safetensors"
    options = ("--framework", "torch", *OPTIONS, "--data", data, "-o", output)
    done = run("train", *options)
    assert done.code == 1
    assert "fix it with: pip install 'lenet-bench[torch]'" in done.errors
    assert "Traceback" not in done.errors


@contextmanager
def training(data, output):
    """The command in the last framework that is here, under way, and the framework's process."""
    command = [sys.executable, "-m", "lenet_bench", "train", *named(HERE[-1:]), *OPTIONS]
    command += ["--epochs", "2000", "--data", data, "-o", output, "--json"]
    with under_way(*command, env=environment()) as process:
        wait_for(output.exists)
        (child,) = children(process.pid, "training.loop:serve")
        yield process, child


@linux
def test_the_epochs_before_a_framework_is_killed_are_kept(data, tmp_path):
    with training(data, tmp_path / "out.safetensors") as (process, child):
        os.kill(child, signal.SIGKILL)
        printed, _ = process.communicate()
    assert process.returncode == 1
    (failed,) = json.loads(printed)["runs"]
    assert failed["status"] == "failed"
    assert "SIGKILL" in failed["reason"]
    assert failed["epochs"]


@linux
def test_sigterm_ends_the_framework_too(data, tmp_path):
    with training(data, tmp_path / "out.safetensors") as (process, child):
        process.terminate()
        process.communicate()
    assert process.returncode == 130
    assert not alive(child)


def test_a_run_that_diverges_says_which_rate_to_stay_below(run, data, tmp_path):
    options = ("--framework", HERE[-1], *OPTIONS, "--rate", "1e9", "--data", data)
    done = run("train", *options, "-o", tmp_path / "diverges.safetensors", "--json")
    assert done.code == 1
    assert "the run diverged; train again with a rate below 1e+09" in done.errors


@pytest.mark.parametrize("rate", ["1e+06", "1e+09"])
def test_a_run_that_diverges_in_the_last_step_of_an_epoch_is_no_success(run, data, tmp_path, rate):
    """The losses before the steps are finite."""
    options = ("--framework", HERE[-1], "--data", data, "--images", "300", "--epochs", "1")
    output = tmp_path / "diverges.safetensors"
    done = run("train", *options, "--validation", "100", "--rate", rate, "-o", output)
    assert done.code == 1
    assert f"the run diverged; train again with a rate below {rate}" in done.errors
    assert not output.exists()
