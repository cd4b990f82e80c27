"""LeNet on an NVIDIA GPU, native, built for CUDA 12: as for CUDA 13."""

from ._cuda13 import Cudnn as Cudnn
from ._cuda13 import CudnnGraphApi as CudnnGraphApi
from ._cuda13 import FusedOnGpu as FusedOnGpu
from ._cuda13 import LaunchAndCopies as LaunchAndCopies
from ._cuda13 import LaunchAndFlag as LaunchAndFlag
from ._cuda13 import PersistentOnGpu as PersistentOnGpu
from ._cuda13 import ResidentEcho as ResidentEcho
from ._cuda13 import compile_cluster_kernels as compile_cluster_kernels
from ._cuda13 import compile_kernels as compile_kernels
from ._cuda13 import keep_kernels_in as keep_kernels_in
from ._cuda13 import known_capabilities as known_capabilities
