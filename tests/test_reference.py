"""The reference, against the definition of each layer written out in plain Python."""

import numpy as np
import pytest
from lenet_bench import load
from lenet_bench.backends.reference import convolve, max_pool, softmax
from lenet_bench.registry import exact_probabilities
from networks import random_image, random_images, random_weights


def test_a_convolution_is_the_sum_over_its_window():
    random = np.random.default_rng(1)
    images, weight, bias = (
        random.random((2, 3, 7, 7)),
        random.random((4, 3, 5, 5)),
        random.random(4),
    )
    found = convolve(images, weight, bias)
    assert found.shape == (2, 4, 3, 3)
    for n, out, y, x in np.ndindex(found.shape):
        expected = bias[out] + sum(
            images[n, i, y + ky, x + kx] * weight[out, i, ky, kx]
            for i, ky, kx in np.ndindex(3, 5, 5)
        )
        assert found[n, out, y, x] == pytest.approx(expected, rel=1e-12)


def test_pooling_takes_the_largest_of_each_square():
    image = np.array([[[[1, 2, 5, 6], [3, 4, 8, 7], [-1, -2, 0, 0], [-3, -4, 0, 9]]]], np.float64)
    assert max_pool(image).tolist() == [[[[4, 8], [-1, 9]]]]


def test_softmax_does_not_overflow():
    found = softmax(np.log(np.array([[1.0, 2.0, 5.0]])))
    np.testing.assert_allclose(found, [[0.125, 0.25, 0.625]], rtol=1e-15)
    np.testing.assert_array_equal(softmax(np.array([[1e4, 0.0, -1e4]])), [[1, 0, 0]])


def test_fc1_reads_pool2_by_channel_then_row_then_column():
    weights = random_weights(1)
    layers = load("reference", weights=weights).layers(random_image(1))
    weight, bias = weights["fc1.weight"].astype(np.float64), weights["fc1.bias"]
    for out in (0, 250, 499):
        sum_ = bias[out] + sum(
            weight[out, (channel * 4 + y) * 4 + x] * layers["pool2"][channel, y, x]
            for channel, y, x in np.ndindex(50, 4, 4)
        )
        assert layers["fc1"][out] == pytest.approx(max(sum_, 0), abs=1e-12)


def test_only_fc1_is_rectified():
    weights = random_weights(1)
    layers = load("reference", weights=weights).layers(random_image(1))
    negative = {name for name, values in layers.items() if (values < 0).any()}
    assert negative == {"conv1", "pool1", "conv2", "pool2", "fc2"}


def test_everything_is_float64_until_the_answer():
    weights = random_weights(1)
    reference = load("reference", weights=weights)
    layers = reference.layers(random_image(1))
    assert {values.dtype for values in layers.values()} == {np.dtype(np.float64)}
    assert exact_probabilities(weights, random_images(1, 1)).dtype == np.float64
    assert reference.infer(random_image(1)).dtype == np.float32
