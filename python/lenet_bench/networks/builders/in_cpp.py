"""A network as the layers that the builders in C++ read (csrc/networks)."""

from dataclasses import replace

from ...registry import Network as Built
from ...registry import native
from ...registry.backend import Native
from ...weights import Weights
from ..graph import Network


def built(row: Native, variant: str, network: Network, weights: Weights, threads: int) -> Built:
    numbers = {layer.name: number for number, layer in enumerate(network.layers)}
    layers = [
        (
            layer.name,
            layer.kind,
            [numbers[name] for name in layer.inputs],
            (layer.side, layer.stride, layer.pad, layer.heads),
            layer.own(weights),
        )
        for layer in network.computed
    ]
    options = {"variant": variant} if variant else {}
    cls = native.load(replace(row, cls=row.built))
    made: Built = cls(network.shape, layers, threads=threads, **options)
    return made
