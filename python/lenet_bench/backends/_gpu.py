"""Whether there is an NVIDIA GPU, asked of its driver, before a framework is imported for it."""

import ctypes
from functools import cache

_NO_DEVICE = 100  # CUDA_ERROR_NO_DEVICE


@cache
def why_none() -> str | None:
    """Why no GPU can be used here, as a part of a sentence; None where one can."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "there is no driver for one here, no libcuda.so.1"
    count = ctypes.c_int()
    code = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
    if code == _NO_DEVICE or not (code or count.value):
        return "its driver finds none"
    return f"its driver fails with CUDA error {code}" if code else None
