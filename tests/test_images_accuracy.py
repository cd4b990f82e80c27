"""How many of some hundred made photographs, scans and drawings are read right, by scene."""

import io

import lenet_bench
import numpy as np
import pytest
from digit_photos import EUROPEAN, SCENES, photograph, written
from lenet_bench.errors import ImageError
from PIL import Image

pytestmark = pytest.mark.slow

DIGITS = range(10)
ALL_RIGHT = 0.98  # of all scenes together
SCENE_RIGHT = 0.8
EUROPEAN_RIGHT = 0.95


@pytest.fixture(scope="module")
def right():
    """By scene, whether each of its pictures was read right."""
    network = lenet_bench.load("numpy")

    def is_right(digit, scene):
        try:
            image = lenet_bench.read_image(photograph(digit, scene, seed=500 + digit))
        except ImageError:
            return False
        return int(network.infer(image).argmax()) == digit

    return {scene: [is_right(digit, scene) for digit in DIGITS] for scene in SCENES}


def test_made_photographs_are_read_right(right):
    for scene, answers in right.items():
        print(f"{scene:12} {sum(answers):3} of {len(answers)}")
    assert np.mean([answer for answers in right.values() for answer in answers]) >= ALL_RIGHT


@pytest.mark.parametrize("scene", SCENES)
def test_no_scene_is_beyond_reading(scene, right):
    assert np.mean(right[scene]) >= SCENE_RIGHT


def test_european_ones_and_sevens_are_read_as_they_are_meant():
    network, right = lenet_bench.load("numpy"), []
    for digit, strokes in EUROPEAN:
        for seed in range(40):
            rng = np.random.default_rng([digit, seed])
            ink = np.pad(written(strokes, rng, 100, 100 * rng.uniform(0.05, 0.16)), 30)
            picture = io.BytesIO()
            Image.fromarray(np.uint8(255 - 255 * ink)).save(picture, "PNG")
            image = lenet_bench.read_image(picture.getvalue())
            right.append(int(network.infer(image).argmax()) == digit)
    assert np.mean(right) >= EUROPEAN_RIGHT
