"""What Chainer's documentation names for inference."""

import chainer
from chainer.graph_optimizations.static_graph import static_graph
from lenet_bench.backends import Array, Infer
from lenet_bench.backends.chainer import LeNet, build
from lenet_bench.weights import Weights

VARIABLES = {"haswell": {"OPENBLAS_CORETYPE": "Haswell"}}


def haswell(weights: Weights) -> Infer:
    """OpenBLAS's kernels in AVX2, since the environment's OpenBLAS may not know the processor."""
    return build(weights)


def types_checked(weights: Weights) -> Infer:
    """With the checks of types, as the first pages have it."""
    infer = build(weights)
    using = chainer.using_config

    def checked(name: str, value: object) -> object:
        return using(name, name == "type_check" or value)

    def answer(images: Array) -> Array:
        chainer.using_config = checked
        try:
            return infer(images)
        finally:
            chainer.using_config = using

    return answer


def static(weights: Weights) -> Infer:
    """The calls of the first forward pass played back: static_graph, experimental."""
    forward = LeNet.forward
    LeNet.forward = static_graph(forward)
    return build(weights)
