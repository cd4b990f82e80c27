"""LeNet in one kernel that stays on the GPU, csrc/cuda/persistent.cu and persistent.cpp; this
brings it in.
"""

from typing import TYPE_CHECKING

from ._cuda import native

if TYPE_CHECKING:
    from .._cuda13 import PersistentOnGpu
else:
    PersistentOnGpu = native().PersistentOnGpu

__all__ = ["PersistentOnGpu"]
