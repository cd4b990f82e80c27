"""What pytest-benchmark has here: the fixture of our package, and the order of its table."""

import pytest
from lenet_bench.pytest_fixture import time_backend as time_backend


def pytest_configure(config: pytest.Config) -> None:
    """Sort by the median, which --benchmark-sort cannot; where that is given, it holds."""
    words = map(str, config.invocation_params.args)
    if not any(word.startswith("--benchmark-sort") for word in words):
        config.option.benchmark_sort = "median"
