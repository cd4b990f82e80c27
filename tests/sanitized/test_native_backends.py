"""Native code on any input and from many threads; run by tests/sanitize.sh on builds that
watch every access (they are ordinary tests elsewhere).
"""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import lenet_bench
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from lenet_bench._images import explain
from lenet_bench.registry import find, names
from lenet_bench.weights import Weights
from networks import random_weights

NATIVE = [name for name in names(device="cpu") if find(name)[0].native]


@pytest.fixture(scope="module", params=NATIVE)
def net(request):
    try:
        return lenet_bench.load(request.param, weights=random_weights(1), threads=2)
    except lenet_bench.Unavailable as reason:
        pytest.skip(str(reason))


ANY_ARRAY: st.SearchStrategy[Any] = hnp.arrays(
    dtype=st.sampled_from([np.float32, np.float64, np.uint8, ">f4"]),
    shape=st.one_of(
        st.just((28, 28)),
        st.tuples(st.integers(0, 5), st.just(28), st.just(28)),
        hnp.array_shapes(min_dims=0, max_dims=4, max_side=30),
    ),
    elements={"min_value": 0, "max_value": 1},
    fill=st.just(1),
)


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(array=ANY_ARRAY, step=st.sampled_from([1, -1, 2]))
def test_any_array_gets_an_answer_or_a_clear_error(net, array, step):
    """No shape, type or stride makes a backend read or write outside its arrays."""
    try:
        answer = net.infer(array[..., ::step] if array.ndim else array)
    except (TypeError, ValueError):
        return
    assert answer.shape == (*array.shape[:-2], 10)
    np.testing.assert_allclose(answer.sum(axis=-1), 1, atol=1e-5)


@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(image=hnp.arrays(np.float32, (28, 28), elements={"min_value": 0, "max_value": 1}))
def test_every_layer_is_finite(net, image):
    assert all(np.isfinite(values).all() for values in net.layers(image).values())


def test_many_threads_get_the_answers_of_one(net):
    """Eight threads share one backend, each with images of its own."""
    images = np.random.default_rng(2).random((8, 5, 28, 28), dtype=np.float32)
    expected = [net.infer(batch) for batch in images]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(10):
            for answer, right in zip(pool.map(net.infer, images), expected, strict=True):
                np.testing.assert_array_equal(answer, right)


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_that_share_an_image_give_the_answer_of_one(threads):
    """With two callers for one set of helpers, awake and asleep, until the network is dropped."""
    weights, images = random_weights(1), np.random.default_rng(3).random((20, 28, 28), np.float32)
    right = [lenet_bench.load("fused", weights=weights).infer(image) for image in images]
    net = lenet_bench.load("fused", weights=weights, threads=threads)
    with ThreadPoolExecutor(2) as pool:
        for _ in range(5):
            np.testing.assert_array_equal(list(pool.map(net.infer, images)), right)
            time.sleep(0.01)


def test_weights_too_small_for_a_scale_of_int16_count_for_nothing():
    """Down to the smallest float, with which the scale that they would have is 0."""
    parameters = random_weights(1).parameters
    image = np.random.default_rng(4).random((28, 28), np.float32)
    for size in (1e-33, 1e-36, 1e-39, 1e-40, 1e-42, 1e-45):
        values = np.sign(parameters["fc1.weight"]) * size
        weights = Weights({**parameters, "fc1.weight": values.astype(np.float32)})
        exact, int16 = (lenet_bench.load(f"fused{v}", weights=weights) for v in ("", ":int16"))
        np.testing.assert_allclose(int16.infer(image), exact.infer(image), rtol=1e-6)


def test_networks_are_built_and_dropped_by_many_threads():
    """Building shares nothing that is not locked."""
    weights = random_weights(1)

    def build(_):
        return lenet_bench.load("fused", weights=weights).infer(np.zeros((28, 28), np.float32))

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(build, range(32)))
    assert all((answer == answers[0]).all() for answer in answers)


@settings(deadline=None, max_examples=100)
@given(st.integers(1, 300), st.integers(1, 300), st.sampled_from([1, 3, 4]), st.integers(0, 9))
def test_any_picture_becomes_an_image_or_is_refused(height, width, channels, seed):
    random = np.random.default_rng(seed)
    picture = np.full((height, width, channels), random.random(), np.float32)
    for _ in range(seed):
        top, left = random.integers(height), random.integers(width)
        picture[top : top + height // 2, left : left + width // 3] = random.random(channels)
    steps, found = explain(picture)
    assert not found or steps[-1][2].shape == (28, 28)
