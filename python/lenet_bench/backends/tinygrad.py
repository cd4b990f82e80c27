"""LeNet in tinygrad.

A framework of some thousand lines, which lowers operations to loops in C and has clang compile
them; on a GPU to CUDA, which NVRTC compiles. `jit` records the kernels of a call and plays them
back, for images one after another; the image's copy to the device is recorded too, since to
schedule it costs as much as all else. `beam` has the kernels found by a search that times them.
`eager` schedules all of it again in each call.
"""

from typing import Any

import numpy as np
from tinygrad import Context, Device, Tensor, TinyJit, nn
from tinygrad.nn.state import load_state_dict

from ..weights import Weights
from . import Infer


class LeNet:
    """The network as tinygrad's examples write it."""

    def __init__(self) -> None:
        self.conv1 = nn.Conv2d(1, 20, kernel_size=5)
        self.conv2 = nn.Conv2d(20, 50, kernel_size=5)
        self.fc1 = nn.Linear(50 * 4 * 4, 500)
        self.fc2 = nn.Linear(500, 10)

    def __call__(self, x: Tensor) -> Tensor:
        x = self.conv1(x)
        x = x.max_pool2d((2, 2))  # pool1
        x = self.conv2(x)
        x = x.max_pool2d((2, 2))  # pool2
        x = self.fc1(x.flatten(1)).relu()
        return self.fc2(x).softmax()  # fc2 and softmax


def load(weights: Weights) -> LeNet:
    """The model with its weights."""
    model = LeNet()
    # load
    state = {name: Tensor(array).realize() for name, array in weights.parameters.items()}
    load_state_dict(model, state, verbose=False)  # load
    return model


def eager(weights: Weights) -> Infer:
    """The model as it is: scheduled anew each time."""
    model = load(weights)
    return lambda images: model(Tensor(images[:, np.newaxis])).numpy()


def jit(weights: Weights) -> Infer:
    """The kernels of a call for one image, played back."""
    model = load(weights)
    play = TinyJit(lambda x: model(x.to(Device.DEFAULT)))
    return lambda images: play(Tensor(images[:, np.newaxis], device="NPY")).numpy()


def beam(weights: Weights) -> Infer:
    """The same, each kernel the fastest that a search finds."""
    infer = jit(weights)
    with Context(BEAM=2):
        for _ in range(2):  # the first call makes the kernels, the second records them
            infer(np.zeros((1, 28, 28), np.float32))
    return infer


def describe(model: Any = None, play: Any = None) -> dict[str, str]:
    """The device that an answer lies on."""
    image = np.zeros((1, 1, 28, 28), np.float32)
    answer = play(Tensor(image, device="NPY")) if play else model(Tensor(image))
    return {"device": str(answer.device)}
