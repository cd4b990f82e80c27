"""What is particular to the backend `numpy`: where its threads come from."""

import pytest
from lenet_bench import load
from networks import random_weights

VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


@pytest.mark.parametrize("variable", VARIABLES)
def test_describe_names_the_variable_that_sets_the_threads(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, "3")
    assert (
        load("numpy", weights=random_weights(0), threads=3).describe()["threads"]
        == f"3 ({variable})"
    )


def test_describe_says_where_nothing_sets_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    threads = load("numpy", weights=random_weights(0), threads=3).describe()["threads"]
    assert "OPENBLAS_NUM_THREADS=3" in threads


def test_describe_names_numpy_and_its_blas() -> None:
    description = load("numpy", weights=random_weights(0)).describe()
    assert description["library"].startswith("NumPy ")
    assert description["blas"] != "unknown"
