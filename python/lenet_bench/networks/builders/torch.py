"""A network as PyTorch's module, also for ExecuTorch. Parameters have PyTorch's own names."""

import operator
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from ...weights import Weights
from ..graph import Graph, Layer
from . import Function, chained


def in_place(network: Graph, weights: Weights) -> dict[str, Any]:  # noqa: ARG001
    class Built(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            for layer in network.computed:
                if layer.parameters:
                    self.add_module(layer.name, _module(layer))
            self.run = chained(
                network, lambda layer: _function(layer, getattr(self, layer.name, None))
            )
            self.shape = None if network.shape[0] == 1 else (-1, *network.shape)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.run(x if self.shape is None else x.reshape(self.shape))

    return {"LeNet": Built}


class _Counted(TorchFunctionMode):
    number = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.number += func.__name__ != "__get__"  # of an attribute
        return func(*args, **(kwargs or {}))


def operations(_: nn.Module, call: Callable[[], Any]) -> int:
    """How many of PyTorch's functions a call of it calls."""
    with _Counted() as counted:
        call()
    return counted.number


def trivial(model: nn.Module, _: Any, network: Graph, *, held: bool) -> nn.Module:
    """A network of trivial layers on the first of a module's inputs; `held`: with its weights."""
    run = chained(network, lambda layer: _function(layer, None))

    class Trivial(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model, self.training = model, False

        @wraps(type(model).forward)
        def forward(self, *given: torch.Tensor, **named: torch.Tensor) -> torch.Tensor:
            if held:
                self.model(*given, **named)  # compilers leave it out
            x, *_ = (*given, *named.values())
            return run(x if x.is_floating_point() else x.float())

    return Trivial()


def _module(layer: Layer) -> nn.Module:
    before, after = layer.before, layer.after
    match layer.kind:
        case "conv":
            return nn.Conv2d(before[0], after[0], layer.side, layer.stride, layer.pad)
        case "fc":
            return nn.Linear(layer.parameters["weight"][1], after[-1])
        case "embedding":
            return nn.Embedding(layer.side, after[-1])
        case "gru":
            return nn.GRU(before[-1], after[0], batch_first=True)
        case "attention":
            return nn.MultiheadAttention(before[-1], layer.heads, batch_first=True)
    return nn.LayerNorm(before[-1])


def _function(layer: Layer, module: Any) -> Function:
    match layer.kind:
        case "pool":
            window = {"kernel_size": layer.side, "stride": layer.stride, "padding": layer.pad}
            return partial(functional.max_pool2d, **window)
        case "mean":
            return partial(torch.mean, dim=(2, 3) if len(layer.before) == 3 else 1)
        case "fc" if layer.flattens:
            return lambda x: module(torch.flatten(x, 1))
        case "relu":
            return functional.relu
        case "softmax":
            return partial(functional.softmax, dim=1)
        case "add":
            return operator.add
        case "concat":
            return lambda *branches: torch.cat(branches, 1)
        case "embedding":
            return lambda words: module(words.long())
        case "gru":
            return lambda x: module(x)[1][0]
        case "attention":
            return lambda x: module(x, x, x, need_weights=False)[0]
        case "take":
            return lambda x: torch.flatten(x, 1)[:, : layer.after[0]]
    return module
