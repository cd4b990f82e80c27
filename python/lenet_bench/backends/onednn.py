"""LeNet on oneDNN. The network is in csrc/cpu/onednn.cpp; this is its Python face."""

from ..weights import Weights
from ._shared_libraries import preload

try:
    from .._onednn import OneDnn as Native
except ImportError as error:
    preload("libdnnl", of="onednn-cpu-gomp", needed_by=error)
    from .._onednn import OneDnn as Native


class OneDnn(Native):
    """One primitive a layer, memory formats left to the library."""

    def __init__(self, weights: Weights, *, threads: int) -> None:
        super().__init__(weights.parameters, threads)
