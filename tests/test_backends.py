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


NATIVE = [name for name in names() if not (find(name)[0].framework or find(name)[0].gone)]


@pytest.fixture(scope="module", params=NATIVE)
def name(request: pytest.FixtureRequest) -> str:
    """Each backend and variant that is no framework's."""
    return str(request.param)


@pytest.fixture(scope="module")
def net(name: str) -> Network:
    """That backend, with random weights and one thread."""
    return build(name)


@pytest.fixture(scope="module")
def reference() -> Network:
    """The same network as `net`, in float64."""
    return build("reference")


# The answer


def test_probabilities_are_a_distribution(net: Network) -> None:
    probabilities = net.infer(random_images(1, 20))
    assert (probabilities >= 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("count", [0, 1, 2, 17, 100])
def test_a_batch_gives_one_row_an_image(net: Network, count: int) -> None:
    probabilities = net.infer(random_images(1, count))
    assert (probabilities.shape, probabilities.dtype) == ((count, 10), np.float32)


def test_a_batch_says_what_its_images_say_one_by_one(net: Network) -> None:
    images = random_images(2, 33)
    single = np.array([net.infer(image) for image in images])
    np.testing.assert_allclose(net.infer(images), single, rtol=0, atol=1e-6)


def test_a_huge_batch_is_answered_to_its_end(net: Network, reference: Network, name: str) -> None:
    images = np.tile(random_images(3, 50), (60, 1, 1))
    expected = np.tile(reference.infer(images[:50]), (60, 1))
    np.testing.assert_allclose(net.infer(images), expected, rtol=0, atol=tolerance(name))


def test_each_answer_is_an_array_of_its_own(net: Network) -> None:
    first = net.infer(random_image(1))
    before = first.copy()
    net.infer(random_image(2))
    np.testing.assert_array_equal(first, before)


def test_the_image_is_left_as_it_was(net: Network) -> None:
    image = random_image(1)
    net.infer(image)
    np.testing.assert_array_equal(image, random_image(1))


def test_large_logits_do_not_overflow(name: str) -> None:
    probabilities = build(name, weights=random_weights(5, scale=30)).infer(random_images(1, 10))
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-6)


def test_the_weights_are_copied(name: str) -> None:
    weights = random_weights(6)
    net = build(name, weights=weights)
    before = net.infer(random_image(1))
    for parameter in weights.parameters.values():
        parameter[...] = 0
    np.testing.assert_array_equal(net.infer(random_image(1)), before)


def test_canonical_weights_give_the_references_probabilities(name: str) -> None:
    net = build(name, weights=lenet_bench.read_weights())
    reference = build("reference", weights=lenet_bench.read_weights())
    images = random_images(7, 30)
    expected = reference.infer(images)
    np.testing.assert_allclose(net.infer(images), expected, rtol=0, atol=tolerance(name))


# The layers


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


def test_only_fused_hides_a_layer(net: Network, name: str) -> None:
    hidden = set(LAYERS) - set(net.layers(random_image(1)))
    assert hidden == ({"conv1", "conv2"} if name.startswith("fused") else set())


def test_layers_refuses_a_batch(net: Network) -> None:
    with pytest.raises(ValueError, match=r"got a batch \(2"):
        net.layers(random_images(1, 2))


# What is read as it stands, however it lies in memory


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
@pytest.mark.parametrize("which", [slice(None), 3], ids=["batch", "image"])
def test_strides_and_alignment_do_not_matter(
    net: Network, lying: Callable[[Images], Images], which: slice | int
) -> None:
    images = random_images(4, 5)
    lain = lying(images.copy())
    np.testing.assert_array_equal(net.infer(lain[which]), net.infer(images[which]))


def test_one_image_repeated_by_a_zero_stride_is_a_batch(net: Network) -> None:
    image = random_image(4)
    repeated = np.broadcast_to(image, (3, 28, 28))
    np.testing.assert_array_equal(net.infer(repeated), net.infer(np.array([image] * 3)))


def test_minus_zero_is_paper(net: Network) -> None:
    paper = np.zeros((28, 28), np.float32)
    np.testing.assert_array_equal(net.infer(-paper), net.infer(paper))


# What is refused, in the same words by all


@pytest.mark.parametrize(
    "shape",
    [(), (784,), (28, 27), (27, 28), (2, 28, 29), (1, 1, 28, 28), (0,), (0, 0), (28, 28, 1)],
)
def test_another_shape_is_refused(net: Network, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"\(n, 28, 28\), got \("):
        net.infer(np.zeros(shape, np.float32))


@pytest.mark.parametrize("dtype", ["f8", "f2", "u1", "i4", "?", "c8", "U1", "O", ">f4"])
def test_another_dtype_is_refused(net: Network, dtype: str) -> None:
    with pytest.raises(TypeError, match=r"astype\(numpy.float32\)"):
        net.infer(np.zeros((28, 28), dtype))


def test_bytes_are_told_to_divide_by_255(net: Network) -> None:
    with pytest.raises(TypeError, match=r"uint8.*/ 255$"):
        net.infer(np.zeros((28, 28), np.uint8))


@pytest.mark.parametrize("images", [None, 0.5, "7", [[0.0] * 28] * 28, b"\0" * 784])
def test_what_is_no_array_is_refused(net: Network, images: object) -> None:
    with pytest.raises(TypeError, match="float32 array"):
        net.infer(images)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("at", [(0, 0), (13, 14), (27, 27)])
def test_what_is_not_finite_is_refused(net: Network, value: float, at: tuple[int, int]) -> None:
    image = random_image(1)
    image[at] = value
    with pytest.raises(ValueError, match=r"NaN or infinity"):
        net.infer(image)


@pytest.mark.parametrize("value", [np.nextafter(np.float32(1), np.float32(2)), 2, -1e-45, -1, 1e38])
def test_what_is_out_of_range_is_refused(net: Network, value: float) -> None:
    image = random_image(1)
    image[9, 9] = value
    with pytest.raises(ValueError, match=r"\(ink\), got"):
        net.infer(image)


def test_a_bad_value_in_the_last_image_of_a_batch_is_refused(net: Network) -> None:
    images = random_images(1, 50)
    images[-1, -1, -1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        net.infer(images)


def test_an_image_of_0_to_255_is_told_to_divide(net: Network) -> None:
    with pytest.raises(ValueError, match=r"got [\d.e-]+ to [\d.]+: divide by 255"):
        net.infer(random_image(1) * 255)


def test_a_refusal_leaves_it_as_it_was(net: Network) -> None:
    before = net.infer(random_image(1))
    with pytest.raises(ValueError, match="shape"):
        net.infer(np.zeros((1, 2), np.float32))
    np.testing.assert_array_equal(net.infer(random_image(1)), before)


# Threads


def test_two_threads_give_the_answers_of_one(name: str) -> None:
    images = random_images(8, 40)
    one, two = build(name, threads=1).infer(images), build(name, threads=2).infer(images)
    np.testing.assert_allclose(two, one, rtol=0, atol=1e-6)


def test_describe_tells_the_threads(name: str) -> None:
    assert "2" in build(name, threads=2).describe()["threads"]


def test_describe_is_words_only(net: Network) -> None:
    words = [word for pair in net.describe().items() for word in pair]
    assert words
    assert all(isinstance(word, str) and word for word in words)


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


def test_networks_of_different_threads_do_not_disturb_each_other(name: str) -> None:
    one, two = build(name, threads=1), build(name, threads=2)
    images = random_images(10, 20)
    expected = one.infer(images)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda net: net.infer(images), [one, two] * 10))
    assert all(np.allclose(answer, expected, rtol=0, atol=1e-6) for answer in found)


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


@pytest.mark.parametrize("value", [np.nan, -1e-45, 1.0000001, np.inf, -np.inf])
def test_a_value_out_of_range_is_not_ready(
    is_ready: Callable[[object], bool], value: float
) -> None:
    image = random_image(4)
    image[27, 27] = value
    assert not is_ready(image)


@pytest.mark.parametrize(
    "other",
    [
        *(lying(random_images(4, 3)) for lying in LYING if lying is not read_only),
        np.zeros((28, 28)),
        np.zeros((28, 28), ">f4"),
        np.zeros((28, 28), np.uint32),
        np.zeros((28, 27), np.float32),
        np.zeros((1, 1, 28, 28), np.float32),
        [[0.0] * 28] * 28,
        None,
    ],
    ids=lambda other: getattr(getattr(other, "dtype", None), "str", type(other).__name__),
)
def test_what_has_to_be_converted_or_refused_is_not_ready(
    is_ready: Callable[[object], bool], other: object
) -> None:
    assert not is_ready(other)
