"""Training in several frameworks: the same rule in each, side by side, and what failures cost.

Frameworks that are not installed are skipped and named; all that are here learn once, together.
"""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from conftest import environment
from lenet_bench.show.terminal.screen import Screen
from lenet_bench.show.training import training
from lenet_bench.training import FRAMEWORKS, TrainingResult, read_training
from lenet_bench.training.frameworks import variables
from lenet_bench.training.result import TOLERANCE, FrameworkRun, agreement, write_training
from lenet_bench.weights import read_weights
from PIL import Image
from processes import python
from trainings import HERE, OPTIONS, RECIPE, named, needs_two

pytestmark = [needs_two, pytest.mark.slow]
each_framework = pytest.mark.parametrize(
    "framework",
    [
        pytest.param(name, marks=() if name in HERE else pytest.mark.skip(f"{name} is not here"))
        for name in FRAMEWORKS
    ],
)


@dataclass(frozen=True)
class Trained:
    """A run of all frameworks that are here, by the command."""

    output: Path
    printed: dict[str, object]  # with --json
    result: TrainingResult


@pytest.fixture(scope="module")
def trained(run, data, tmp_path_factory):
    output = tmp_path_factory.mktemp("trained") / "all.json"
    done = run("train", *named(HERE), *OPTIONS, "--data", data, "-o", output, "--json")
    assert done.code == 0, done.errors
    return Trained(output, json.loads(done.output), read_training(output))


#: Four steps with changing rates, after others that `load` has to undo.
STEPS = """
import sys
import numpy as np
from lenet_bench.training import Recipe
from lenet_bench.training.frameworks import import_trainer
from lenet_bench.training.recipe import first_weights

make = import_trainer(sys.argv[1])
random = np.random.default_rng(5)
images = random.random((4, 16, 28, 28), np.float32)
labels = random.integers(0, 10, (4, 16), np.uint8)
reached = {}
for momentum in (0.0, 0.9):
    recipe = Recipe(momentum=momentum, weight_decay=0.1)
    trainer = make(recipe, first_weights(recipe))
    for again in range(2):
        for step in range(4):
            trainer.step(images[step], labels[step], 0.01 * (1 + step))
        for name, array in trainer.parameters().items():
            key = f"{name} {momentum}"
            assert np.array_equal(reached.setdefault(key, array), array), key
        trainer.load(first_weights(recipe))
np.savez(sys.argv[2], **reached)
"""


@pytest.fixture(scope="module")
def stepped(tmp_path_factory):
    """The file of a framework's parameters after its steps, made in a process of its own."""
    folder = tmp_path_factory.mktemp("steps")

    def step(framework):
        path = folder / f"{framework}.npz"
        if not path.exists():
            python(STEPS, framework, path, env=environment(**variables(framework, 1)))
        return path

    return step


@each_framework
def test_a_framework_steps_as_the_first_one_does(stepped, framework):
    """The rate's way into the momentum, the penalty that spares biases: all would show here.

    And that a framework's steps are undone where its first weights are loaded again.
    """
    one, other = np.load(stepped(HERE[0])), np.load(stepped(framework))
    for name in one.files:
        assert other[name] == pytest.approx(one[name], abs=1e-6), name


def test_every_row_has_its_speed_memory_epochs_losses_and_the_accuracy_of_its_weights(trained):
    assert [run.framework for run in trained.result.runs] == HERE
    for run in trained.result.runs:
        assert run.images_per_s > 0
        assert run.start_up.total_s > 0
        assert run.peak_rss_mib > 50
        assert [epoch.epoch for epoch in run.epochs] == [1, 2]
        assert np.mean(run.losses[20:]) == pytest.approx(run.epochs[1].loss)
        weights = trained.output.with_suffix("") / f"{run.framework}.safetensors"
        metadata = read_weights(weights).metadata
        assert int(metadata["test_correct"]) == run.test_correct
        assert metadata["framework"] == run.framework
    found = trained.result.agreement
    assert (found.frameworks, found.steps) == (tuple(HERE), 20)
    assert found.difference < TOLERANCE / 10


def test_json_a_picture_and_a_table_of_80_columns_show_all_frameworks(trained):
    rows = trained.printed["runs"]
    assert trained.printed["recipe"] == asdict(RECIPE)
    assert [row["framework"] for row in rows] == HERE
    assert all("losses" not in row and row["steps"] == 40 for row in rows)
    with Image.open(trained.output.with_suffix(".png")) as picture:
        assert picture.format == "PNG"
        assert len(picture.convert("RGB").getcolors(1 << 24) or ()) > len(HERE)
    lines = list(training(Screen(80, colour=False), trained.result))
    assert max(map(len, lines)) <= 80
    assert sum(line.split()[:1] == [name] for line in lines for name in HERE) == len(HERE)


def test_the_largest_difference_is_named_with_its_step_and_frameworks():
    found = agreement({"torch": [2.0, 1.5, 1.0], "jax": [2.0, 1.4, 1.0], "keras": [2, 1.45, 1]})
    assert (found.step, found.lowest, found.highest) == (2, "jax", "torch")
    assert found.difference == pytest.approx(0.1)
    assert agreement({"torch": [2.0, 1.5], "jax": []}) is None


def test_losses_that_do_not_agree_fail_the_command(run, trained, data, tmp_path):
    """The rows are those of the run, but for the last loss of one: nothing is left to learn."""
    first, *others = trained.result.runs
    losses = (*first.first_losses[:-1], first.first_losses[-1] + 2 * TOLERANCE)
    path = tmp_path / "apart.json"
    runs = (replace(first, first_losses=losses), *others)
    write_training(path, replace(trained.result, runs=runs))
    done = run("train", *named(HERE), *OPTIONS, "--data", data, "-o", path)
    assert done.code == 1
    assert f"{2 * TOLERANCE:.1e}" in done.output


def test_a_file_of_another_training_is_not_replaced(run, trained, data, tmp_path):
    path = tmp_path / "other.json"
    write_training(path, trained.result)
    before = path.read_bytes()
    done = run("train", *named(HERE), *OPTIONS, "--seed", "4", "--data", data, "-o", path)
    assert done.code == 1
    assert "another recipe" in done.errors
    assert path.read_bytes() == before


def test_the_same_command_again_trains_only_what_is_missing(run, trained, data, tmp_path):
    path = tmp_path / "again.json"
    *kept, missing = trained.result.runs
    marked = tuple(replace(row, peak_rss_mib=1.0) for row in kept)
    failed = FrameworkRun(missing.framework, "interrupted", "stopped")
    write_training(path, replace(trained.result, runs=(*marked, failed)))
    done = run("train", *named(HERE), *OPTIONS, "--data", data, "-o", path)
    assert done.code == 0, done.errors
    result = read_training(path)
    assert result.runs[:-1] == marked
    assert result.runs[-1].losses == missing.losses
