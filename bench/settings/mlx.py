"""What MLX's page on compilation names."""

import mlx.core as mx
import numpy as np
from lenet_bench.backends import Infer
from lenet_bench.backends.mlx import load
from lenet_bench.weights import Weights


def compile_shapeless(weights: Weights) -> Infer:
    """Compiled once for any number of images."""
    model = mx.compile(load(weights), shapeless=True)
    return lambda images: np.array(model(mx.array(images[..., np.newaxis])))
