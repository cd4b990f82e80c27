"""CuPy: an operation is a call of one of its functions, which puts a kernel on the stream."""

from collections.abc import Callable, Sequence
from typing import Any

import cupy as cp

from ..registry.on_cupy import OnCuPy
from ..weights import Weights
from . import CUTS, ENTERING, IMAGES, SOFTMAX, Case, Infer, Probe, checks, networks, unchecked, way

_COUNT = {"conv1": 3, "pool1": 1, "conv2": 3, "pool2": 1, "fc1": 3, "fc2": 2, SOFTMAX: 5}
_COPIES = "copies of the image in and ten floats out: the call less the same on the GPU"
_ENTERING = "a kernel on ten pixels, and the wait for it"

Step = Callable[[Any], Any]


def probes(case: Case) -> Sequence[Probe]:
    def build() -> Infer:
        def forward(image: Any) -> dict[str, Any]:
            return {"probabilities": cp.tanh(_ten(image))}

        return lambda images: cp.asnumpy(forward(cp.asarray(images[0]))["probabilities"])[None]

    whole = case.varied(adapter=OnCuPy, build=build)
    assert isinstance(whole, OnCuPy)
    device, stream = whole.device, whole.stream

    def there(infer: Infer) -> Infer:
        """The function on the backend's GPU and in its stream, as each call is."""

        def call(image: Any) -> Any:
            with device, stream:
                return infer(image)

        return call

    with device, stream:
        x, steps = cp.asarray(IMAGES[0]), _stages(case.weights)

    def last(network: Sequence[Step]) -> Infer:
        def infer(_: Any) -> Any:
            y = x
            for step in network:
                y = step(y)
            stream.synchronize()
            return y

        return there(infer)

    def cut(stage: str) -> list[Step]:
        if stage == SOFTMAX:
            return [_ten, steps[stage]]
        return [lambda image: image[None], *(steps[one] for one in CUTS[: CUTS.index(stage) + 1])]

    return [
        checks(whole, 1),
        way("copies", there(unchecked(whole)), _COPIES, 1),
        way(ENTERING, last([_ten, cp.tanh]), _ENTERING, 1),
        *networks(last, lambda count: [_ten, *[cp.tanh] * count], cut, _COUNT),
    ]


def _ten(x: Any) -> Any:
    return x.reshape(-1)[:10]


def _stages(weights: Weights) -> dict[str, Step]:
    """LeNet cut after each stage, in the code of `backends/cupy.py`."""
    from ..backends import cupy as file

    p = {name: cp.asarray(array) for name, array in weights.parameters.items()}

    def convolve(name: str) -> Step:
        weight, bias = p[f"{name}.weight"], p[f"{name}.bias"]
        matrix, column = weight.reshape(len(bias), -1), bias[:, None]
        return lambda x: file.convolve(x, matrix, column)

    def softmax(x: Any) -> Any:
        exponentials = cp.exp(x - x.max())
        return exponentials / exponentials.sum()

    return {
        "conv1": convolve("conv1"),
        "pool1": file.max_pool,
        "conv2": convolve("conv2"),
        "pool2": file.max_pool,
        "fc1": lambda x: cp.maximum(file.connect(x.ravel(), p["fc1.weight"], p["fc1.bias"]), 0),
        "fc2": lambda x: file.connect(x, p["fc2.weight"], p["fc2.bias"]),
        SOFTMAX: softmax,
    }
