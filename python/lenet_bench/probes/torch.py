"""PyTorch: an operation is a module's call, or a node of the graph; above it is nn.Module."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn

from ..registry.backend import Backend
from ..weights import Weights
from . import (
    CHECKS,
    CHECKS_EVIDENCE,
    CUTS,
    ENTERING,
    IMAGES,
    SOFTMAX,
    Infer,
    Probe,
    networks,
    unchecked,
    varied,
    way,
)

#: As the module is written; flatten and relu go with fc1.
_COUNT = {"conv1": 1, "pool1": 1, "conv2": 1, "pool2": 1, "fc1": 3, "fc2": 1, SOFTMAX: 1}
_REST = 1

_EVIDENCE = {
    "Python": "inference mode, array to tensor and back, less the model on a tensor",
    ENTERING: "the model that gives ten pixels, on a tensor",
}


def probes(row: Backend, variant: str, weights: Weights, threads: int) -> Sequence[Probe]:
    if variant not in ("eager", "torchscript"):
        return ()
    from ..backends import torch as file

    def build(forward: Callable[[nn.Module, Any], Any]) -> Any:
        """The backend with a module that computes this."""

        class Varied(file.LeNet):
            def forward(self, x: Any) -> Any:
                return forward(self, x)

        def load(weights: Weights, threads: int, device: str) -> nn.Module:
            file.load(weights, threads, device)  # sets the threads
            module = Varied()
            module.tanh = nn.Tanh()
            module.load_state_dict(
                {name: torch.tensor(a) for name, a in weights.parameters.items()}
            )
            return module.to(device, memory_format=torch.channels_last).eval()

        return varied(row, variant, weights, threads, load=load)

    def last(forward: Callable[[nn.Module, Any], Any]) -> Infer:
        model = build(forward).inside()["model"]
        with torch.inference_mode():
            x = torch.from_numpy(IMAGES[:, None])

        def infer(_: Any) -> Any:
            with torch.inference_mode():
                return model(x)

        return infer

    nothing = build(lambda _, x: _ten(x))
    return [
        way(CHECKS, nothing.infer, CHECKS_EVIDENCE, _REST),
        way("Python", unchecked(nothing), _EVIDENCE["Python"], _REST),
        way(ENTERING, last(lambda _, x: _ten(x)), _EVIDENCE[ENTERING], _REST),
        *networks(last, _trivial, _cut, _COUNT, _REST),
    ]


def _ten(x: Any) -> Any:
    """The first ten floats as they lie in memory, whatever the layout."""
    return torch.as_strided(x, (1, 10), (10, 1))


def _trivial(count: int) -> Callable[[Any, Any], Any]:
    def forward(module: Any, x: Any) -> Any:
        x = _ten(x)
        for _ in range(count):
            x = module.tanh(x)
        return x

    return forward


def _cut(stage: str) -> Callable[[Any, Any], Any]:
    functional = nn.functional
    steps: dict[str, Callable[[Any, Any], Any]] = {
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
        return x if stage == CUTS[-1] else _ten(x)

    return forward
