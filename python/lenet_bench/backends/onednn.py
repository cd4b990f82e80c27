"""LeNet on oneDNN. The network is in csrc/cpu/onednn.cpp; this brings it in."""

from ._shared_libraries import preload

try:
    from .._onednn import OneDnn
except ImportError as error:
    preload("libdnnl", of="onednn-cpu-gomp", needed_by=error)
    from .._onednn import OneDnn

__all__ = ["OneDnn"]
