"""What MXNet's pages on its engine and on oneDNN name."""

from lenet_bench.backends import Infer
from lenet_bench.backends.mxnet import gluon, symbol
from lenet_bench.weights import Weights

VARIABLES = {
    "symbol_naive": {"MXNET_ENGINE_TYPE": "NaiveEngine"},
    "gluon_naive": {"MXNET_ENGINE_TYPE": "NaiveEngine"},
    "symbol_fused": {"MXNET_SUBGRAPH_BACKEND": "MKLDNN"},
    "symbol_fused_naive": {"MXNET_SUBGRAPH_BACKEND": "MKLDNN", "MXNET_ENGINE_TYPE": "NaiveEngine"},
    "symbol_no_onednn": {"MXNET_MKLDNN_ENABLED": "0"},
}


def symbol_naive(weights: Weights) -> Infer:
    """The engine that runs in the caller's thread."""
    return symbol(weights)


def gluon_naive(weights: Weights) -> Infer:
    """Layers, and the engine that runs in the caller's thread."""
    return gluon(weights)


def symbol_fused(weights: Weights) -> Infer:
    """Operators fused by oneDNN."""
    return symbol(weights)


def symbol_fused_naive(weights: Weights) -> Infer:
    """Operators fused by oneDNN, in the caller's thread."""
    return symbol(weights)


def symbol_no_onednn(weights: Weights) -> Infer:
    """Without oneDNN."""
    return symbol(weights)
