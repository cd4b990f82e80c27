"""Training in several frameworks: the same rule in each, side by side, and what failures cost.

Frameworks that are not installed are skipped and named; all that are here learn once, together.
"""

import json

import numpy as np
import pytest
from conftest import environment
from lenet_bench.show.terminal.screen import Screen
from lenet_bench.show.training import table_of
from lenet_bench.training import FRAMEWORKS, TrainingResult
from lenet_bench.training.frameworks import variables
from lenet_bench.training.result import TOLERANCE, FrameworkRun
from lenet_bench.weights import read_weights
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


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    return tmp_path_factory.mktemp("trained") / "all"


@pytest.fixture(scope="module")
def trained(run, data, output):
    """What the command prints of all frameworks that are here."""
    done = run("train", *named(HERE), *OPTIONS, "--data", data, "-o", output, "--json")
    assert done.code == 0, done.errors
    return json.loads(done.output)


#: Four steps with changing rates.
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
    for step in range(4):
        trainer.step(images[step], labels[step], 0.01 * (1 + step))
    reached |= {f"{name} {momentum}": array for name, array in trainer.parameters().items()}
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
    """The rate's way into the momentum, the penalty that spares biases: all would show here."""
    one, other = np.load(stepped(HERE[0])), np.load(stepped(framework))
    for name in one.files:
        assert other[name] == pytest.approx(one[name], abs=1e-6), name


def test_every_row_has_its_epochs(trained):
    rows = trained["runs"]
    assert [row["framework"] for row in rows] == HERE
    for row in rows:
        assert row["images_per_s"] > 0
        assert [epoch["epoch"] for epoch in row["epochs"]] == [1, 2]


def test_every_row_has_the_accuracy_of_its_weights(trained, output):
    for row in trained["runs"]:
        metadata = read_weights(output / f"{row['framework']}.safetensors").metadata
        assert int(metadata["test_correct"]) == row["test_correct"]
        assert metadata["framework"] == row["framework"]


def test_the_losses_of_all_frameworks_agree(trained):
    agreement = trained["agreement"]
    assert agreement["holds"]
    assert agreement["difference"] < TOLERANCE / 10


def made(*losses):
    """A result of frameworks with these first losses."""
    runs = (
        FrameworkRun(name, f"{name}.safetensors", "ok", first_losses=one)
        for name, one in zip(FRAMEWORKS, losses, strict=False)
    )
    return TrainingResult(1, RECIPE, tuple(runs))


def test_the_largest_difference_at_the_same_step_counts():
    found = made((2.0, 1.5, 1.0), (2.0, 1.4, 1.0), (2.0, 1.45, 1.0))
    assert found.difference == pytest.approx(0.1)
    assert not found.agrees


def test_one_framework_alone_agrees():
    assert made((2.0, 1.5), ()).difference is None
    assert made((2.0, 1.5), ()).agrees


def test_the_table_says_that_frameworks_disagree():
    lines = table_of(Screen(80, colour=False), made((2.0,), (2.0 + 2 * TOLERANCE,)))
    assert any(line.startswith("✗ ") for line in lines)


def test_the_steps_that_were_compared_are_counted():
    found = made((2.0, 1.5, 1.0), (2.0, 1.5, 1.0))
    assert found.to_json()["agreement"]["steps"] == 3
    assert "losses of the first 3 steps" in "".join(table_of(Screen(80, colour=False), found))
