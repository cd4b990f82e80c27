"""LeNet on an NVIDIA GPU, native, built for CUDA 12: as for CUDA 13."""

from ._cuda13 import Cudnn as Cudnn
