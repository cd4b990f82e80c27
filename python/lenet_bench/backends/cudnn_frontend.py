"""LeNet on cuDNN's graph API. The network is in csrc/cuda/cudnn_frontend.cpp; this brings it in."""

from typing import TYPE_CHECKING

from ._cuda import native

if TYPE_CHECKING:
    from .._cuda13 import CudnnFrontend
else:
    CudnnFrontend = native().CudnnFrontend

__all__ = ["CudnnFrontend"]
