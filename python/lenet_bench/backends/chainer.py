"""LeNet in Chainer 7.

The framework that first built the graph while it ran, in maintenance since 2019. It is NumPy all
the way down: a convolution is im2col and a matrix product of NumPy's BLAS.
"""

import chainer
import chainer.functions as F  # noqa: N812
import chainer.links as L  # noqa: N812
import numpy as np

from ..weights import Weights
from . import Array, Infer


class LeNet(chainer.Chain):
    """The network as Chainer's tutorials write it."""

    def __init__(self) -> None:
        super().__init__()
        with self.init_scope():
            self.conv1 = L.Convolution2D(1, 20, ksize=5)
            self.conv2 = L.Convolution2D(20, 50, ksize=5)
            self.fc1 = L.Linear(800, 500)
            self.fc2 = L.Linear(500, 10)

    def forward(self, x: Array) -> chainer.Variable:
        x = F.max_pooling_2d(self.conv1(x), 2)  # conv1 and pool1
        x = F.max_pooling_2d(self.conv2(x), 2)  # conv2 and pool2
        x = F.relu(self.fc1(x))
        return F.softmax(self.fc2(x))  # fc2 and softmax


def build(weights: Weights) -> Infer:
    """The chain, with nothing kept for a backward pass."""
    model = LeNet()
    # load
    for name, parameter in model.namedparams():  # /LAYER/W, /LAYER/b
        layer, kind = name[1:].split("/")
        parameter.array[...] = weights[f"{layer}.{'weight' if kind == 'W' else 'bias'}"]

    def infer(images: Array) -> Array:
        with (
            chainer.using_config("train", False),
            chainer.using_config("type_check", False),  # 50 us of 860
            chainer.no_backprop_mode(),
        ):
            return model(images[:, np.newaxis]).array

    return infer


def describe() -> dict[str, str]:
    """The NumPy below."""
    return {"numpy": np.__version__}
