"""JAX: XLA compiles all of a network, so an operation is code and no call.

XLA leaves out what is not part of the answer. So the cut networks return their last layer besides
the ten floats, and are compared with a network that returns its image in the same way.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax

from ..backends import jax as file
from . import CUTS, ENTERING, IMAGES, SOFTMAX, Case, Infer, Probe, called, compiled, networks, way

Forward = Callable[[Any, Any], Any]  # of the parameters and the images

_COUNT = {"conv1": 1, "pool1": 1, "conv2": 1, "pool2": 1, "fc1": 1, "fc2": 1, SOFTMAX: 1}


def probes(case: Case) -> Sequence[Probe]:
    if case.variant in case.row.reduced:
        return ()
    whole = case.varied(lenet=lambda _, images: _ten(images))
    x = jax.device_put(IMAGES)

    def last(forward: Forward) -> Infer:
        inside = case.varied(lenet=forward).inside()
        given = [inside["parameters"]] if case.variant == "arguments" else []
        program = inside["program"]
        return case.waiting(lambda _: program(*given, x))

    evidence = "the call on a NumPy array, less that on a JAX array"
    return [
        *called(whole, "arrays", evidence),
        way(ENTERING, last(lambda _, x: _ten(x)), "a program that returns ten pixels"),
        *compiled(last(_trivial(0)), last(lambda p, x: _cut(CUTS[-1])(p, x)[0])),
        *networks(last, _trivial, _cut, _COUNT),
    ]


def _ten(x: Any) -> Any:
    return x.reshape(1, -1)[:, :10]


def _trivial(count: int) -> Forward:
    def forward(_: Any, x: Any) -> Any:
        y = _ten(x)
        for _ in range(count):
            y = jax.numpy.tanh(y)
        return y, x

    return forward


def _cut(stage: str) -> Forward:
    def convolve(name: str) -> Forward:
        return lambda p, x: (
            jax.lax.conv_general_dilated(
                x, p[f"{name}.weight"], (1, 1), "VALID", dimension_numbers=file.LAYOUT
            )
            + p[f"{name}.bias"]
        )

    steps: dict[str, Forward] = {
        "conv1": convolve("conv1"),
        "pool1": lambda _, x: file.max_pool(x),
        "conv2": convolve("conv2"),
        "pool2": lambda _, x: file.max_pool(x),
        "fc1": lambda p, x: jax.nn.relu(x.reshape(1, -1) @ p["fc1.weight"] + p["fc1.bias"]),
        "fc2": lambda p, x: x @ p["fc2.weight"] + p["fc2.bias"],
    }

    def forward(parameters: Any, images: Any) -> Any:
        if stage == SOFTMAX:
            return jax.nn.softmax(_ten(images)), images
        x = images[..., None]
        for name in CUTS[: CUTS.index(stage) + 1]:
            x = steps[name](parameters, x)
        return _ten(x), x

    return forward
