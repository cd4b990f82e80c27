"""LeNet on OpenBLAS. The network is in csrc/cpu/openblas.cpp; this brings it in."""

from ._shared_libraries import preload

try:
    from .._openblas import OpenBlas
except ImportError as error:
    preload("libscipy_openblas", of="scipy-openblas32", needed_by=error)
    from .._openblas import OpenBlas

__all__ = ["OpenBlas"]
