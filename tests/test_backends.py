"""What holds for every backend of our own: its answer, its layers, and what it accepts.

The frameworks have test_frameworks.py, since each needs a process of its own.
"""

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

import lenet_bench
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lenet_bench.network import LAYERS
from lenet_bench.registry import Network, find, names, tolerance
from lenet_bench.weights import Weights
from networks import Images, random_image, random_images, random_weights


def build(name: str, *, threads: int = 1, weights: Weights | None = None) -> Network:
    """A network of its own, or a skip where its API is not installed."""
    try:
        return lenet_bench.load(name, threads=threads, weights=weights or random_weights(0))
    except lenet_bench.Unavailable as reason:
        pytest.skip(str(reason))


NATIVE = [name for name in names() if not find(name)[0].framework]


@pytest.fixture(scope="module", params=NATIVE)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def net(name: str) -> Network:
    return build(name)


@pytest.fixture(scope="module")
def reference() -> Network:
    return build("reference")


@pytest.mark.parametrize("scale", [1, 30])  # 30: large logits
def test_probabilities_are_a_distribution(name: str, scale: float) -> None:
    probabilities = build(name, weights=random_weights(5, scale)).infer(random_images(1, 20))
    assert (probabilities >= 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("count", [0, 1, 2, 17, 100])
def test_a_batch_says_what_its_images_say_one_by_one(net: Network, count: int) -> None:
    images = random_images(2, count)
    probabilities = net.infer(images)
    assert (probabilities.shape, probabilities.dtype) == ((count, 10), np.float32)
    single = np.array([net.infer(image) for image in images]).reshape(count, 10)
    np.testing.assert_allclose(probabilities, single, rtol=0, atol=1e-6)


def test_a_huge_batch_is_answered_to_its_end(net: Network, reference: Network, name: str) -> None:
    images = np.tile(random_images(3, 50), (60, 1, 1))
    expected = np.tile(reference.infer(images[:50]), (60, 1))
    np.testing.assert_allclose(net.infer(images), expected, rtol=0, atol=tolerance(name))


def test_an_answer_is_an_array_of_its_own_and_an_image_is_left_as_it_was(net: Network) -> None:
    image = random_image(1)
    first = net.infer(image)
    before = first.copy()
    net.infer(random_image(2))
    np.testing.assert_array_equal(first, before)
    np.testing.assert_array_equal(image, random_image(1))


def test_canonical_weights_give_the_references_probabilities_and_are_copied(name: str) -> None:
    canonical, images = lenet_bench.read_weights().parameters, random_images(7, 30)
    weights = Weights({parameter: array.copy() for parameter, array in canonical.items()})
    net, reference = build(name, weights=weights), build("reference", weights=weights)
    expected = reference.infer(images)
    before = net.infer(images)
    np.testing.assert_allclose(before, expected, rtol=0, atol=tolerance(name))
    for parameter in weights.parameters.values():
        parameter[...] = 0
    np.testing.assert_array_equal(net.infer(images), before)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), scale=st.floats(0.1, 1.5), ink=st.floats(0, 1, width=32))
def test_every_layer_is_the_references(name: str, seed: int, scale: float, ink: float) -> None:
    weights, image = random_weights(seed, scale), random_image(seed) * np.float32(ink)
    found = build(name, weights=weights).layers(image)
    expected = build("reference", weights=weights).layers(image)
    for layer, values in found.items():
        largest = max(1.0, float(np.abs(expected[layer]).max()))
        allowed = tolerance(name) * largest
        np.testing.assert_allclose(values, expected[layer], rtol=0, atol=allowed, err_msg=layer)


def test_layers_are_of_one_image_and_only_fused_hides_some(net: Network, name: str) -> None:
    hidden = set(LAYERS) - set(net.layers(random_image(1)))
    assert hidden == ({"conv1", "conv2"} if name.startswith("fused") else set())
    with pytest.raises(ValueError, match=r"batch \(2"):
        net.layers(random_images(1, 2))


def backwards(images: Images) -> Images:
    return images[::-1].copy()[::-1]


def spread(images: Images) -> Images:
    wide = np.full((2 * len(images), 56, 84), np.nan, np.float32)
    wide[::2, ::2, ::3] = images
    return wide[::2, ::2, ::3]


def mirrored(images: Images) -> Images:
    return images[..., ::-1].copy()[..., ::-1]


def unaligned(images: Images) -> Images:
    return np.frombuffer(b"x" + images.tobytes(), np.float32, offset=1).reshape(images.shape)


def read_only(images: Images) -> Images:
    images.flags.writeable = False
    return images


LYING = (np.asfortranarray, backwards, spread, mirrored, unaligned, read_only)


@pytest.mark.parametrize("lying", LYING, ids=lambda function: function.__name__)
def test_strides_do_not_matter(net: Network, lying: Callable[[Images], Images]) -> None:
    images = random_images(4, 5)
    lain = lying(images.copy())
    for which in (slice(None), 3):
        np.testing.assert_array_equal(net.infer(lain[which]), net.infer(images[which]))


def test_a_zero_stride_is_a_batch_and_minus_zero_is_paper(net: Network) -> None:
    image, paper = random_image(4), np.zeros((28, 28), np.float32)
    repeated = np.broadcast_to(image, (3, 28, 28))
    np.testing.assert_array_equal(net.infer(repeated), net.infer(np.array([image] * 3)))
    np.testing.assert_array_equal(net.infer(-paper), net.infer(paper))


# What is refused, in the same words by all

PIXELS = np.zeros((28, 28), np.float32)
SHAPES = [(), (784,), (28, 27), (27, 28), (2, 28, 29), (1, 1, 28, 28), (0,), (0, 0), (28, 28, 1)]
DTYPES = ["f8", "f2", "u1", "i4", "?", "c8", "U1", "O", ">f4"]
ABOVE_1 = float(np.nextafter(np.float32(1), np.float32(2)))


def with_value(value: float, at: tuple[int, int] = (9, 9)) -> Images:
    image = random_image(1)
    image[at] = value
    return image


def with_a_bad_last() -> Images:
    images = random_images(1, 50)
    images[-1, -1, -1] = np.nan
    return images


REFUSED = [
    *((np.zeros(shape, np.float32), ValueError, r"\(n, 28, 28\), got \(") for shape in SHAPES),
    *((PIXELS.astype(dtype), TypeError, r"astype\(numpy.float32\)") for dtype in DTYPES),
    *((x, TypeError, "float32 array") for x in (None, 0.5, "7", [[0.0] * 28] * 28, b"\0" * 784)),
    *(
        (with_value(value, at), ValueError, "NaN or infinity")
        for value in (np.nan, np.inf, -np.inf)
        for at in ((0, 0), (13, 14), (27, 27))
    ),
    *((with_value(value), ValueError, r"\(ink\), got") for value in (ABOVE_1, 2, -1e-45, -1, 1e38)),
    (with_a_bad_last(), ValueError, "NaN"),
    (PIXELS.astype("u1"), TypeError, r"uint8.*/ 255$"),
    (random_image(1) * 255, ValueError, r"got [\d.e-]+ to [\d.]+: divide by 255"),
]


@pytest.mark.parametrize(("images", "error", "said"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_no_image_is_refused_and_the_next_one_is_answered(
    net: Network, images: object, error: type[Exception], said: str
) -> None:
    before = net.infer(random_image(1))
    with pytest.raises(error, match=said):
        net.infer(images)  # type: ignore[arg-type]
    np.testing.assert_array_equal(net.infer(random_image(1)), before)


def test_one_and_two_threads_give_the_same_answers_alone_and_at_once(name: str) -> None:
    one, two = build(name, threads=1), build(name, threads=2)
    assert "2" in two.describe()["threads"]
    words = [word for pair in two.describe().items() for word in pair]
    assert all(isinstance(word, str) and word for word in words)
    images = random_images(10, 40)
    expected = one.infer(images)
    np.testing.assert_allclose(two.infer(images), expected, rtol=0, atol=1e-6)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda net: net.infer(images), [one, two] * 10))
    assert all(np.allclose(answer, expected, rtol=0, atol=1e-6) for answer in found)


@pytest.mark.parametrize("threads", [1, 2])
def test_many_callers_at_once_get_their_own_answers(name: str, threads: int) -> None:
    net = build(name, threads=threads)
    images = random_images(9, 8 * 8).reshape(8, 8, 28, 28)
    expected = [net.infer(batch) for batch in images]

    def ask(caller: int) -> bool:
        batch = net.infer(images[caller])
        single = np.array([net.infer(image) for image in images[caller]])
        return all(np.allclose(f, expected[caller], rtol=0, atol=1e-6) for f in (batch, single))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, list(range(8)) * 3))


# The check of all that comes in, by _boundary and, where that was built for another Python, NumPy


@pytest.fixture(scope="module", params=["native", "numpy"])
def is_ready(request: pytest.FixtureRequest) -> Callable[[object], bool]:
    """Either of the two, each from an interpreter's own import."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "numpy":
            patch.setitem(sys.modules, "lenet_bench._boundary", None)
        patch.delitem(sys.modules, "lenet_bench.registry.input", raising=False)
        found: Callable[[object], bool] = import_module("lenet_bench.registry.input").is_ready
    assert (found.__module__ == "lenet_bench._boundary") == (request.param == "native")
    return found


@pytest.mark.parametrize("count", [0, 1, 3])
def test_what_lies_ready_is_let_through(is_ready: Callable[[object], bool], count: int) -> None:
    assert is_ready(read_only(random_images(4, count)))
    assert is_ready(np.ones((28, 28), np.float32))


@pytest.mark.parametrize(
    "other",
    [
        *(lying(random_images(4, 3)) for lying in LYING if lying is not read_only),
        *(with_value(x, (27, 27)) for x in (np.nan, -1e-45, ABOVE_1, np.inf, -np.inf)),
        np.zeros((28, 28)),
        np.zeros((28, 28), ">f4"),
        np.zeros((28, 28), np.uint32),
        np.zeros((28, 27), np.float32),
        np.zeros((1, 1, 28, 28), np.float32),
        [[0.0] * 28] * 28,
        None,
    ],
)
def test_what_must_be_converted_is_not_ready(
    is_ready: Callable[[object], bool], other: object
) -> None:
    assert not is_ready(other)
