"""What training needs from a framework: one step, the logits, the parameters in Caffe's layout.

A step is the same rule in every framework, for a parameter w and its gradient g of the mean
cross-entropy, with the rate inside of the velocity as Caffe and Keras keep it:

    g += weight_decay * w        (weights; biases bear no penalty)
    v = momentum * v - rate * g
    w = w + momentum * v - rate * g

Parameters are in Caffe's layout. Keras, TensorFlow and JAX have the channels last: kernels as HWIO,
matrices as in x out, and fc1's inputs as height x width x channels.
"""

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from ..arrays import Bytes, Floats
from ..network import LAYERS, LENET, PARAMETERS
from ..networks import network
from ..networks.seeded import channels_last
from ..weights import Weights

Parameters = Mapping[str, Floats]

_CHANNELS, _HEIGHT, _WIDTH = LAYERS["pool2"]


class Trainer(Protocol):
    """LeNet on one framework, with SGD, Nesterov momentum and an L2 penalty on the weights.

    It is made of the recipe and the parameters to begin with.
    """

    def step(self, images: Floats, labels: Bytes, rate: float) -> float:
        """Learn from a batch (n, 28, 28); its mean cross-entropy before the step."""
        ...

    def logits(self, images: Floats) -> Floats:
        """The ten logits of each image, (n, 10)."""
        ...

    def parameters(self) -> Parameters:
        """A copy of the parameters."""
        ...


def to_channels_last(parameters: Parameters) -> Parameters:
    """From Caffe's layout: OIHW to HWIO, out x in to in x out, fc1's inputs CHW to HWC."""
    return channels_last(network(LENET), Weights(parameters))


def to_caffe(name: str, array: Floats) -> Floats:
    """The inverse of `to_channels_last`, as a copy of its own."""
    if array.ndim == 4:
        array = array.transpose(3, 2, 0, 1)
    elif name == "fc1.weight":
        array = array.T.reshape(-1, _HEIGHT, _WIDTH, _CHANNELS).transpose(0, 3, 1, 2)
    else:
        array = array.T
    return np.array(array.reshape(PARAMETERS[name]), dtype=np.float32, order="C")
