"""What JAX's pages on compiling ahead of time and on dispatch name."""

import jax
import numpy as np
from lenet_bench.backends import Infer
from lenet_bench.backends.jax import lenet, load
from lenet_bench.weights import Weights

_IMAGE = jax.ShapeDtypeStruct((1, 28, 28), np.float32)


def compiled(weights: Weights) -> Infer:
    """Compiled ahead of time: lower and compile."""
    parameters = load(weights)
    program = jax.jit(lambda images: lenet(parameters, images)).lower(_IMAGE).compile()
    return lambda images: np.array(program(images))


def asynchronous(weights: Weights) -> Infer:
    """Asynchronous dispatch, the default."""
    parameters = load(weights)
    jax.config.update("jax_cpu_enable_async_dispatch", True)
    program = jax.jit(lambda images: lenet(parameters, images))
    return lambda images: np.array(program(images))


def device_put(weights: Weights) -> Infer:
    """The image put on the device first."""
    parameters = load(weights)
    program = jax.jit(lambda images: lenet(parameters, images))
    return lambda images: np.array(program(jax.device_put(images)))


def donated(weights: Weights) -> Infer:
    """The image's memory donated."""
    parameters = load(weights)
    program = jax.jit(lambda images: lenet(parameters, images), donate_argnums=0)
    return lambda images: np.array(program(images))
