"""LeNet in CUDA kernels of our own, csrc/cuda/fused.cu and fused.cpp; this brings it in.

With it comes the floor that GPU rungs are measured against: an empty kernel, no network.
"""

from typing import TYPE_CHECKING

from ._cuda import native

if TYPE_CHECKING:
    from .._cuda13 import FusedOnGpu, LaunchFloor
else:
    FusedOnGpu = native().FusedOnGpu
    LaunchFloor = native().LaunchFloor

__all__ = ["FusedOnGpu", "LaunchFloor"]
