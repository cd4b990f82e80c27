"""What Chainer's documentation names for inference."""

import chainer
from chainer.graph_optimizations.static_graph import static_graph
from lenet_bench.backends import Infer
from lenet_bench.backends.chainer import LeNet, build
from lenet_bench.weights import Weights

VARIABLES = {"haswell": {"OPENBLAS_CORETYPE": "Haswell"}}


def haswell(weights: Weights) -> Infer:
    """OpenBLAS's kernels in AVX2, since the environment's OpenBLAS may not know the processor."""
    return build(weights)


def types_checked(weights: Weights) -> Infer:
    """With the checks of types, as the first pages have it."""
    using = chainer.using_config
    chainer.using_config = lambda name, value: using(name, name == "type_check" or value)
    return build(weights)


def static(weights: Weights) -> Infer:
    """The calls of the first forward pass played back: static_graph, experimental."""
    LeNet.forward = static_graph(LeNet.forward)
    return build(weights)
