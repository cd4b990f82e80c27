"""Training in several frameworks: the same rule in each, side by side, and what failures cost.

Frameworks that are not installed are skipped and named; all that are here learn once, together.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from conftest import Run, environment
from lenet_bench.errors import ResultError
from lenet_bench.printout.training import side_by_side
from lenet_bench.results import read_result
from lenet_bench.terminal import Screen
from lenet_bench.training import FRAMEWORKS, Recipe, TrainingResult, read_training
from lenet_bench.training.agreement import TOLERANCE, agreement
from lenet_bench.training.checkpoint import read_checkpoint, write_checkpoint
from lenet_bench.training.result import FrameworkRun, write_training
from lenet_bench.weights import read_weights
from patterns import write_patterns
from PIL import Image
from processes import alive, wait_for

#: 40 steps.
RECIPE = Recipe(epochs=2, batch=20, rate=0.01, seed=3, validation=100)
OPTIONS = (
    *("--epochs", "2", "--batch", "20", "--rate", "0.01", "--seed", "3", "--validation", "100"),
)

NEEDED = {
    **{name: ("keras", name.partition("-")[2] or "tensorflow") for name in FRAMEWORKS[:3]},
    **{name: (name,) for name in FRAMEWORKS[3:]},
}
HERE = [name for name, modules in NEEDED.items() if all(map(find_spec, modules))]

pytestmark = pytest.mark.skipif(
    len(HERE) < 2 or not (find_spec("rich") and find_spec("matplotlib")),
    reason="needs two frameworks: pip install 'lenet-bench[train,torch,jax]'",
)
each_framework = pytest.mark.parametrize(
    "framework",
    [
        pytest.param(name, marks=() if name in HERE else pytest.mark.skip(f"{name} is not here"))
        for name in FRAMEWORKS
    ],
)


@dataclass(frozen=True)
class Trained:
    """A run of all frameworks at hand, by the command."""

    output: Path
    told: dict[str, object]  # with --json
    result: TrainingResult

    def checkpoint(self, framework: str) -> Path:
        return self.output.with_suffix("") / f"checkpoints/{framework}.checkpoint.safetensors"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten patterns that can be learnt."""
    return write_patterns(tmp_path_factory.mktemp("mnist"))


@pytest.fixture(scope="module")
def trained(run: Run, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """What the command gave."""
    output = tmp_path_factory.mktemp("trained") / "all.json"
    done = run("train", *named(HERE), *OPTIONS, "--data", data, "-o", output, "--json")
    assert done.code == 0, done.errors
    return Trained(output, json.loads(done.output), read_training(output))


def named(frameworks: list[str]) -> list[str]:
    return [word for name in frameworks for word in ("--framework", name)]


# the same rule

#: Four steps with changing rates, and once more with two trainers that share them.
STEPS = """
import sys
import numpy as np
from lenet_bench.network import PARAMETERS
from lenet_bench.training import Recipe
from lenet_bench.training.frameworks import import_trainer
from lenet_bench.training.recipe import first_weights

make = import_trainer(sys.argv[1], threads=1)
random = np.random.default_rng(5)
images = random.random((4, 16, 28, 28), np.float32)
labels = random.integers(0, 10, (4, 16), np.uint8)
for momentum in (0.0, 0.9):
    recipe = Recipe(momentum=momentum, weight_decay=0.1)
    straight, resumed = (make(recipe, first_weights(recipe)) for _ in range(2))
    for step in range(4):
        if step == 2:
            resumed.restore(straight.state())
        straight.step(images[step], labels[step], 0.01 * (1 + step))
        if step >= 2:
            resumed.step(images[step], labels[step], 0.01 * (1 + step))
    one, two = straight.state(), resumed.state()
    for name in PARAMETERS:
        assert np.array_equal(one.parameters[name], two.parameters[name]), (name, momentum)
        assert np.array_equal(one.velocity[name], two.velocity[name]), (name, momentum)
np.savez(sys.argv[2], **one.parameters, **{f"velocity of {n}": v for n, v in one.velocity.items()})
"""


@pytest.fixture(scope="module")
def stepped(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Where a framework's state lies after its steps, made in a process of its own."""
    folder = tmp_path_factory.mktemp("steps")

    def step(framework: str) -> Path:
        path = folder / f"{framework}.npz"
        if not path.exists():
            command = [sys.executable, "-c", STEPS, framework, str(path)]
            done = subprocess.run(command, capture_output=True, text=True, env=environment())
            assert done.returncode == 0, done.stderr
        return path

    return step


@each_framework
def test_a_restored_trainer_goes_on_to_the_same_bits(
    stepped: Callable[[str], Path], framework: str
) -> None:
    assert stepped(framework).exists()


@each_framework
def test_a_framework_steps_as_the_first_one_does(
    stepped: Callable[[str], Path], framework: str
) -> None:
    """The rate's way into the momentum, the penalty that spares biases: all would show here."""
    one, other = np.load(stepped(HERE[0])), np.load(stepped(framework))
    for name in one.files:
        assert other[name] == pytest.approx(one[name], abs=1e-6), name


def test_the_first_losses_of_all_frameworks_agree(trained: Trained) -> None:
    found = trained.result.agreement
    assert found is not None
    assert (found.frameworks, found.steps) == (tuple(HERE), 20)
    assert found.difference < TOLERANCE / 10


# the result


def test_every_row_tells_speed_start_up_and_memory(trained: Trained) -> None:
    assert [run.framework for run in trained.result.runs] == HERE
    for run in trained.result.runs:
        assert run.images_per_s is not None
        assert run.images_per_s > 0
        assert run.start_up is not None
        assert run.start_up.total_s > 0
        assert run.peak_rss_mib is not None
        assert run.peak_rss_mib > 50


def test_every_row_has_its_epochs_and_the_loss_of_each_step(trained: Trained) -> None:
    for run in trained.result.runs:
        assert [epoch.epoch for epoch in run.epochs] == [1, 2]
        assert np.mean(run.losses[20:]) == pytest.approx(run.epochs[1].loss)


def test_the_test_accuracy_is_that_of_the_weights_that_are_written(trained: Trained) -> None:
    for run in trained.result.runs:
        weights = trained.output.with_suffix("") / f"{run.framework}.safetensors"
        told = read_weights(weights).metadata
        assert int(told["test_correct"]) == run.test_correct
        assert told["framework"] == run.framework


def test_json_tells_all_but_the_losses_of_the_steps(trained: Trained) -> None:
    told = trained.told
    assert told["recipe"] == RECIPE.to_json()
    rows = told["runs"]
    assert isinstance(rows, list)
    assert [row["framework"] for row in rows] == HERE
    assert all("losses" not in row and row["steps"] == 40 for row in rows)


def test_the_losses_are_drawn_together(trained: Trained) -> None:
    with Image.open(trained.output.with_suffix(".png")) as picture:
        assert picture.format == "PNG"
        assert len(picture.convert("RGB").getcolors(1 << 24) or ()) > len(HERE)


def test_the_table_fits_80_columns(trained: Trained) -> None:
    lines = list(side_by_side(Screen(80, colour=False, unicode=False), trained.result))
    assert max(map(len, lines)) <= 80
    assert sum(line.split()[:1] == [name] for line in lines for name in HERE) == len(HERE)


def test_a_result_that_is_written_is_read_again(trained: Trained, tmp_path: Path) -> None:
    write_training(tmp_path / "again.json", trained.result)
    assert read_training(tmp_path / "again.json") == trained.result


def test_a_truncated_result_is_refused(trained: Trained, tmp_path: Path) -> None:
    path = tmp_path / "half.json"
    path.write_bytes(trained.output.read_bytes()[:-100])
    with pytest.raises(ResultError, match="not a result file: it is not JSON"):
        read_training(path)


def test_the_result_of_training_is_not_taken_for_a_comparison(trained: Trained) -> None:
    with pytest.raises(
        ResultError, match="expected the result of a comparison, found that of a tr"
    ):
        read_result(trained.output)


# agreement


def test_the_largest_difference_is_named_with_its_step_and_frameworks() -> None:
    found = agreement({"torch": [2.0, 1.5, 1.0], "jax": [2.0, 1.4, 1.0], "keras": [2, 1.45, 1]})
    assert found is not None
    assert (found.step, found.lowest, found.highest) == (2, "jax", "torch")
    assert found.difference == pytest.approx(0.1)


def test_one_framework_agrees_with_nobody() -> None:
    assert agreement({"torch": [2.0, 1.5], "jax": []}) is None


def test_losses_that_do_not_agree_fail_the_command(
    run: Run, trained: Trained, data: Path, tmp_path: Path
) -> None:
    """The rows are those of the run, but for the last loss of one: nothing is left to learn."""
    first, *others = trained.result.runs
    losses = (*first.first_losses[:-1], first.first_losses[-1] + 2 * TOLERANCE)
    path = tmp_path / "apart.json"
    runs = (replace(first, first_losses=losses), *others)
    write_training(path, replace(trained.result, runs=runs))
    done = run("train", *named(HERE), "--data", data, "-o", path, "--resume")
    assert done.code == 1
    found = f"the losses of the first 20 steps are at most {2 * TOLERANCE:.1e}"
    assert found in done.output.replace("\n ", "")


# failures


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A folder that Python searches first: for frameworks that fail."""
    folder = tmp_path / "broken"
    folder.mkdir()
    return folder


def test_a_framework_that_crashes_costs_its_own_row(
    run: Run, data: Path, broken: Path, tmp_path: Path
) -> None:
    crashing, *_ = sound = [name for name in HERE if not name.startswith("keras")]
    crash = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
    (broken / f"{crashing}.py").write_text(crash)
    output = tmp_path / "out.json"
    two = (*named([crashing, sound[-1]]), *OPTIONS, "--data", data, "-o", output)
    done = run("train", *two, PYTHONPATH=str(broken))
    assert done.code == 1
    failed, ok = (read_training(output).run(name) for name in (crashing, sound[-1]))
    assert failed == FrameworkRun(
        crashing, "failed", "its process was killed by SIGSEGV (Segmentation fault)"
    )
    assert ok is not None
    assert ok.status == "ok"


def test_data_that_are_absent_are_told_before_a_framework_is_imported(
    run: Run, broken: Path, tmp_path: Path
) -> None:
    (broken / "torch.py").write_text("raise SystemExit('imported in vain')")
    given = ("--data", tmp_path / "nosuch", "-o", tmp_path / "a.safetensors")
    path = os.pathsep.join([str(broken), os.environ.get("PYTHONPATH", "")])
    done = run("train", "--framework", "torch", *given, PYTHONPATH=path)
    assert done.code == 1
    assert "nosuch: no such folder; expected one with MNIST's IDX files" in done.errors


def test_a_framework_that_is_absent_is_told_with_what_brings_it(
    run: Run, data: Path, broken: Path, tmp_path: Path
) -> None:
    (broken / "torch.py").write_text("raise ModuleNotFoundError('No module named torch')")
    output = tmp_path / "out.json"
    options = ("--framework", "torch", *OPTIONS, "--data", data, "-o", output)
    done = run("train", *options, PYTHONPATH=str(broken))
    assert done.code == 1
    assert "mend it with: pip install 'lenet-bench[train,torch]'" in done.errors
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
def hanging(broken: Path, tmp_path: Path) -> Path:
    """Where a torch that hangs when it is imported writes the ids of its processes."""
    pids = tmp_path / "pids"
    (broken / "torch.py").write_text(HANGS.format(pids=str(pids)))
    return pids


@pytest.fixture
def sound() -> str:
    """A framework that does not care for what became of torch."""
    for name in ("jax", "tensorflow"):
        if name in HERE:
            return name
    pytest.skip("needs a framework beside torch: pip install 'lenet-bench[train,jax]'")


def begun(data: Path, output: Path, frameworks: list[str], *more: str) -> "subprocess.Popen[str]":
    """The command, under way, with what is broken before what is sound."""
    command = [sys.executable, "-m", "lenet_bench", "train", *named(frameworks), *OPTIONS, *more]
    command += ["--data", str(data), "-o", str(output)]
    path = environment(PYTHONPATH=str(output.parent / "broken"))
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=path)


def trainers(pid: int) -> list[int]:
    """Those of its children that train."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == pid and b"training.child" in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:  # it ended while it was looked at
            continue
    return found


only_linux = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


@only_linux
def test_a_framework_that_hangs_is_given_up_with_all_that_it_started(
    run: Run, data: Path, broken: Path, hanging: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out.json"
    options = ("--framework", "torch", *OPTIONS, "--data", data, "-o", output, "--timeout", "15s")
    done = run("train", *options, PYTHONPATH=str(broken))
    assert done.code == 1
    assert read_training(output).runs == (
        FrameworkRun("torch", "failed", "given up: it made no step for 15 s (--timeout)"),
    )
    assert not any(map(alive, map(int, hanging.read_text().split())))


@only_linux
@pytest.mark.parametrize(
    ("stop", "told"),
    [
        (signal.SIGKILL, "its process was killed by SIGKILL (Killed)"),
        (signal.SIGSTOP, "given up: it made no step for 30 s (--timeout)"),
    ],
)
def test_what_a_framework_measured_before_it_failed_is_kept(
    data: Path, tmp_path: Path, stop: signal.Signals, told: str
) -> None:
    output, name = tmp_path / "out.json", HERE[-1]
    checkpoint = tmp_path / f"out/checkpoints/{name}.checkpoint.safetensors"
    with begun(data, output, [name], "--epochs", "2000", "--timeout", "30s") as process:
        wait_for(checkpoint.exists)
        (child,) = trainers(process.pid)
        os.kill(child, stop)
        process.communicate()
    assert process.returncode == 1
    (failed,) = read_training(output).runs
    assert (failed.status, failed.reason) == ("failed", told)
    assert failed.epochs
    assert len(failed.losses) == 20 * len(failed.epochs)
    assert len(failed.first_losses) == 20


@only_linux
def test_kill_9_leaves_no_process_and_the_rows_that_were_done(
    data: Path, hanging: Path, sound: str, tmp_path: Path
) -> None:
    output = tmp_path / "out.json"
    with begun(data, output, [sound, "torch"]) as process:
        wait_for(hanging.exists)
        process.kill()
        process.communicate()
    pids = list(map(int, hanging.read_text().split()))
    wait_for(lambda: not any(map(alive, pids)))
    (done,) = read_training(output).runs
    assert (done.framework, done.status, len(done.epochs)) == (sound, "ok", 2)


@only_linux
def test_a_polite_kill_ends_a_run_as_ctrl_c_does(data: Path, hanging: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.json"
    with begun(data, output, ["torch"]) as process:
        wait_for(hanging.exists)
        process.terminate()
        process.communicate()
    assert process.returncode == 130
    assert read_training(output).runs == (
        FrameworkRun("torch", "interrupted", "stopped before it began to learn"),
    )


@only_linux
def test_a_second_ctrl_c_does_not_wait_for_a_framework_that_hangs(
    data: Path, broken: Path, hanging: Path, tmp_path: Path
) -> None:
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


#: The framework itself, which from now on talks without end, as Python and as C++ do.
TALKS = """
import os, sys, threading, time
def talk():
    while True:
        print("noise")
        os.write(1, b"noise"), os.write(2, b"noise")
        time.sleep(0.01)
threading.Thread(target=talk, daemon=True).start()
sys.path[:] = [folder for folder in sys.path if folder != {folder!r}]
del sys.modules[__name__]
import {framework}
"""


def test_a_framework_that_prints_disturbs_nobody(
    run: Run, data: Path, broken: Path, sound: str, tmp_path: Path
) -> None:
    (broken / f"{sound}.py").write_text(TALKS.format(folder=str(broken), framework=sound))
    options = ("--framework", sound, *OPTIONS, "--data", data, "-o", tmp_path / "out.json")
    done = run("train", *options, "--epochs", "0", "--json", PYTHONPATH=str(broken))
    assert done.code == 0, done.errors
    assert json.loads(done.output)["runs"][0]["status"] == "ok"
    assert "noise" not in done.errors


def test_no_epochs_make_the_first_steps_alone(run: Run, data: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.json"
    done = run("train", *named(HERE[-2:]), *OPTIONS, "--epochs", "0", "--data", data, "-o", output)
    assert done.code == 0, done.errors
    assert "the first 20 batches of 20" in done.output
    result = read_training(output)
    assert [(len(run.first_losses), len(run.losses)) for run in result.runs] == 2 * [(20, 0)]
    assert output.with_suffix(".png").exists()
    assert not output.with_suffix("").exists()


def test_first_steps_that_diverge_are_told(run: Run, data: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.json"
    options = ("--framework", HERE[-1], *OPTIONS, "--rate", "1e9", "--data", data, "-o", output)
    assert run("train", *options).code == 1
    (row,) = read_training(output).runs
    assert row.status == "failed"
    assert row.reason is not None
    assert row.reason.endswith("the run diverged; train again with a rate below 1e+09")


@pytest.mark.parametrize("name", ["out.json", "out.png", "out/torch-learning-curve.png"])
def test_a_directory_where_a_file_shall_lie_is_refused_before_the_training(
    run: Run, data: Path, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).mkdir(parents=True)
    options = ("--framework", "torch", "--data", data, "-o", tmp_path / "out.json")
    done = run("train", *options)
    assert done.code == 1
    expected = f"{tmp_path / name}: expected a file to write, found a directory"
    assert done.errors.splitlines() == [f"lenet-bench: {expected}"]


def test_a_result_that_cannot_be_written_is_told_by_the_name_that_was_given(
    run: Run, data: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    output = tmp_path / "file/out.json"
    done = run("train", "--framework", "torch", "--data", data, "-o", output)
    assert done.code == 1
    assert done.errors.startswith(f"lenet-bench: {output}: cannot be written: ")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--timeout", "5s"), "--timeout is for frameworks side by side: -o FILE.json"),
        (("--epochs", "0"), "epochs: expected at least 1, got 0"),
    ],
)
def test_what_is_for_frameworks_side_by_side_is_refused_alone(
    run: Run, options: tuple[str, str], told: str
) -> None:
    done = run("train", "--framework", "torch", *options)
    assert done.code == 2
    assert told in done.errors


def test_an_unknown_framework_is_refused_with_those_that_there_are(run: Run) -> None:
    done = run("train", "--framework", "theano")
    assert done.code == 2
    assert f"'theano' is none of {', '.join(FRAMEWORKS)}, all" in done.errors


def test_several_frameworks_need_a_result_file(run: Run) -> None:
    done = run("train", *named(["torch", "jax"]), "-o", "lenet.safetensors")
    assert done.code == 2
    assert "expected a name that ends in .json" in done.errors


def test_an_unfinished_run_of_one_framework_is_not_thrown_away(
    run: Run, trained: Trained, data: Path, tmp_path: Path
) -> None:
    checkpoint = tmp_path / f"new/checkpoints/{HERE[-1]}.checkpoint.safetensors"
    checkpoint.parent.mkdir(parents=True)
    unfinished = replace(read_checkpoint(trained.checkpoint(HERE[-1])), history=())
    write_checkpoint(checkpoint, unfinished)
    done = run("train", *named(HERE), *OPTIONS, "--data", data, "-o", tmp_path / "new.json")
    assert done.code == 1
    assert "holds an unfinished run (0 of 2 epochs): add --resume" in done.errors


def test_a_stopped_run_goes_on_with_what_is_left(
    data: Path, trained: Trained, tmp_path: Path
) -> None:
    """Stopped in the first framework's first epochs; in the end each has its weights' bits."""
    output, names = tmp_path / "all.json", [HERE[0], HERE[-1]]
    checkpoint = tmp_path / f"all/checkpoints/{HERE[0]}.checkpoint.safetensors"
    command = [sys.executable, "-m", "lenet_bench", "train", *named(names), *OPTIONS]
    command += ["--data", str(data), "-o", str(output)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment()) as process:
        while not checkpoint.exists() and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate()
    assert process.returncode == 130, told
    assert "the same command with --resume goes on" in told
    done = subprocess.run([*command, "--resume"], capture_output=True, env=environment())
    assert done.returncode == 0, done.stderr
    for name in names:
        whole, resumed = (path.with_suffix("") for path in (trained.output, output))
        weights = (read_weights(folder / f"{name}.safetensors") for folder in (whole, resumed))
        assert len({one.sha256 for one in weights}) == 1
