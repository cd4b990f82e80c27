"""LeNet on OpenBLAS. The network is in csrc/cpu/openblas.cpp; this is its Python face."""

from ..weights import Weights
from ._shared_libraries import preload

try:
    from .._openblas import OpenBlas as Native
except ImportError as error:
    preload("libscipy_openblas", of="scipy-openblas32", needed_by=error)
    from .._openblas import OpenBlas as Native


class OpenBlas(Native):
    """im2col, sgemm and sgemv."""

    def __init__(self, weights: Weights, *, threads: int) -> None:
        super().__init__(weights.parameters, threads)
