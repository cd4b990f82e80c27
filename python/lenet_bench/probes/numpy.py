"""NumPy: an operation is a call of one of its functions; entering is a Python call."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..backends import numpy as file
from ..weights import Weights
from . import CUTS, ENTERING, IMAGES, SOFTMAX, Case, Infer, Probe, called, networks

_COUNT = {"conv1": 5, "pool1": 2, "conv2": 5, "pool2": 2, "fc1": 4, "fc2": 2, SOFTMAX: 5}

Step = Callable[[Any], Any]


def probes(case: Case) -> Sequence[Probe]:
    def build() -> Infer:
        return lambda images: {"probabilities": images[:, 0, :10]}

    steps = _stages(case.weights)
    whole = case.varied(build=build)

    def cut(stage: str) -> list[Step]:
        if stage == SOFTMAX:
            return [_ten, steps[stage]]
        names = CUTS[: CUTS.index(stage) + 1]
        return [lambda images: images[..., np.newaxis], *(steps[name] for name in names)]

    return [
        *called(whole, ENTERING, "a call of a function that returns ten pixels"),
        *networks(_run, lambda count: [_ten, *[np.tanh] * count], cut, _COUNT),
    ]


def _stages(weights: Weights) -> dict[str, Step]:
    """LeNet cut after each stage, in the code of `backends/numpy.py`."""
    w = weights
    flat = file.as_matrix(w["fc1.weight"].reshape(500, 50, 4, 4))
    last = w["fc2.weight"].T.copy()

    def convolve(name: str) -> Step:
        weight, bias = file.as_matrix(w[f"{name}.weight"]), w[f"{name}.bias"]
        return lambda x: file.convolve(x, weight, bias)

    return {
        "conv1": convolve("conv1"),
        "pool1": file.max_pool,
        "conv2": convolve("conv2"),
        "pool2": file.max_pool,
        "fc1": lambda x: np.maximum(x.reshape(-1, 800) @ flat + w["fc1.bias"], 0),
        "fc2": lambda x: x @ last + w["fc2.bias"],
        SOFTMAX: file.softmax,
    }


def _ten(images: Any) -> Any:
    return images[:, 0, :10]


def _run(steps: list[Step]) -> Infer:
    def infer(_: Any) -> Any:
        x: Any = IMAGES
        for step in steps:
            x = step(x)
        return x

    return infer
