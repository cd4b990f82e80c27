"""Single-image latency of every backend at hand, as one table: `pytest bench/ --benchmark-only`.

A float32 (28, 28) goes in, a float32 (10,) comes out, and the inputs rotate so that no backend can
answer from a cache. All backends share this process. Where they are close, believe `lenet-bench
compare`, which gives each a process of its own.
"""

from collections.abc import Callable
from itertools import cycle
from typing import Any

import numpy as np
import pytest
from lenet_bench import Unavailable, load
from lenet_bench.registry import find, names, tolerance
from lenet_bench.registry.own_process import InOwnProcess

IMAGES = np.random.default_rng(0).random((8, 28, 28), dtype=np.float32)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One benchmark a backend, in the group of its device."""
    marked = [
        pytest.param(name, marks=pytest.mark.benchmark(group=find(name)[0].device))
        for name in names()
    ]
    metafunc.parametrize("name", marked)


def test_infer(benchmark: Callable[..., Any], name: str) -> None:
    """Time one call of a backend that gives the reference's probabilities."""
    try:
        net = load(name)
    except Unavailable as reason:
        pytest.skip(str(reason))
    if isinstance(net, InOwnProcess):
        pytest.skip(f"{name} would be asked through a pipe; alone (-k) or in `compare` it is not")
    expected = load("reference").infer(IMAGES)
    assert np.abs(net.infer(IMAGES) - expected).max() <= tolerance(name)
    images = cycle(IMAGES)
    benchmark(lambda: net.infer(next(images)))
