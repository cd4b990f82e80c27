"""Faults planted in our own kernels: as test_cuda_faults.py, for another worker of pytest-xdist."""

from pathlib import Path

import pytest
from cuda_setting import FAULTS, Driver, Fault, in_a_kernel
from test_cuda_faults import pytestmark as pytestmark


@pytest.mark.parametrize("fault", [one for one in FAULTS if in_a_kernel(one.file)], ids=str)
def test_the_double_catches_in_a_kernel(driver: Driver, fault: Fault, tmp_path: Path) -> None:
    assert driver.catches(fault, tmp_path)
