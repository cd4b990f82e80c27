"""Damaged weights: whatever happens to the bytes, loading tells so or gives the same parameters."""

import struct

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lenet_bench.errors import WeightsError
from lenet_bench.network import PARAMETERS
from lenet_bench.weights import read_weights, write_weights

fuzz = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("good") / "lenet.safetensors"
    random = np.random.default_rng(6)
    arrays = {n: random.standard_normal(s).astype(np.float32) for n, s in PARAMETERS.items()}
    write_weights(path, arrays, {"seed": "1"})
    return path.read_bytes()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "damaged.safetensors"


def is_refused(path, content):
    """Whether loading refuses it in one sentence; any other exception fails the test."""
    path.write_bytes(content)
    try:
        read_weights(path)
    except WeightsError as error:
        sentence = str(error)
    else:
        return False
    assert "\n" not in sentence
    return True


def header_length(content):
    return struct.unpack_from("<Q", content)[0]


@fuzz
@given(data=st.data(), more=st.binary(min_size=1, max_size=64))
def test_a_truncated_longer_or_flipped_file_is_refused(good, path, data, more):
    assert is_refused(path, good[: data.draw(st.integers(0, len(good) - 1))])
    assert is_refused(path, good + more)
    start = 8 + header_length(good)
    bit = data.draw(st.integers(8 * start, 8 * len(good) - 1))
    assert is_refused(path, flipped(good, bit))


@settings(fuzz, max_examples=300)
@given(data=st.data())
def test_a_flipped_bit_in_the_header_is_refused_or_harmless(good, path, data):
    """A bit in the metadata's text may go unnoticed; the parameters may not change by it."""
    bit = data.draw(st.integers(0, 8 * (8 + header_length(good)) - 1))
    if not is_refused(path, flipped(good, bit)):
        right = path.with_name("right.safetensors")
        right.write_bytes(good)
        assert read_weights(path).sha256 == read_weights(right).sha256


@fuzz
@given(
    content=st.binary(max_size=4096), length=st.integers(0, 2**64 - 1), header=st.text(max_size=200)
)
def test_random_bytes_lengths_and_headers_are_refused(good, path, content, length, header):
    assert is_refused(path, content)
    assert is_refused(path, struct.pack("<Q", length) + good[8:]) or length == header_length(good)
    text = header.encode("utf-8", "surrogatepass")
    assert is_refused(path, struct.pack("<Q", len(text)) + text)


@fuzz
@given(
    start=st.integers(-1, 2**64),
    end=st.integers(-1, 2**64),
    side=st.sampled_from([0, 1, 500, 2**63]),
)
def test_offsets_that_lie_are_refused(path, start, end, side):
    tensor = f'{{"dtype":"F32","shape":[{side},800],"data_offsets":[{start},{end}]}}'
    header = f'{{"fc1.weight":{tensor}}}'.encode()
    assert is_refused(path, struct.pack("<Q", len(header)) + header + bytes(4000))


def flipped(content, bit):
    damaged = bytearray(content)
    damaged[bit // 8] ^= 1 << bit % 8
    return bytes(damaged)
