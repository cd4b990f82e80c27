"""Faults planted in the GPU backends, one of each kind that the double of CUDA has to catch: what
makes its silence on the real sources worth something. Our kernels run there as NVIDIA's compiler
makes them, in random order (cuda_double/grid.hpp).
"""

import pytest
from cuda_setting import FAULTS, built_major

pytestmark = pytest.mark.skipif(
    built_major() != 13, reason="faults are planted for one CUDA, the newest (make test-cuda13)"
)


@pytest.mark.parametrize("backend", sorted({fault.backend for fault in FAULTS}))
def test_without_a_fault_all_is_right(driver, backend, tmp_path):
    done = driver.run(backend, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_the_double_catches(driver, fault, tmp_path):
    assert driver.catches(fault, tmp_path)
