"""What is particular to the backend `openblas`: the library underneath, and its absence."""

import numpy as np
import pytest
from lenet_bench import Network, Unavailable, load
from lenet_bench.weights import Weights
from networks import random_weights

ABSENT = object()


def build(weights: Weights) -> Network:
    """The backend; skips where it is not built."""
    try:
        return load("openblas", weights=weights)
    except Unavailable as reason:
        pytest.skip(str(reason))


def test_describe_names_library_and_kernels() -> None:
    description = build(random_weights(0)).describe()
    assert description["library"].startswith("OpenBLAS ")
    assert description["kernels"]
    assert description["convolution"] == "im2col + sgemm"


@pytest.mark.parametrize(
    ("name", "wrong", "error"),
    [
        ("fc1.weight", np.zeros((500, 799), np.float32), ValueError),
        ("conv1.bias", np.zeros((1, 20), np.float32), ValueError),
        ("fc2.bias", np.zeros(10), TypeError),
        ("conv2.weight", np.zeros((5, 5, 20, 50), np.float32).T, TypeError),
        ("fc2.weight", None, TypeError),
        ("conv2.bias", ABSENT, KeyError),
    ],
)
def test_weights_made_by_hand_are_checked(name: str, wrong: object, error: type[Exception]) -> None:
    parameters = {**random_weights(0).parameters, name: wrong}
    if wrong is ABSENT:
        del parameters[name]
    with pytest.raises(error, match=name):
        build(Weights(parameters))
