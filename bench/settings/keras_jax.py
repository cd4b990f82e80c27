"""What Keras' and JAX's pages name for one image."""

import jax
import numpy as np
from lenet_bench.backends import Infer
from lenet_bench.backends.keras import lenet
from lenet_bench.weights import Weights


def on_batch_no_jit(weights: Weights) -> Infer:
    """predict_on_batch after compile(jit_compile=False)."""
    model = lenet(weights)
    model.compile(jit_compile=False)
    return lambda images: model.predict_on_batch(images[..., np.newaxis])


def synchronous(weights: Weights) -> Infer:
    """predict_on_batch without JAX's asynchronous dispatch."""
    jax.config.update("jax_cpu_enable_async_dispatch", False)
    model = lenet(weights)
    return lambda images: model.predict_on_batch(images[..., np.newaxis])
