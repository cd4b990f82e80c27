"""Single-image latency of every backend at hand, as one table: `make bench`."""

from collections.abc import Callable

import pytest
from lenet_bench.registry import names


@pytest.mark.parametrize("name", names())
def test_infer(time_backend: Callable[[str], object], name: str) -> None:
    """Time a backend that gives the reference's probabilities."""
    time_backend(name)
