"""Training in several frameworks: the same rule in each, side by side, and what failures cost.

Frameworks that are not installed are skipped and named; all that are here learn once, together.
"""

import json
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
from lenet_bench.results import read_result
from lenet_bench.terminal import Screen
from lenet_bench.training import FRAMEWORKS, Recipe, TrainingResult, read_training
from lenet_bench.training.agreement import TOLERANCE, agreement
from lenet_bench.training.checkpoint import read_checkpoint, write_checkpoint
from lenet_bench.training.result import FrameworkRun, write_training
from lenet_bench.training.table import table
from lenet_bench.weights import read_weights
from patterns import write_patterns
from PIL import Image

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
    lines = list(table(trained.result, Screen(80, colour=False, unicode=False)))
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
