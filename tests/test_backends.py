"""What holds for every backend of our own: its answer, its layers, and what it accepts.

The frameworks have test_frameworks.py, since each needs a process of its own.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lenet_bench.network import LAYERS
from lenet_bench.registry import find, names, tolerance
from networks import loaded, random_image, random_images, random_weights

NATIVE = [name for name in names() if not find(name)[0].framework]


@pytest.fixture(scope="module", params=NATIVE)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def net(name):
    return loaded(name)


@pytest.mark.parametrize("count", [0, 1, 17])
def test_a_batch_says_what_its_images_say_one_by_one(net, count):
    images = random_images(2, count)
    probabilities = net.infer(images)
    assert probabilities.shape == (count, 10)
    assert probabilities.dtype == np.float32
    single = np.array([net.infer(image) for image in images]).reshape(count, 10)
    np.testing.assert_allclose(probabilities, single, rtol=0, atol=1e-6)


def test_a_huge_batch_is_answered_to_its_end(net, name):
    images = np.tile(random_images(3, 50), (60, 1, 1))
    expected = np.tile(loaded("reference").infer(images[:50]), (60, 1))
    np.testing.assert_allclose(net.infer(images), expected, rtol=0, atol=tolerance(name))


def test_an_answer_is_an_array_of_its_own(net):
    image = random_image(1)
    first = net.infer(image)
    before = first.copy()
    net.infer(random_image(2))
    np.testing.assert_array_equal(first, before)
    np.testing.assert_array_equal(image, random_image(1))


def test_weights_are_copied(name):
    weights, image = random_weights(7), random_image(7)
    net = loaded(name, weights=weights)
    before = net.infer(image)
    for parameter in weights.parameters.values():
        parameter[...] = 0
    np.testing.assert_array_equal(net.infer(image), before)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), scale=st.floats(0.1, 1.5), ink=st.floats(0, 1, width=32))
def test_every_layer_is_the_references(name, seed, scale, ink):
    weights, image = random_weights(seed, scale), random_image(seed) * np.float32(ink)
    found = loaded(name, weights=weights).layers(image)
    expected = loaded("reference", weights=weights).layers(image)
    for layer, values in found.items():
        largest = max(1.0, float(np.abs(expected[layer]).max()))
        allowed = tolerance(name) * largest
        np.testing.assert_allclose(values, expected[layer], rtol=0, atol=allowed, err_msg=layer)


def test_only_fused_hides_layers(net, name):
    hidden = set(LAYERS) - set(net.layers(random_image(1)))
    assert hidden == ({"conv1", "conv2"} if name.startswith("fused") else set())


def spread(images):
    wide = np.full((2 * len(images), 56, 84), np.nan, np.float32)
    wide[::2, ::2, ::3] = images
    return wide[::2, ::2, ::3]


def mirrored(images):
    return images[..., ::-1].copy()[..., ::-1]


def unaligned(images):
    return np.frombuffer(b"x" + images.tobytes(), np.float32, offset=1).reshape(images.shape)


def read_only(images):
    images.flags.writeable = False
    return images


LYING = (np.asfortranarray, spread, mirrored, unaligned, read_only)


@pytest.mark.parametrize("lying", LYING, ids=lambda function: function.__name__)
def test_strides_do_not_matter(net, lying):
    images = random_images(4, 5)
    lain = lying(images.copy())
    for which in (slice(None), 3):
        np.testing.assert_array_equal(net.infer(lain[which]), net.infer(images[which]))


def test_a_zero_stride_is_a_batch(net):
    image = random_image(4)
    repeated = np.broadcast_to(image, (3, 28, 28))
    np.testing.assert_array_equal(net.infer(repeated), net.infer(np.array([image] * 3)))


def test_minus_zero_is_paper(net):
    paper = np.zeros((28, 28), np.float32)
    np.testing.assert_array_equal(net.infer(-paper), net.infer(paper))


# What is refused, in the same words by all

PIXELS = np.zeros((28, 28), np.float32)
SHAPES = [(784,), (28, 27), (2, 28, 29), (1, 1, 28, 28), (0,)]
DTYPES = ["f8", "O", ">f4"]
ABOVE_1 = float(np.nextafter(np.float32(1), np.float32(2)))


def with_value(value):
    image = random_image(1)
    image[0, 0] = value
    return image


def with_a_bad_last():
    images = random_images(1, 50)
    images[-1, -1, -1] = np.nan
    return images


REFUSED = [
    *((np.zeros(shape, np.float32), ValueError, r"\(n, 28, 28\), got \(") for shape in SHAPES),
    *((PIXELS.astype(dtype), TypeError, r"astype\(numpy.float32\)") for dtype in DTYPES),
    *((x, TypeError, "float32 array") for x in (None, [[0.0] * 28] * 28)),
    *((with_value(value), ValueError, "NaN or infinity") for value in (np.nan, np.inf)),
    *((with_value(value), ValueError, r"\(ink\), got") for value in (ABOVE_1, -1e-45, 1e38)),
    (with_a_bad_last(), ValueError, "NaN"),
    (PIXELS.astype("u1"), TypeError, r"uint8.*/ 255$"),
    (random_image(1) * 255, ValueError, r"got [\d.e-]+ to [\d.]+: divide by 255$"),
    (
        with_value(ABOVE_1),
        ValueError,
        r"got [\d.e-]+ to 1\.0000001: clip to 0\.\.1 \(numpy.clip\)$",
    ),
    (random_image(1) - 1, ValueError, r"got -[\d.]+ to [\d.e-]+$"),
]


@pytest.mark.parametrize(("images", "error", "said"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_no_image_is_refused(net, images, error, said):
    before = net.infer(random_image(1))
    with pytest.raises(error, match=said):
        net.infer(images)  # type: ignore[arg-type]
    np.testing.assert_array_equal(net.infer(random_image(1)), before)


@pytest.mark.parametrize("threads", [1, 2])
def test_many_callers_at_once_get_their_own_answers(name, threads):
    net = loaded(name, threads=threads)
    images = random_images(9, 8 * 8).reshape(8, 8, 28, 28)
    expected = [net.infer(batch) for batch in images]

    def ask(caller):
        batch = net.infer(images[caller])
        single = np.array([net.infer(image) for image in images[caller]])
        return all(np.allclose(f, expected[caller], rtol=0, atol=1e-6) for f in (batch, single))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, list(range(8)) * 3))
