"""Builders: any network on one API, one file an API.

A builder has a function `in_place(network, weights)`, which gives what takes the place of LeNet in
the backend's file, by name: `LeNet`, `lenet`, `load`, `onnx_model`. It raises `Unsupported` where
the API has no such layer.
"""

from collections.abc import Callable
from typing import Any

from ...errors import Unsupported
from ..graph import Graph, Layer

Function = Callable[..., Any]


def chained(network: Graph, function_of: Callable[[Layer], Function]) -> Function:
    """The network as a function of its input, from a function for each layer.

    It is written as a person would, a line a layer, since a loop over layers takes a part of a
    microsecond for each. A variable is used again when its last reader has run, so that no more
    memory is held than in code that is written by hand.
    """
    last_reader = {name: layer.name for layer in network.computed for name in layer.inputs}
    places, free, made = {"input": "x"}, list[str](), 0
    functions: dict[str, Function] = {}
    lines = []
    for layer in network.computed:
        read = [places[name] for name in layer.inputs]
        free += {places[name] for name in layer.inputs if last_reader[name] == layer.name}
        if not free:
            made += 1
            free.append(f"x{made}")
        places[layer.name] = free.pop()
        takes_all = layer.kind == "take" and layer.after == layer.before
        functions[f"f_{layer.name}"] = (lambda x: x) if takes_all else function_of(layer)
        lines.append(f"    {places[layer.name]} = f_{layer.name}({', '.join(read)})")
    lines.append(f"    return {places[network.layers[-1].name]}")
    exec("\n".join(["def run(x):", *lines]), functions)
    return functions["run"]
