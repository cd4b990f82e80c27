"""LeNet with nothing underneath. The network is in csrc/cpu/fused*.cpp; this is its Python face."""

from .._fused import Fused as Native
from ..errors import Unavailable
from ..weights import Weights


class Fused(Native):
    """Our own SIMD kernels; LENET_BENCH_ISA=sse2|avx2|avx512|neon forces an instruction set."""

    def __init__(self, weights: Weights, *, threads: int, variant: str = "") -> None:
        try:
            super().__init__(weights, threads, variant)
        except RuntimeError as error:  # an instruction set that is not to be had here
            raise Unavailable(str(error)) from None
