"""LeNet on cuDNN and cuBLAS. The network is in csrc/cuda/cudnn.cpp; this brings it in."""

from typing import TYPE_CHECKING

from ._cuda import native

if TYPE_CHECKING:
    from .._cuda13 import Cudnn
else:
    Cudnn = native().Cudnn

__all__ = ["Cudnn"]
