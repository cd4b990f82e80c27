"""`time_backend`: a backend as a row of pytest-benchmark, timed as by `compare`.

    from lenet_bench.pytest_fixture import time_backend as time_backend  # in conftest.py

Each start is a process of its own, so one table has frameworks that no process can load together.
"""

from collections.abc import Callable
from typing import Any

import pytest

from .errors import Misuse, Unavailable
from .measure.comparison import compare
from .measure.options import CompareOptions, Entry
from .registry import check_needs, find, is_installed, wrong_version
from .results import BackendResult


@pytest.fixture
def time_backend(benchmark: Any) -> Callable[..., BackendResult]:
    """`time_backend("keras", threads=2)`, or an Entry, with options of `CompareOptions`.

    Starts follow each other for --benchmark-max-time, or the mark's max_time, but there are three
    at least, or as many as `rounds` says. What is not installed in a supported version is skipped;
    any other failure fails the test. With --benchmark-disable there is one start, which is checked.
    """

    def time(backend: str | Entry, **options: Any) -> BackendResult:
        if isinstance(backend, str):
            _skip_if_missing(backend)
            benchmark.group = benchmark.group or find(backend)[0].family
        if not benchmark.enabled:
            options["rounds"] = 1
        budget_s = float(benchmark._max_time)
        ends = {"budget_s": budget_s, "least_rounds": options.get("rounds", 3)}
        asked = CompareOptions((backend,), **{**ends, **options})
        benchmark.has_error = True  # until it has times: pytest-benchmark leaves the row out
        row: BackendResult = benchmark.pedantic(_compared, (asked,))
        if benchmark.enabled:  # the times of its calls in place of that of the comparison
            calls_ns = (ns for block in row.blocks for ns in block.samples_ns)
            benchmark.stats.stats.data[:] = [ns / 1e9 for ns in calls_ns]
        benchmark.has_error = False
        return row

    return time


def _skip_if_missing(name: str) -> None:
    row, variant = find(name)
    try:
        check_needs(row, variant)
    except Unavailable as reason:
        pytest.skip(str(reason))
    if not is_installed(row):
        absent = f"{name} is not installed; `lenet-bench doctor {name}` says how"
        pytest.skip(wrong_version(name) or absent)


def _compared(options: CompareOptions) -> BackendResult:
    if len(options.numbers) > 1:
        raise Misuse("time_backend takes one number of threads; to compare several: compare")
    result = compare(options)
    if result.ended == "interrupted":
        raise KeyboardInterrupt
    row = result.backends[-1]  # after a baseline
    if row.status != "ok":
        pytest.fail(f"{row.name}: {row.status}: {row.reason}", pytrace=False)
    return row
