"""What is particular to the backend `numpy`: where its threads come from."""

import pytest
from lenet_bench import load
from networks import random_weights

VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


@pytest.mark.parametrize("variable", [None, *VARIABLES])
def test_describe_names_library_blas_and_what_sets_the_threads(
    variable: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    if variable:
        monkeypatch.setenv(variable, "3")
    description = load("numpy", weights=random_weights(0), threads=3).describe()
    if variable:
        assert description["threads"] == f"3 ({variable})"
    else:
        assert "OPENBLAS_NUM_THREADS=3" in description["threads"]
    assert description["library"].startswith("NumPy ")
    assert description["blas"] != "unknown"
