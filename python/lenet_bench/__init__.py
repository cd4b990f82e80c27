"""lenet-bench: one network, one set of weights, every API layer.

    import lenet_bench

    net = lenet_bench.load("fused", threads=1)
    probabilities = net.infer(lenet_bench.read_image("digit.png"))

`load`, `backends`, `read_image`, `read_weights` and the errors are stable. Importing this imports
no framework.
"""

from .backends import Backend, Rung, load
from .errors import DataError, ImageError, LenetBenchError, Unavailable, WeightsError
from .images import read_image
from .weights import Weights, read_weights
