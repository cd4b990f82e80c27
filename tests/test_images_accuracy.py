"""How many of the ones and sevens that most of Europe writes are read rightly."""

import lenet_bench
import numpy as np
import pytest
from digits import saved
from PIL import Image, ImageDraw

pytestmark = pytest.mark.slow

EUROPEAN_RIGHT = 0.995


#: Strokes in a unit box, x right, y down.
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
            image = lenet_bench.read_image(saved(picture))
            right.append(int(network.infer(image).argmax()) == digit)
    assert np.mean(right) >= EUROPEAN_RIGHT
