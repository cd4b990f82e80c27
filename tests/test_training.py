"""Training: the recipe's arithmetic, and runs in Keras."""

import json
import signal
import sys
from dataclasses import asdict, replace
from importlib.util import find_spec

import numpy as np
import pytest
from lenet_bench import load
from lenet_bench.errors import LenetBenchError
from lenet_bench.network import PARAMETERS
from lenet_bench.show.classroom import learnt
from lenet_bench.training import Augmentation, Epoch, Recipe, recipe, train
from lenet_bench.training.augment import augment, expose, move, redraw, soften
from lenet_bench.training.frameworks import import_trainer
from lenet_bench.training.strokes import write
from lenet_bench.weights import Weights, read_weights
from processes import under_way, wait_for
from safetensors.numpy import save_file

UNCHANGED = Augmentation(0, 0, 0, 0, 0, 0, 0, 0, 0)
NO_DIGIT = np.zeros(40, np.uint8)

#: 12 epochs of 10 batches: some seconds, so that there is time to stop it.
SMALL = Recipe(epochs=12, batch=40, rate=0.01, seed=3, validation=100)

#: Keras on TensorFlow reads its variables in a way that NumPy 2 warns of.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

needs_keras = pytest.mark.skipif(
    not all(find_spec(name) for name in ("keras", "tensorflow")),
    reason="needs Keras: pip install 'lenet-bench[keras]'",
)


def test_an_image_is_for_learning_or_for_validation():
    for images, used in ((None, 1000), (300, 300)):
        learning, validation = recipe.split(Recipe(validation=100, images=images), 1000)
        assert len(validation) == 100
        assert sorted([*learning, *validation]) == list(range(used))
    with pytest.raises(LenetBenchError, match="100 of 100 training images"):
        recipe.split(Recipe(validation=100), 100)


def test_an_epoch_shows_each_image_once_in_an_order_of_its_own():
    for batch, sizes in ((32, 10 * [32]), (500, [320])):
        one, two = (recipe.order(Recipe(batch=batch), n, np.arange(320)) for n in (0, 1))
        assert [len(batch) for batch in one] == sizes
        assert sorted(np.concatenate(one)) == list(range(320))
        assert not np.array_equal(one[0], two[0])


def test_the_rate_rises_before_it_falls():
    rates = [recipe.rate(Recipe(rate=0.05), step, 1000) for step in range(1000)]
    assert rates[0] == pytest.approx(0.05 / 25)
    assert max(rates) == rates[300] == pytest.approx(0.05)
    assert rates[-1] < 1e-6


def test_the_seed_decides_weights_spread_as_xaviers():
    one, same, other = (recipe.first_weights(Recipe(seed=seed)) for seed in (7, 7, 8))
    assert all(np.array_equal(one[name], same[name]) for name in PARAMETERS)
    weight = one["fc1.weight"]
    assert not np.array_equal(weight, other["fc1.weight"])
    assert np.abs(weight).max() <= np.sqrt(3 / 800)
    assert weight.std() == pytest.approx(np.sqrt(1 / 800), rel=0.01)


@pytest.fixture
def images():
    """Squares of ink on paper."""
    images = np.zeros((40, 28, 28), np.float32)
    images[:, 8:20, 10:18] = 0.9
    return images


def stream(seed=1):
    return np.random.default_rng(seed)


def test_augmented_pixels_stay_from_paper_to_ink():
    noise = stream().random((40, 28, 28), np.float32)
    for strength in (0.0, 0.5, 1.0):
        change = Augmentation(90, 0.5, 1, 10, strength, strength, strength, strength)
        changed = augment(noise, NO_DIGIT, change, stream())
        assert changed.dtype == np.float32
        assert 0 <= changed.min() <= changed.max() <= 1


def test_each_image_of_a_batch_is_changed_in_its_own_way(images):
    assert np.array_equal(augment(images, NO_DIGIT, UNCHANGED, stream()), images)
    changed = augment(images, NO_DIGIT, Augmentation(), stream())
    assert len(np.unique(changed.reshape(len(changed), -1), axis=0)) == len(images)


def test_no_digit_but_one_or_seven_is_written_anew(images):
    labels = np.arange(40, dtype=np.uint8) % 10
    changed = augment(images, labels, replace(UNCHANGED, european=1), stream())
    assert {*labels[(changed != images).any(axis=(1, 2))]} == {1, 7}


@pytest.mark.parametrize("digit", [1, 7])
def test_a_written_digit_lies_as_mnists_do(digit):
    """In 20x20 pixels, its mass in the middle."""
    for seed in range(20):
        ink = write(digit, stream(seed))
        assert 0 <= ink.min() <= ink.max() <= 1
        rows, columns = np.nonzero(ink > 0.5)
        assert max(np.ptp(rows), np.ptp(columns)) == pytest.approx(19, abs=1.5)
        middle = np.average(np.indices(ink.shape).reshape(2, -1), axis=1, weights=ink.ravel())
        assert middle == pytest.approx([13.5, 13.5], abs=1.7)


def test_a_turn_leaves_the_middle_where_it_is():
    image = np.zeros((50, 28, 28), np.float32)
    image[:, 10:18, 10:18] = 1
    turned = move(image, replace(UNCHANGED, rotation=180, scale=0.5), stream())
    assert (turned[:, 13:15, 13:15] > 0.99).all()
    assert not turned[:, 0, 0].any(), "beyond the edge is paper"


def test_a_pen_adds_ink_or_takes_some(images):
    thick = redraw(images, replace(UNCHANGED, thicker=1.0), stream())
    thin = redraw(images, replace(UNCHANGED, thinner=1.0), stream())
    assert (thin <= images).all()
    assert (images <= thick).all()
    assert thin.sum() < images.sum() < thick.sum()


def test_blur_keeps_the_amount_of_ink(images):
    soft = soften(images, replace(UNCHANGED, blur=1.0), stream())
    assert not np.array_equal(soft, images)
    assert soft.sum(axis=(1, 2)) == pytest.approx(images.sum(axis=(1, 2)), rel=1e-4)


def test_exposure_leaves_paper_white(images):
    pale = expose(images, replace(UNCHANGED, contrast=1.0), stream())
    assert not pale[images == 0].any()


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory, data):
    """The row of a small run that was never stopped."""
    output = tmp_path_factory.mktemp("whole") / "small.safetensors"
    return train(output, recipe=SMALL, data=data).runs[0]


@needs_keras
def test_new_weights_have_what_the_lesson_reads(whole_run, monkeypatch):
    new = read_weights(whole_run.weights)
    monkeypatch.setattr(learnt, "read_weights", lambda: new)
    shown = learnt.learnt()
    assert shown is not None
    assert len(shown["wrong_by_epoch"]) == SMALL.epochs
    assert shown["test_correct"] == whole_run.test_correct


@needs_keras
def test_new_weights_say_how_they_were_made(whole_run):
    metadata = read_weights(whole_run.weights).metadata
    assert set(metadata) <= set(read_weights().metadata)
    assert set(json.loads(metadata["versions"])) >= {"keras", "numpy", "python"}
    assert json.loads(metadata["recipe"]) == asdict(SMALL)
    assert [Epoch(**epoch) for epoch in json.loads(metadata["history"])] == list(whole_run.epochs)
    assert float(metadata["validation_accuracy"]) == whole_run.chosen.validation_accuracy
    assert float(metadata["test_accuracy"]) == pytest.approx(whole_run.test_accuracy, abs=1e-4)
    wrong = json.loads(metadata["test_wrong"])
    assert sum(count for *_, count in wrong) == whole_run.test_images - whole_run.test_correct


@needs_keras
def test_a_run_learns(whole_run):
    assert whole_run.test_accuracy > 0.9


@pytest.mark.slow
@needs_keras
def test_the_same_seed_gives_the_same_bits(whole_run, data, tmp_path):
    again = train(tmp_path / "again.safetensors", recipe=SMALL, data=data).runs[0]
    assert read_weights(again.weights).sha256 == read_weights(whole_run.weights).sha256


@pytest.mark.slow
@needs_keras
@pytest.mark.parametrize(
    ("stop", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)]
)
def test_a_stopped_run_leaves_the_best_weights_so_far(data, tmp_path, stop, code):
    output = tmp_path / "out" / "small.safetensors"
    command = (sys.executable, "-m", "lenet_bench", "train", "--output", output, "--data", data)
    recipe = ("--epochs", "1000", "--batch", "40", "--validation", "100")
    with under_way(*command, *recipe) as process:
        wait_for(output.exists)
        process.send_signal(stop)
        _, errors = process.communicate()
    assert process.returncode == code, errors
    assert "Traceback" not in errors
    metadata = read_weights(output).metadata
    assert 1 <= int(metadata["chosen_epoch"]) < 1000
    assert "test_accuracy" not in metadata


@pytest.mark.parametrize(
    ("output", "frameworks", "stands_in_the_way"),
    [
        ("out", ("torch", "keras"), "out/keras.safetensors"),
        ("a.safetensors", ("keras",), "a.safetensors"),
    ],
)
def test_what_cannot_be_written_is_refused_at_once(tmp_path, output, frameworks, stands_in_the_way):
    (tmp_path / stands_in_the_way).mkdir(parents=True)
    with pytest.raises(LenetBenchError, match=f"{stands_in_the_way}: cannot be written"):
        train(tmp_path / output, frameworks, recipe=SMALL)


def test_what_is_no_weights_of_lenet_is_not_replaced(tmp_path):
    save_file({"embedding": np.zeros(3)}, output := tmp_path / "a.safetensors")
    with pytest.raises(LenetBenchError, match="missing; give --output another name"):
        train(output, recipe=SMALL, data=tmp_path / "nosuch")


def test_absent_data_are_refused(tmp_path):
    with pytest.raises(LenetBenchError, match="nosuch: No such file or directory"):
        train(tmp_path / "a.safetensors", recipe=SMALL, data=tmp_path / "nosuch")


@pytest.fixture
def trainer():
    return import_trainer("keras")(SMALL, recipe.first_weights(SMALL))


@needs_keras
def test_keras_computes_the_network_of_the_reference(trainer):
    """A channel, a row or an input of fc1 in the wrong place would show here."""
    image = stream().random((28, 28), np.float32)
    reference = load("reference", weights=Weights(trainer.parameters())).layers(image)
    assert trainer.logits(image[None])[0] == pytest.approx(reference["fc2"], abs=1e-4)


@needs_keras
def test_a_step_of_keras_is_nesterovs_by_the_cross_entropy_without_the_penalty(trainer):
    """For fc2's biases, whose gradient is the probabilities' error and bears no penalty."""
    images, labels = stream().random((8, 28, 28), np.float32), np.arange(8, dtype=np.uint8)
    logits = trainer.logits(images)
    before = trainer.parameters()["fc2.bias"]
    loss = trainer.step(images, labels, rate=0.1)
    entropy = float(np.mean(np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(8), labels]))
    assert loss == pytest.approx(entropy, abs=1e-5)
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    gradient = (probabilities - np.eye(10)[labels]).mean(axis=0)
    moved = before - 0.1 * gradient * (1 + SMALL.momentum)
    assert trainer.parameters()["fc2.bias"] == pytest.approx(moved, abs=1e-6)
