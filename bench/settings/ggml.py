"""The other convolution of ggml."""

import ggml
from lenet_bench.backends import Infer
from lenet_bench.backends.ggml import build
from lenet_bench.weights import Weights


def direct(weights: Weights, threads: int) -> Infer:
    """ggml_conv_2d_direct, which has no im2col of the whole image."""
    ggml.ggml_conv_2d = ggml.ggml_conv_2d_direct
    return build(weights, threads)
