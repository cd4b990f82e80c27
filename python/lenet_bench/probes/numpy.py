"""NumPy: an operation is a call of one of its functions; there is no API to enter but Python."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..registry.backend import Backend
from ..weights import Weights
from . import (
    CHECKS,
    CHECKS_EVIDENCE,
    CUTS,
    ENTERING,
    IMAGES,
    SOFTMAX,
    Image,
    Infer,
    Probe,
    networks,
    unchecked,
    varied,
    way,
)

_COUNT = {"conv1": 5, "pool1": 2, "conv2": 5, "pool2": 2, "fc1": 4, "fc2": 2, SOFTMAX: 5}

Step = Callable[[Any], Any]


def probes(row: Backend, variant: str, weights: Weights, threads: int) -> Sequence[Probe]:
    def build() -> Callable[[Image], dict[str, Image]]:
        return lambda images: {"probabilities": images[:, 0, :10]}

    steps = stages(weights)
    whole = varied(row, variant, weights, threads, build=build)

    def cut(stage: str) -> list[Step]:
        return [_ten, steps[stage]] if stage == SOFTMAX else _until(steps, stage)

    return [
        way(CHECKS, whole.infer, CHECKS_EVIDENCE),
        way(ENTERING, unchecked(whole), "a call of a function that gives ten pixels"),
        *networks(_run, lambda count: [_ten, *[np.tanh] * count], cut, _COUNT),
    ]


def stages(weights: Weights) -> dict[str, Step]:
    """LeNet in pieces, each what `backends/numpy.py` writes in its function."""
    from ..backends import numpy as file

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


def _until(steps: dict[str, Step], stage: str) -> list[Step]:
    names = CUTS[: CUTS.index(stage) + 1]
    return [lambda images: images[..., np.newaxis], *(steps[name] for name in names)]


def _ten(images: Image) -> Image:
    ten: Image = images[:, 0, :10]
    return ten


def _run(steps: list[Step]) -> Infer:
    def infer(_: Image) -> Any:
        x: Any = IMAGES
        for step in steps:
            x = step(x)
        return x

    return infer
