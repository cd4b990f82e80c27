"""LeNet in JAX: a function of parameters and images, its gradient, and one jitted step."""

from functools import partial

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp
from numpy.typing import NDArray

from ..network import PARAMETERS
from .layouts import to_caffe, to_channels_last
from .recipe import Recipe
from .trainer import Parameters, in_batches, zeros

Arrays = dict[str, jax.Array]


class JaxTrainer:
    """Parameters and velocity as dictionaries of arrays, which each step replaces."""

    def __init__(self, recipe: Recipe, parameters: Parameters) -> None:
        rule = partial(_learn, momentum=recipe.momentum, weight_decay=recipe.weight_decay)
        self._learn = jax.jit(rule)
        self._infer = jax.jit(_lenet)
        self._parameters, self._velocity = _to_jax(parameters), _to_jax(zeros())

    def step(self, images: NDArray[np.float32], labels: NDArray[np.uint8], rate: float) -> float:
        """Learn from a batch (n, 28, 28); its mean cross-entropy before the step."""
        self._parameters, self._velocity, entropy = self._learn(
            self._parameters, self._velocity, images, labels, rate
        )
        return float(entropy)

    def logits(self, images: NDArray[np.float32]) -> NDArray[np.float32]:
        """The ten logits of each image, (n, 10)."""
        return in_batches(lambda batch: np.array(self._infer(self._parameters, batch)), images)

    def parameters(self) -> Parameters:
        """A copy of the parameters."""
        return {name: to_caffe(name, np.asarray(self._parameters[name])) for name in PARAMETERS}

    def load(self, parameters: Parameters) -> None:
        """Go on from these parameters, with no momentum."""
        self._parameters, self._velocity = _to_jax(parameters), _to_jax(zeros())

    def describe(self) -> dict[str, str]:
        """The framework and what it runs on, with versions."""
        return {"jax": jax.__version__}


def _learn(
    parameters: Arrays,
    velocity: Arrays,
    images: jax.Array,
    labels: jax.Array,
    rate: jax.Array,
    *,
    momentum: float,
    weight_decay: float,
) -> tuple[Arrays, Arrays, jax.Array]:
    """One step of the rule: the new parameters, the new velocity, the entropy before."""
    entropy, gradients = jax.value_and_grad(_cross_entropy)(parameters, images, labels)
    moved, moving = {}, {}
    for name, parameter in parameters.items():
        gradient = gradients[name]
        if name.endswith(".weight"):
            gradient += weight_decay * parameter
        moving[name] = momentum * velocity[name] - rate * gradient
        moved[name] = parameter + momentum * moving[name] - rate * gradient
    return moved, moving, entropy


def _cross_entropy(parameters: Arrays, images: jax.Array, labels: jax.Array) -> jax.Array:
    log_probabilities = jax.nn.log_softmax(_lenet(parameters, images))
    return -jnp.take_along_axis(log_probabilities, labels[:, jnp.newaxis], axis=1).mean()


def _lenet(p: Arrays, images: jax.Array) -> jax.Array:
    """The logits of images (n, 28, 28)."""
    x = images[..., jnp.newaxis]
    x = _max_pool(_convolve(x, p["conv1.weight"]) + p["conv1.bias"])
    x = _max_pool(_convolve(x, p["conv2.weight"]) + p["conv2.bias"])
    x = x.reshape(len(x), -1)
    x = jax.nn.relu(x @ p["fc1.weight"] + p["fc1.bias"])
    return x @ p["fc2.weight"] + p["fc2.bias"]


def _convolve(x: jax.Array, weight: jax.Array) -> jax.Array:
    layout = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(x, weight, (1, 1), "VALID", dimension_numbers=layout)


def _max_pool(x: jax.Array) -> jax.Array:
    """The largest of each 2x2 square."""
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def _to_jax(arrays: Parameters) -> Arrays:
    return {name: jnp.array(to_channels_last(name, arrays[name])) for name in PARAMETERS}
