"""How many of some hundred made photographs, scans and drawings are read right, by scene."""

import io

import lenet_bench
import numpy as np
import pytest
from digit_photos import SCENES, photograph
from lenet_bench.errors import ImageError
from PIL import Image, ImageDraw

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


def test_no_scene_is_beyond_reading(right):
    assert all(np.mean(answers) >= SCENE_RIGHT for answers in right.values())


#: The ones and sevens that most of Europe writes: strokes in a unit box, x right, y down.
EUROPEAN = (
    (1, [[(0.2, 0.45), (0.62, 0), (0.52, 1)]]),
    (1, [[(0.15, 0.75), (0.66, 0), (0.6, 1)]]),
    (1, [[(0.3, 0.3), (0.6, 0), (0.58, 1)], [(0.3, 1), (0.9, 0.98)]]),
    (7, [[(0.15, 0.03), (0.85, 0.03), (0.4, 1)], [(0.3, 0.5), (0.85, 0.48)]]),
    (7, [[(0.12, 0.15), (0.15, 0.03), (0.88, 0.02), (0.42, 1)], [(0.35, 0.55), (0.8, 0.45)]]),
)


def test_european_ones_and_sevens_are_read_as_they_are_meant():
    network, right = lenet_bench.load("numpy"), []
    for digit, strokes in EUROPEAN:
        for seed in range(40):
            rng = np.random.default_rng([digit, seed])
            picture = Image.new("L", (160, 160), 255)
            for stroke in strokes:
                points = 30 + 100 * (np.array(stroke) + rng.normal(0, 0.02, (len(stroke), 2)))
                pen = ImageDraw.Draw(picture)
                pen.line(list(map(tuple, points)), 0, int(rng.integers(5, 16)), "curve")
            content = io.BytesIO()
            picture.save(content, "PNG")
            image = lenet_bench.read_image(content.getvalue())
            right.append(int(network.infer(image).argmax()) == digit)
    assert np.mean(right) >= EUROPEAN_RIGHT
