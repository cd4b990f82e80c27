"""LeNet in JAX.

A program of NumPy-like functions that XLA compiles for the processor at hand; its convolutions and
matrix products are YNNPACK's, the heir of XNNPACK, on a GPU cuDNN's and cuBLAS's. Closed over by
the function, the weights are constants of the program; `arguments` passes them to every call, as
training does. `aot` calls the program that was compiled ahead of time, without jax.jit's dispatch.
`bfloat16` has constants and images in that type, `tf32` rounds products on a GPU.
"""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from ..network import IMAGE
from ..weights import Weights
from . import Array, Infer

LAYOUT = ("NHWC", "HWIO", "NHWC")


def lenet(parameters: dict[str, jax.Array], images: jax.Array) -> jax.Array:
    """The network; images (n, 28, 28)."""
    p = parameters
    x = images[..., jnp.newaxis]
    x = lax.conv_general_dilated(x, p["conv1.weight"], (1, 1), "VALID", dimension_numbers=LAYOUT)
    x = max_pool(x + p["conv1.bias"])  # conv1 and pool1
    x = lax.conv_general_dilated(x, p["conv2.weight"], (1, 1), "VALID", dimension_numbers=LAYOUT)
    x = max_pool(x + p["conv2.bias"])  # conv2 and pool2
    x = x.reshape(len(x), -1)  # fc1
    x = jax.nn.relu(x @ p["fc1.weight"] + p["fc1.bias"])
    return jax.nn.softmax(x @ p["fc2.weight"] + p["fc2.bias"])  # fc2 and softmax


# pool1 and pool2
def max_pool(x: jax.Array) -> jax.Array:
    """The largest of each 2x2 square."""
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


# load
def load(weights: Weights) -> dict[str, jax.Array]:
    """The parameters on the device, channels last."""
    jax.config.update("jax_cpu_enable_async_dispatch", False)  # no other thread for one image
    fc1 = weights["fc1.weight"].reshape(500, 50, 4, 4)  # rows x CHW
    parameters = {
        **weights.parameters,
        "conv1.weight": weights["conv1.weight"].transpose(2, 3, 1, 0),  # OIHW to HWIO
        "conv2.weight": weights["conv2.weight"].transpose(2, 3, 1, 0),
        "fc1.weight": fc1.transpose(2, 3, 1, 0).reshape(800, 500),  # HWC x columns
        "fc2.weight": weights["fc2.weight"].T,
    }
    return jax.device_put(parameters)


def on_arrays(program: Callable[[Array], jax.Array]) -> Infer:
    """The program from array to array."""
    return lambda images: np.array(program(images))


def example() -> jax.Array:
    """An image."""
    return jnp.zeros((1, *IMAGE))


def constants(weights: Weights) -> Infer:
    """The weights are part of the program."""
    parameters = load(weights)
    return on_arrays(jax.jit(lambda images: lenet(parameters, images)))


def arguments(weights: Weights) -> Infer:
    """The weights are passed to each call."""
    parameters, program = load(weights), jax.jit(lenet)
    return lambda images: np.array(program(parameters, images))


def aot(weights: Weights) -> Infer:
    """`constants`, lowered and compiled ahead of time for one image."""
    parameters = load(weights)
    program = jax.jit(lambda images: lenet(parameters, images))
    return on_arrays(program.lower(example()).compile())


def tf32(weights: Weights) -> Infer:
    """`constants`, with products in TF32, for the whole process."""
    jax.config.update("jax_default_matmul_precision", "tensorfloat32")
    return constants(weights)


def bfloat16(weights: Weights) -> Infer:
    """Weights, images and all between in bfloat16."""
    parameters = jax.tree.map(lambda array: array.astype(jnp.bfloat16), load(weights))
    program = jax.jit(lambda images: lenet(parameters, images.astype(jnp.bfloat16)))
    return lambda images: np.array(program(images), np.float32)


def describe(program: Any, parameters: Any = None) -> dict[str, str]:
    """The device that an answer lies on."""
    image = example()
    answer = program(image) if parameters is None else program(parameters, image)
    return {"device": str(answer.device)}
