"""The least time of each network on one core here, to read its weights and to multiply.

python bench/limit.py > results/networks/limit.json

It is the longer of two times: the multiply-adds at the rate of the fastest product of matrices, and
the weights at the rate at which as many bytes are read again and again, from the caches or from
memory. Winograd's method needs fewer products, so that an engine with it may take less. Each rate
is the best of many tries, which other programs can only make slower.
"""

import json
import os
from collections.abc import Callable
from math import prod
from time import perf_counter

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is imported

import numpy as np
from lenet_bench.measure.environment import read_machine
from lenet_bench.networks import NETWORKS, Graph, network

SIDE = 1024
SECONDS = 2.0  # for each rate


def fastest_s(call: Callable[[], object]) -> float:
    """The fastest of many calls."""
    took, end = [], perf_counter() + SECONDS
    while perf_counter() < end:
        began = perf_counter()
        call()
        took.append(perf_counter() - began)
    return min(took)


def multiply_adds_per_s() -> float:
    """Of a product of matrices in float32."""
    one = np.ones((SIDE, SIDE), np.float32)
    into = np.empty_like(one)
    return SIDE**3 / fastest_s(lambda: np.matmul(one, one, out=into))


def bytes_per_s(size: int) -> float:
    """At which so many bytes are read again and again, by a product of two vectors."""
    halves = np.ones((2, size // 8), np.float32)
    return halves.nbytes / fastest_s(lambda: np.dot(*halves))


def least_s(of: Graph, multiplied: float, read: float) -> float:
    """Without the embedding, of which a call reads a few rows."""
    used = [layer for layer in of.computed if layer.multiply_adds]
    weights = sum(prod(shape) for layer in used for shape in layer.parameters.values())
    return max(of.multiply_adds / multiplied, 4 * weights / read)


def main() -> None:
    multiplied = multiply_adds_per_s()
    read = {name: bytes_per_s(4 * network(name).weights) for name in NETWORKS}
    found = {
        "processor": read_machine().processor.model,
        "multiply_adds_per_s": multiplied,
        "bytes_per_s": read,
        "limits_us": {n: 1e6 * least_s(network(n), multiplied, read[n]) for n in NETWORKS},
    }
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
