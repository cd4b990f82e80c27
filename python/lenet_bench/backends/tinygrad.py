"""LeNet in tinygrad.

A framework of some thousand lines, which lowers operations to loops in C and has clang compile
them. `jit` records the kernels of a call and plays them back, for images one after another; the
image's copy to the device is recorded too, since to schedule it costs as much as all else. `eager`
schedules all of it anew each time.
"""

from importlib.metadata import version

import numpy as np
from tinygrad import Tensor, TinyJit, nn
from tinygrad.nn.state import load_state_dict

from ..weights import Weights
from ._exhibit import Array, Exhibit


class LeNet:
    """The network as tinygrad's examples write it."""

    def __init__(self) -> None:
        self.conv1 = nn.Conv2d(1, 20, kernel_size=5)
        self.conv2 = nn.Conv2d(20, 50, kernel_size=5)
        self.fc1 = nn.Linear(50 * 4 * 4, 500)
        self.fc2 = nn.Linear(500, 10)

    def __call__(self, x: Tensor) -> Tensor:
        x = self.conv1(x)
        x = x.max_pool2d((2, 2))
        x = self.conv2(x)
        x = x.max_pool2d((2, 2))
        x = self.fc1(x.flatten(1)).relu()
        return self.fc2(x).softmax()


class Tinygrad(Exhibit):
    """The model as it is, or its recorded kernels."""

    def __init__(self, weights: Weights, *, threads: int, variant: str) -> None:
        self._variant, self._threads = variant, threads
        model = LeNet()
        state = {name: Tensor(array).realize() for name, array in weights.parameters.items()}
        load_state_dict(model, state, verbose=False)
        self._model = TinyJit(lambda x: model(x.to("CPU"))) if variant == "jit" else model

    def forward(self, images: Array) -> Array:
        if self._variant == "eager":
            return self._model(Tensor(images[:, np.newaxis])).numpy()
        return np.concatenate([self._play(image) for image in images])

    def _play(self, image: Array) -> Array:
        return self._model(Tensor(image[np.newaxis, np.newaxis], device="NPY")).numpy()

    def describe(self) -> dict[str, str]:
        return {
            "library": f"tinygrad {version('tinygrad')}",
            "variant": self._variant,
            "threads": str(self._threads),
        }
