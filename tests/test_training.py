"""Training: the recipe's arithmetic, runs that stop anywhere and go on with the same bits."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lenet_bench.errors import LenetBenchError, WeightsError
from lenet_bench.network import PARAMETERS
from lenet_bench.training import Augmentation, Recipe, TrainOptions, TrainResult, recipe, train
from lenet_bench.training.augment import augment, expose, move, redraw, sample, soften
from lenet_bench.training.checkpoint import Checkpoint, Epoch, read_checkpoint, write_checkpoint
from lenet_bench.training.frameworks import MakeTrainer, import_trainer
from lenet_bench.training.trainer import State, Trainer
from lenet_bench.weights import Weights, read_weights
from numpy.typing import NDArray
from patterns import write_patterns
from PIL import Image
from rich.console import Console

Images = NDArray[np.float32]

UNCHANGED = Augmentation(0, 0, 0, 0, 0, 0, 0, 0)

#: 12 epochs of 10 batches: some seconds, so that there is time to stop it.
SMALL = Recipe(epochs=12, batch=40, rate=0.01, seed=3, validation=100)

#: Keras on TensorFlow reads its variables in a way that NumPy 2 warns of.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

needs_keras = pytest.mark.skipif(
    not all(find_spec(name) for name in ("keras", "tensorflow", "matplotlib")),
    reason="needs Keras: pip install 'lenet-bench[train]'",
)


# the recipe


def test_the_same_seed_gives_the_same_first_weights() -> None:
    one, two = recipe.first_weights(Recipe(seed=7)), recipe.first_weights(Recipe(seed=7))
    assert all(np.array_equal(one[name], two[name]) for name in PARAMETERS)


def test_another_seed_gives_other_first_weights() -> None:
    one, two = recipe.first_weights(Recipe(seed=7)), recipe.first_weights(Recipe(seed=8))
    assert not np.array_equal(one["fc1.weight"], two["fc1.weight"])


def test_first_weights_are_spread_as_caffes_xavier_filler_does() -> None:
    weight = recipe.first_weights(Recipe())["fc1.weight"]
    assert np.abs(weight).max() <= np.sqrt(3 / 800)
    assert weight.std() == pytest.approx(np.sqrt(1 / 800), rel=0.01)


def test_learning_and_validation_images_share_none_and_leave_none() -> None:
    learning, validation = recipe.split(Recipe(validation=100), 1000)
    assert len(validation) == 100
    assert sorted([*learning, *validation]) == list(range(1000))


def test_images_limits_both_parts_together() -> None:
    learning, validation = recipe.split(Recipe(validation=100, images=300), 1000)
    assert sorted([*learning, *validation]) == list(range(300))


def test_holding_out_every_image_is_refused() -> None:
    with pytest.raises(LenetBenchError, match="holding out 100 of 100 training images leaves none"):
        recipe.split(Recipe(validation=100), 100)


def test_an_epoch_shows_no_image_twice() -> None:
    batches = recipe.order(Recipe(batch=32), 0, np.arange(320))
    assert [len(batch) for batch in batches] == [32] * 10
    assert sorted(np.concatenate(batches)) == list(range(320))


def test_each_epoch_has_its_own_order() -> None:
    one, two = (recipe.order(Recipe(), epoch, np.arange(1280)) for epoch in (0, 1))
    assert not np.array_equal(one[0], two[0])


def test_fewer_images_than_a_batch_make_one_batch() -> None:
    assert [len(batch) for batch in recipe.order(Recipe(batch=128), 0, np.arange(50))] == [50]


def test_the_rate_rises_from_a_25th_to_its_top_and_falls_to_nothing() -> None:
    rates = [recipe.rate(Recipe(rate=0.05), step, 1000) for step in range(1000)]
    assert rates[0] == pytest.approx(0.05 / 25)
    assert max(rates) == rates[300] == pytest.approx(0.05)
    assert rates[-1] < 1e-6


def test_a_recipe_survives_json() -> None:
    given = Recipe(epochs=3, images=70, augmentation=Augmentation(blur=0.25))
    assert Recipe.from_json(json.loads(json.dumps(given.to_json()))) == given


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"epochs": 0}, "epochs: expected at least 1, got 0"),
        ({"batch": 0}, "batch: expected at least 1, got 0"),
        ({"seed": -1}, "seed: expected at least 0, got -1"),
        ({"validation": 0}, "validation: expected at least 1, got 0"),
        ({"rate": -0.1}, "rate: expected a number above 0, got -0.1"),
        ({"rate": float("nan")}, "rate: expected a number above 0, got nan"),
        ({"momentum": 1.0}, "momentum: expected 0 or more and below 1, got 1.0"),
        ({"weight_decay": -1.0}, "weight_decay: expected 0 or more, got -1.0"),
        ({"images": 5000}, "images: expected more than the 5000 held out"),
        ({"augmentation": Augmentation(blur=2)}, "blur: expected 0 to 1, got 2"),
        ({"augmentation": Augmentation(shift=float("nan"))}, "shift: expected 0 to 28, got nan"),
    ],
)
def test_a_recipe_that_cannot_be_trained_is_refused(wrong: Mapping[str, object], told: str) -> None:
    with pytest.raises(LenetBenchError) as caught:
        recipe.check_recipe(replace(Recipe(), **wrong))  # type: ignore[arg-type]
    assert told in str(caught.value)


# augmentation


@pytest.fixture
def images() -> Images:
    """Squares of ink on paper."""
    images = np.zeros((40, 28, 28), np.float32)
    images[:, 8:20, 10:18] = 0.9
    return images


def stream(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("strength", [0.0, 0.5, 1.0])
def test_augmented_pixels_stay_within_0_and_1(strength: float) -> None:
    noise = stream().random((40, 28, 28), np.float32)
    change = Augmentation(90, 0.5, 1, 10, strength, strength, strength, strength)
    changed = augment(noise, change, stream())
    assert changed.dtype == np.float32
    assert changed.min() >= 0
    assert changed.max() <= 1


def test_no_change_leaves_every_pixel(images: Images) -> None:
    assert np.array_equal(augment(images, UNCHANGED, stream()), images)


def test_the_same_stream_makes_the_same_pixels(images: Images) -> None:
    one, two = (augment(images, Augmentation(), stream(9)) for _ in range(2))
    assert np.array_equal(one, two)


def test_each_image_of_a_batch_is_changed_in_its_own_way(images: Images) -> None:
    changed = augment(images, Augmentation(), stream())
    assert len(np.unique(changed.reshape(len(changed), -1), axis=0)) == len(images)


def test_sampling_between_pixels_is_bilinear() -> None:
    image = stream().random((1, 28, 28), np.float32)
    y, x = np.full((1, 28, 28), 4.25, np.float32), np.full((1, 28, 28), 7.5, np.float32)
    four = image[0, 4:6, 7:9]
    expected = 0.75 * four[0].mean() + 0.25 * four[1].mean()
    assert sample(image, y, x) == pytest.approx(np.full((1, 28, 28), expected), abs=1e-6)


def test_beyond_the_edge_is_paper() -> None:
    image = np.ones((1, 28, 28), np.float32)
    far = np.full((1, 28, 28), 1000, np.float32)
    for y, x in ((far, far), (-far, far), (far, -far), (-far, -far)):
        assert not sample(image, y, x).any()


def test_turning_and_sizing_keep_the_middle_in_the_middle() -> None:
    image = np.zeros((50, 28, 28), np.float32)
    image[:, 10:18, 10:18] = 1
    turned = move(image, replace(UNCHANGED, rotation=180, scale=0.5), stream())
    assert (turned[:, 13:15, 13:15] > 0.99).all()


def test_a_thicker_pen_only_adds_ink(images: Images) -> None:
    thick = redraw(images, replace(UNCHANGED, thicker=1.0), stream())
    assert (thick >= images).all()
    assert thick.sum() > images.sum()


def test_a_thinner_pen_only_takes_ink(images: Images) -> None:
    thin = redraw(images, replace(UNCHANGED, thinner=1.0), stream())
    assert (thin <= images).all()
    assert thin.sum() < images.sum()


def test_blur_moves_ink_but_keeps_its_amount(images: Images) -> None:
    soft = soften(images, replace(UNCHANGED, blur=1.0), stream())
    assert not np.array_equal(soft, images)
    assert soft.sum(axis=(1, 2)) == pytest.approx(images.sum(axis=(1, 2)), rel=1e-4)


def test_exposure_leaves_paper_white(images: Images) -> None:
    pale = expose(images, replace(UNCHANGED, contrast=1.0), stream())
    assert not pale[images == 0].any()


# the checkpoint


@pytest.fixture(scope="module")
def checkpoint() -> Checkpoint:
    parameters = recipe.first_weights(SMALL)
    state = State(parameters, {name: -array for name, array in parameters.items()})
    history = (Epoch(1, 0.5, 0.25, 0.875, 3.0), Epoch(2, 0.4, 0.3, 0.875, 2.0, 640.0))
    losses, past = (0.1, 1 / 3), (0.5, 0.4)
    return Checkpoint(SMALL, "data", state, parameters, history, losses, 1.5, past_losses=past)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lenet.checkpoint.safetensors"


def test_a_checkpoint_holds_the_state_bit_by_bit(path: Path, checkpoint: Checkpoint) -> None:
    write_checkpoint(path, checkpoint)
    state = read_checkpoint(path).state
    for name in PARAMETERS:
        assert np.array_equal(state.parameters[name], checkpoint.state.parameters[name])
        assert np.array_equal(state.velocity[name], checkpoint.state.velocity[name])


def test_a_checkpoint_holds_the_place_and_the_history(path: Path, checkpoint: Checkpoint) -> None:
    write_checkpoint(path, checkpoint)
    found = read_checkpoint(path)
    assert (found.recipe, found.data) == (checkpoint.recipe, checkpoint.data)
    assert (found.history, found.losses, found.past_losses, found.seconds) == (
        checkpoint.history,
        checkpoint.losses,
        checkpoint.past_losses,
        checkpoint.seconds,
    )


def test_a_checkpoint_tells_its_framework(path: Path, checkpoint: Checkpoint) -> None:
    write_checkpoint(path, replace(checkpoint, framework="jax"))
    assert read_checkpoint(path).framework == "jax"


def test_the_best_epoch_has_the_lowest_validation_loss(checkpoint: Checkpoint) -> None:
    assert checkpoint.best_epoch.epoch == 1


def test_an_absent_checkpoint_is_told(path: Path) -> None:
    with pytest.raises(WeightsError, match="no such checkpoint; train without resuming"):
        read_checkpoint(path)


@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_a_checkpoint_with_a_flipped_bit_is_refused(
    path: Path, checkpoint: Checkpoint, data: st.DataObject
) -> None:
    write_checkpoint(path, checkpoint)
    content = bytearray(path.read_bytes())
    header = 8 + int.from_bytes(content[:8], "little")
    # Half of the bits from the header, which is a thousandth of the file.
    bit = data.draw(st.integers(0, 8 * header - 1) | st.integers(8 * header, 8 * len(content) - 1))
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)
    refused_or_the_same(path, checkpoint)


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(part=st.floats(0, 1, exclude_max=True))
def test_a_truncated_checkpoint_is_refused(path: Path, checkpoint: Checkpoint, part: float) -> None:
    write_checkpoint(path, checkpoint)
    os.truncate(path, int(part * path.stat().st_size))
    with pytest.raises(WeightsError, match="delete it and train again"):
        read_checkpoint(path)


def refused_or_the_same(path: Path, checkpoint: Checkpoint) -> None:
    """A space in the header's JSON may become another: then nothing of the run has changed."""
    try:
        found = read_checkpoint(path)
    except WeightsError as error:
        told = str(error)
    else:
        assert (found.recipe, found.history) == (checkpoint.recipe, checkpoint.history)
        assert Weights(found.best).sha256 == Weights(checkpoint.best).sha256
        return
    assert "delete it and train again" in told


# a run


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten patterns that can be learnt, 500 noisy training images and 60 test images."""
    return write_patterns(tmp_path_factory.mktemp("mnist"))


@pytest.fixture
def options(tmp_path: Path, data: Path) -> TrainOptions:
    return TrainOptions(tmp_path / "out" / "small.safetensors", data=data, recipe=SMALL)


def quietly(options: TrainOptions) -> TrainResult:
    return train(options, console=Console(file=StringIO()))


def script(options: TrainOptions, before: str = "") -> list[str]:
    """A run as a process of its own: the command line's `train`, and what comes before it."""
    program = f"""
import sys
from lenet_bench.cli import main
{before}
sys.argv = ["lenet-bench", "train", "--output", {str(options.output)!r}, "--data",
    {str(options.data)!r}, "--epochs", "12", "--batch", "40", "--rate", "0.01", "--seed", "3",
    "--validation", "100"]
sys.exit(main())
"""
    return [sys.executable, "-c", program]


@pytest.fixture(scope="module")
def keras_trainer() -> MakeTrainer:
    """KerasTrainer on TensorFlow."""
    return import_trainer("keras")


@pytest.fixture(scope="module")
def whole_run(
    tmp_path_factory: pytest.TempPathFactory, data: Path, keras_trainer: MakeTrainer
) -> TrainResult:
    """A small run that was never stopped."""
    output = tmp_path_factory.mktemp("whole") / "small.safetensors"
    options = TrainOptions(output, data=data, recipe=SMALL)
    return train(options, console=Console(file=StringIO()), make_trainer=keras_trainer)


@needs_keras
def test_a_run_learns(whole_run: TrainResult) -> None:
    assert whole_run.test_accuracy > 0.9


@needs_keras
def test_the_metadata_tell_the_recipe_and_the_accuracies(whole_run: TrainResult) -> None:
    told = read_weights(whole_run.weights).metadata
    assert Recipe.from_json(json.loads(told["recipe"])) == SMALL
    assert float(told["test_accuracy"]) == pytest.approx(whole_run.test_accuracy, abs=1e-4)
    assert float(told["validation_accuracy"]) == whole_run.chosen.validation_accuracy


@needs_keras
def test_the_history_is_json_with_every_epoch(whole_run: TrainResult) -> None:
    path = whole_run.weights.parent / "checkpoints" / "small.history.json"
    history = json.loads(path.read_text())["history"]
    assert [Epoch(**epoch) for epoch in history] == list(whole_run.history)


@needs_keras
def test_every_step_has_its_loss(whole_run: TrainResult) -> None:
    assert len(whole_run.losses) == 12 * 10
    assert np.mean(whole_run.losses[:10]) == pytest.approx(whole_run.history[0].loss)


@needs_keras
def test_the_learning_curve_is_a_picture(whole_run: TrainResult) -> None:
    with Image.open(whole_run.curve) as picture:
        assert picture.format == "PNG"
        assert len(set(picture.convert("L").tobytes())) > 10


@needs_keras
@pytest.mark.usefixtures("keras_trainer")
@pytest.mark.parametrize(
    ("stop", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)]
)
def test_a_stopped_run_goes_on_to_the_same_bits(
    options: TrainOptions, whole_run: TrainResult, stop: signal.Signals, code: int
) -> None:
    with subprocess.Popen(script(options), stderr=subprocess.PIPE, text=True) as process:
        while not options.checkpoint.exists() and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(stop)
        _, told = process.communicate()
    assert process.returncode == code, told
    assert not options.output.exists()
    if stop == signal.SIGINT:
        assert "the same command with --resume goes on" in told
        assert "Traceback" not in told
    resumed = quietly(replace(options, resume=True, recipe=None))
    assert read_weights(resumed.weights).sha256 == read_weights(whole_run.weights).sha256


@needs_keras
@pytest.mark.usefixtures("keras_trainer")
def test_without_a_terminal_there_is_one_line_an_epoch(options: TrainOptions) -> None:
    output = StringIO()
    train(
        replace(options, recipe=replace(SMALL, epochs=2)), console=Console(file=output, width=100)
    )
    lines = output.getvalue().splitlines()
    assert [line.split()[1] for line in lines] == ["1/2", "2/2"]


@needs_keras
@pytest.mark.usefixtures("keras_trainer")
def test_a_diverging_run_stops_with_a_sentence(options: TrainOptions) -> None:
    with pytest.raises(LenetBenchError, match=r"the loss became .*; train again with a rate below"):
        quietly(replace(options, recipe=replace(SMALL, rate=1e9)))
    assert not options.output.exists()


@needs_keras
@pytest.mark.usefixtures("keras_trainer")
def test_resuming_with_another_recipe_tells_what_differs(
    options: TrainOptions, checkpoint: Checkpoint
) -> None:
    write_checkpoint_of(options, checkpoint)
    with pytest.raises(LenetBenchError, match=r"another recipe \(rate 0.05 instead of 0.01\)"):
        quietly(replace(options, resume=True, recipe=replace(SMALL, rate=0.05)))


@needs_keras
@pytest.mark.usefixtures("keras_trainer")
def test_resuming_on_other_images_is_refused(options: TrainOptions, checkpoint: Checkpoint) -> None:
    write_checkpoint_of(options, checkpoint)
    with pytest.raises(LenetBenchError, match="a run on other training images"):
        quietly(replace(options, resume=True))


@needs_keras
@pytest.mark.usefixtures("keras_trainer")
def test_resuming_a_run_of_another_framework_is_refused(
    options: TrainOptions, checkpoint: Checkpoint
) -> None:
    write_checkpoint_of(options, replace(checkpoint, framework="torch"))
    with pytest.raises(LenetBenchError, match=r"a run in torch, not in keras: resume it with --fr"):
        quietly(replace(options, resume=True))


@needs_keras
@pytest.mark.usefixtures("keras_trainer")
def test_an_unfinished_run_is_not_thrown_away(
    options: TrainOptions, checkpoint: Checkpoint
) -> None:
    write_checkpoint_of(options, checkpoint)
    with pytest.raises(LenetBenchError, match=r"unfinished run \(2 of 12 epochs\): add --resume"):
        quietly(options)


def write_checkpoint_of(options: TrainOptions, checkpoint: Checkpoint) -> None:
    options.checkpoint.parent.mkdir(parents=True)
    write_checkpoint(options.checkpoint, checkpoint)


def test_an_output_that_is_a_directory_is_refused(options: TrainOptions) -> None:
    options.output.mkdir(parents=True)
    with pytest.raises(LenetBenchError, match="expected a file to write, found a directory"):
        quietly(options)


def test_an_output_within_a_file_is_refused(options: TrainOptions, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file where the folder should be")
    with pytest.raises(LenetBenchError, match=r"small\.safetensors: cannot be written: "):
        quietly(options)


def test_an_output_of_another_kind_is_refused(options: TrainOptions) -> None:
    with pytest.raises(LenetBenchError, match=r"expected a name that ends in \.safetensors"):
        quietly(replace(options, output=options.output.with_suffix(".h5")))


def test_a_full_disk_is_told_before_keras_is_imported(options: TrainOptions) -> None:
    """The disk is a limit on file size, in a process of its own."""
    before = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, resource.RLIM_INFINITY))
sys.modules["keras"] = None  # to import it would fail with another sentence
"""
    done = subprocess.run(script(options, before), capture_output=True, text=True)
    assert done.returncode != 0
    assert "small.safetensors: cannot be written: File too large" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_keras_the_command_that_brings_it_is_told(options: TrainOptions) -> None:
    done = subprocess.run(
        script(options, "sys.modules['keras'] = None"), capture_output=True, text=True
    )
    assert done.returncode != 0
    assert "mend it with: pip install 'lenet-bench[train]'" in done.stderr
    assert "Traceback" not in done.stderr


# Keras


@pytest.fixture
def trainer(keras_trainer: MakeTrainer) -> Trainer:
    return keras_trainer(SMALL, recipe.first_weights(SMALL))


@needs_keras
def test_what_keras_is_given_it_gives_back(trainer: Trainer, checkpoint: Checkpoint) -> None:
    trainer.restore(checkpoint.state)
    state = trainer.state()
    for name in PARAMETERS:
        assert np.array_equal(state.parameters[name], checkpoint.state.parameters[name])
        assert np.array_equal(state.velocity[name], checkpoint.state.velocity[name])


@needs_keras
def test_keras_computes_the_network_of_the_reference(trainer: Trainer) -> None:
    """A channel, a row or an input of fc1 in the wrong place would show here."""
    from lenet_bench.backends.reference import Reference

    image = stream().random((28, 28), np.float32)
    reference = Reference(Weights(trainer.state().parameters), threads=1).layers(image)
    assert trainer.logits(image[None])[0] == pytest.approx(reference["fc2"], abs=1e-4)


@needs_keras
def test_a_step_of_keras_is_nesterovs(trainer: Trainer) -> None:
    """For fc2's biases, whose gradient is the probabilities' error and bears no penalty."""
    images, labels = stream().random((8, 28, 28), np.float32), np.arange(8, dtype=np.uint8)
    logits = trainer.logits(images)
    before = trainer.state().parameters["fc2.bias"]
    trainer.step(images, labels, rate=0.1)
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    gradient = (probabilities - np.eye(10)[labels]).mean(axis=0)
    after = trainer.state()
    assert after.velocity["fc2.bias"] == pytest.approx(-0.1 * gradient, abs=1e-6)
    moved = before - 0.1 * gradient * (1 + SMALL.momentum)
    assert after.parameters["fc2.bias"] == pytest.approx(moved, abs=1e-6)


@needs_keras
def test_a_step_of_keras_tells_the_cross_entropy_without_the_penalty(trainer: Trainer) -> None:
    images, labels = stream().random((8, 28, 28), np.float32), np.arange(8, dtype=np.uint8)
    logits = trainer.logits(images)
    right = logits[np.arange(8), labels]
    entropy = float(np.mean(np.log(np.exp(logits).sum(axis=1)) - right))
    assert trainer.step(images, labels, rate=0.1) == pytest.approx(entropy, abs=1e-5)
