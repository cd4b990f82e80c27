"""LeNet in MLX.

Apple's framework for its own chips; elsewhere it runs on the CPU. Its wheel for Linux brings the
reference BLAS, plain Fortran. Arrays are lazy: they are computed at their first use. Images are
NHWC.
"""

import mlx.core as mx
import numpy as np
from mlx import nn

from ..weights import Weights
from . import Array, Infer


class LeNet(nn.Module):
    """The network as MLX's examples write it."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 20, kernel_size=5)
        self.conv2 = nn.Conv2d(20, 50, kernel_size=5)
        self.fc1 = nn.Linear(50 * 4 * 4, 500)
        self.fc2 = nn.Linear(500, 10)
        self.pool = nn.MaxPool2d(kernel_size=2, stride=2)  # pool1 and pool2

    def __call__(self, x: mx.array) -> mx.array:
        x = self.pool(self.conv1(x))  # conv1 and pool1
        x = self.pool(self.conv2(x))  # conv2 and pool2
        x = nn.relu(self.fc1(x.flatten(1)))
        return mx.softmax(self.fc2(x), axis=1)  # fc2 and softmax


def load(weights: Weights) -> LeNet:
    """The module with its weights, on the CPU."""
    mx.set_default_device(mx.cpu)  # one thread computes; the BLAS has no more
    module = LeNet()
    # load
    module.load_weights([(name, mx.array(array)) for name, array in nhwc(weights).items()])
    module.eval()
    return module


# load
def nhwc(weights: Weights) -> dict[str, Array]:
    """The weights with channels last, fc1's inputs too."""
    moved = dict(weights.parameters)
    for name in ("conv1.weight", "conv2.weight"):
        moved[name] = moved[name].transpose(0, 2, 3, 1)
    fc1 = moved["fc1.weight"].reshape(500, 50, 4, 4).transpose(0, 2, 3, 1)
    return {**moved, "fc1.weight": fc1.reshape(500, 800)}


def eager(weights: Weights) -> Infer:
    """The module as it is."""
    model = load(weights)
    return lambda images: np.array(model(mx.array(images[..., np.newaxis])))


def bfloat16(weights: Weights) -> Infer:
    """The module in bfloat16."""
    return in_less(weights, mx.bfloat16)


def float16(weights: Weights) -> Infer:
    """The module in float16."""
    return in_less(weights, mx.float16)


def in_less(weights: Weights, dtype: mx.Dtype) -> Infer:
    """The module in this type."""
    model = load(weights)
    model.set_dtype(dtype)

    def infer(images: Array) -> Array:
        answer = model(mx.array(images[..., np.newaxis]).astype(dtype))
        return np.array(answer.astype(mx.float32))

    return infer


def compile(weights: Weights) -> Infer:
    """The module with its element-wise operations fused."""
    model = mx.compile(load(weights))
    return lambda images: np.array(model(mx.array(images[..., np.newaxis])))
