"""A network as the layers that the builders in C++ read (csrc/networks)."""

from dataclasses import replace

from ...registry import Network, native
from ...registry.backend import Native
from ...weights import Weights
from ..graph import Graph


def built(row: Native, variant: str, network: Graph, weights: Weights, threads: int) -> Network:
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
    made: Network = cls(network.shape, layers, threads=threads, **options)
    return made
