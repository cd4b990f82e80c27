"""LeNet in JAX: a function of parameters and images, its gradient, and one jitted step."""

from functools import partial

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from ..arrays import Bytes, Floats
from ..backends.jax import LAYOUT, max_pool
from ..choices import Recipe
from ..network import PARAMETERS
from .trainer import Parameters, to_caffe, to_channels_last

Arrays = dict[str, jax.Array]


class JaxTrainer:
    """Parameters and velocity as dictionaries of arrays, which each step replaces."""

    def __init__(self, recipe: Recipe, parameters: Parameters) -> None:
        self._learn = jax.jit(partial(_learn, recipe))
        self._infer = jax.jit(_lenet)
        turned = to_channels_last(parameters)
        self._parameters: Arrays = {name: jnp.array(array) for name, array in turned.items()}
        self._velocity: Arrays = {name: jnp.zeros_like(a) for name, a in turned.items()}

    def step(self, images: Floats, labels: Bytes, rate: float) -> float:
        self._parameters, self._velocity, entropy = self._learn(
            self._parameters, self._velocity, images, labels, rate
        )
        return float(entropy)

    def logits(self, images: Floats) -> Floats:
        return np.array(self._infer(self._parameters, images))

    def parameters(self) -> Parameters:
        return {name: to_caffe(name, np.asarray(self._parameters[name])) for name in PARAMETERS}


def _learn(
    recipe: Recipe,
    parameters: Arrays,
    velocity: Arrays,
    images: jax.Array,
    labels: jax.Array,
    rate: jax.Array,
) -> tuple[Arrays, Arrays, jax.Array]:
    """One step of the rule: the new parameters, the new velocity, the entropy before."""
    entropy, gradients = jax.value_and_grad(_cross_entropy)(parameters, images, labels)
    moved, moving = {}, {}
    for name, parameter in parameters.items():
        gradient = gradients[name]
        if name.endswith(".weight"):
            gradient += recipe.weight_decay * parameter
        moving[name] = recipe.momentum * velocity[name] - rate * gradient
        moved[name] = parameter + recipe.momentum * moving[name] - rate * gradient
    return moved, moving, entropy


def _cross_entropy(parameters: Arrays, images: jax.Array, labels: jax.Array) -> jax.Array:
    log_probabilities = jax.nn.log_softmax(_lenet(parameters, images))
    return -jnp.take_along_axis(log_probabilities, labels[:, jnp.newaxis], axis=1).mean()


def _lenet(p: Arrays, images: jax.Array) -> jax.Array:
    """The logits of images (n, 28, 28)."""
    x = images[..., jnp.newaxis]
    for layer in ("conv1", "conv2"):
        kernel = p[f"{layer}.weight"]
        x = lax.conv_general_dilated(x, kernel, (1, 1), "VALID", dimension_numbers=LAYOUT)
        x = max_pool(x + p[f"{layer}.bias"])
    x = x.reshape(len(x), -1)
    x = jax.nn.relu(x @ p["fc1.weight"] + p["fc1.bias"])
    return x @ p["fc2.weight"] + p["fc2.bias"]
