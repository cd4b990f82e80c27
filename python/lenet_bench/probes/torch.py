"""PyTorch: an operation is a module's call, or a node of the graph; above it is nn.Module."""

from collections.abc import Callable, Sequence
from functools import partial
from types import ModuleType
from typing import Any

import torch
from torch import nn

from ..backends import torch as file
from ..registry.adapter import Adapter
from . import CUTS, ENTERING, IMAGES, SOFTMAX, Case, Infer, Probe, called, networks, way
from .inductor import Forward, called_below, keeping

#: As the module is written; flatten and relu go with fc1.
_COUNT = {"conv1": 1, "pool1": 1, "conv2": 1, "pool2": 1, "fc1": 3, "fc2": 1, SOFTMAX: 1}
_REST = 1

_PYTHON = "inference mode, array to tensor and back: the call less the model on a tensor"
_ENTERING = "a model that returns ten pixels, on a tensor"


def probes(case: Case) -> Sequence[Probe]:
    variant, on_gpu = case.variant, case.on_gpu  # where TorchScript and Inductor fuse operations
    if variant not in (("eager",) if on_gpu else ("eager", "torchscript", "compile", "export")):
        return ()

    def build(forward: Forward, **others: Any) -> Adapter:
        """The backend with a module that computes this."""

        class Varied(file.LeNet):
            def __init__(self) -> None:
                super().__init__()
                self.tanh = nn.Tanh()

            def forward(self, x: Any) -> Any:
                return forward(self, x)

        return case.varied(LeNet=Varied, **others)

    if variant in ("compile", "export"):
        others = {"packaged": keeping(file, case.weights)} if variant == "export" else {}
        compiled = partial(build, **others)
        return called_below(variant, compiled, _of_lenet(file), _trivial, partial(_cut, ten=_all))

    def last(forward: Forward) -> Infer:
        model = build(forward).inside()["model"]
        with torch.inference_mode():
            x = torch.from_numpy(IMAGES[:, None]).to("cuda" if on_gpu else "cpu")

        def infer(_: Any) -> Any:
            with torch.inference_mode():
                return model(x)

        return case.waiting(infer)

    forward = _trivial(1) if on_gpu else _trivial(0)
    count, nothing = _REST + on_gpu, build(forward)
    # A graph has another answer than its input.
    eager = variant == "eager" and not on_gpu
    cut, image = (partial(_cut, ten=_all), lambda _, x: x) if eager else (_cut, None)
    return [
        *called(nothing, "Python", _PYTHON, count),
        way(ENTERING, last(forward), _ENTERING, count),
        *networks(last, _trivial, cut, _COUNT, _REST, image),
    ]


def _ten(x: Any) -> Any:
    """The first ten floats in memory, in any layout."""
    return torch.as_strided(x, (1, 10), (10, 1))


def _all(x: Any) -> Any:
    return x


def _of_lenet(file: ModuleType) -> Forward:
    """Run LeNet for its Dynamo guards, discard its answer, and return ten floats."""

    def forward(module: Any, x: Any) -> Any:
        file.LeNet.forward(module, x)
        return _ten(x).clone()

    return forward


def _trivial(count: int) -> Forward:
    def forward(module: Any, x: Any) -> Any:
        x = _ten(x)
        for _ in range(count):
            x = module.tanh(x)
        return x

    return forward


def _cut(stage: str, ten: Callable[[Any], Any] = _ten) -> Forward:
    functional = nn.functional
    steps: dict[str, Forward] = {
        "conv1": lambda m, x: m.conv1(x),
        "pool1": lambda _, x: functional.max_pool2d(x, 2),
        "conv2": lambda m, x: m.conv2(x),
        "pool2": lambda _, x: functional.max_pool2d(x, 2),
        "fc1": lambda m, x: functional.relu(m.fc1(torch.flatten(x, 1))),
        "fc2": lambda m, x: m.fc2(x),
    }

    def forward(module: Any, x: Any) -> Any:
        if stage == SOFTMAX:
            return functional.softmax(_ten(x), dim=1)
        for name in CUTS[: CUTS.index(stage) + 1]:
            x = steps[name](module, x)
        return x if stage == CUTS[-1] else ten(x)

    return forward
